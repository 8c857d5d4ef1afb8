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

    /// Devices come and go in bursts, so they are looked at once they have settled (field case PRF-01: 200 ms).
    func watchRoute() {
        guard routeTimer == nil else { return }
        routeTimer = loop.schedule(after: .milliseconds(200)) { [unowned self] in
            routeTimer = nil
            guard isConnected, let (reason, route) = routeWatch.look(at: graph, output: routedOutput, route: route())
            else { return }
            announce(
                .init(
                    time: loop.wallClock, event: .routeChanged, device: currentOutputStatus, message: reason.rawValue))
            onEvent?(.routeChanged(reason, route))
        }
    }
}
