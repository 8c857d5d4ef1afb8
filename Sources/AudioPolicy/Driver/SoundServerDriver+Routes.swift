public import AudioSession
import EventLoop

/// Where the sound comes out, for programs and people to know and to choose.
extension SoundServerDriver {
    public func route() -> AudioRoute { AudioRoute(graph, outputs: routeOutputs) }

    /// Takes the winner's playback to a device from now on, by its name in `devices`; `nil`: wherever it goes by itself.
    public func selectDevice(_ name: String?) throws(SessionControlError) {
        let known = graph.devices.values.filter { $0.id.direction == .output }.map(\.name).sorted()
        if let name, !known.contains(name) { throw .unknownDevice(name, known: known) }
        turn { selection = name }
        watchRoute()
    }

    /// Of a stream that does not stay where it is wanted its user is told once: it is left where it is (field case VIR-05).
    /// Where the device is gone there is nothing to tell.
    private func tellLeftRoutes() {
        for id in reconciler?.takeLeft() ?? [] {
            guard let name = classifier[id]?.owner.name, let sentence = routeSentence(id, subject: name.shown()),
                toldOfRoutes.insert(sentence).inserted
            else { continue }
            announce(.init(time: loop.wallClock, event: .warning, stream: streamStatus(id), message: sentence))
        }
    }

    /// Where a stream is wanted, and what has become of that; `nil`: nowhere.
    func routeSentence(_ id: StreamID, subject: String) -> String? {
        guard let route = reconciler?.routes[id], let target = shownName(route.target) else { return nil }
        let claim = claim(of: id).flatMap { claims[$0]?.claim }.map { " (\($0.kind.rawValue), \($0.id))" } ?? ""
        guard route.isLeft else { return "\(subject) is taken to \(target), where its claim\(claim) wants it" }
        let place = shownName(graph.streams[id]?.device) ?? "where it is"
        return route.hasArrived
            ? "\(subject) was taken to \(target) for its claim\(claim), and somebody else has moved it: it is left on \(place)"
            : "\(subject) does not go to \(target), where its claim\(claim) wants it: it is left on \(place)"
    }

    private func shownName(_ device: DeviceID?) -> String? { device.flatMap { graph.devices[$0]?.name.shown() } }

    /// Devices come and go in bursts, so they are looked at once they have settled (field case PRF-01: 200 ms).
    func watchRoute() {
        guard routeTimer == nil else { return }
        routeTimer = loop.schedule(after: .milliseconds(200)) { [unowned self] in
            routeTimer = nil
            tellLeftRoutes()
            guard isConnected, let (reason, route) = routeWatch.look(at: graph, output: routedOutput, route: route())
            else { return }
            announce(
                .init(
                    time: loop.wallClock, event: .routeChanged, device: currentOutputStatus, message: reason.rawValue))
            onEvent?(.routeChanged(reason, route))
        }
    }
}
