import EventLoop

/// Taking a claim's streams to the device of its wish, and back. The default device is never touched (field cases RTE-06
/// and RTE-07), and a foreign move is not moved back.
extension Reconciler {
    /// Brings streams to the devices that they are wanted on, and those that are wanted nowhere any more back.
    func route(_ wanted: [StreamID: DeviceID], in graph: ServerGraph, now: LoopInstant) {
        for (id, target) in wanted.sorted(by: { $0.key < $1.key }) {
            guard let stream = graph.streams[id], stream.isMovable, stream.device != nil else { continue }
            if let route = routes[id], route.target == target { continue }
            if let route = routes[id], !route.isLeft {
                routes[id] = StreamRoute(target: target, back: route.back)
                move(stream, to: target, in: graph, now: now)
            } else {
                routes[id] = nil
                if stream.device != target { begin(stream, to: target, in: graph, now: now) }
            }
        }
        for (id, route) in routes.sorted(by: { $0.key < $1.key }) where wanted[id] == nil && route.target != nil {
            guard !route.isLeft, let stream = graph.streams[id] else {
                endRoute(id, now: now)
                continue
            }
            let back = route.back.flatMap { graph.devices[$0] == nil ? nil : $0 }
            routes[id] = StreamRoute(target: nil, back: back)
            // Where the device has gone the server has moved it already.
            if isBack(stream, back, graph), back != nil {
                endRoute(id, now: now)
            } else {
                move(stream, to: back, in: graph, now: now)
            }
        }
    }

    /// A stream as it is now: it has arrived, is back, or is somebody else's.
    func observeRoute(of stream: ServerStream, in graph: ServerGraph, now: LoopInstant) {
        guard var route = routes[stream.id], stream.device != nil else { return }
        if let target = route.target {
            guard !route.isLeft else { return }
            if let own = stream.preferred, own != route.back, !route.hasArrived, route.attempts < Self.mostAttempts {
                route.back = own
                route.attempts += 1
                routes[stream.id] = route
                // The session manager was about to take it to its stored device when it was routed.
                ledger.append(.route(stream.id, back: own, restoreKey: nil))
                move(stream, to: target, in: graph, now: now)
                route = routes[stream.id] ?? route
            }
            // PulseAudio carries out in order: a move that is over may have been undone before anybody looked.
            if stream.device == target || isPulseAudio && stream.includesBatch >= route.batch {
                route.hasArrived = true
                routes[stream.id] = route
            }
            // Where somebody else has asked for the place that it has, it is not on its way any more.
            let isPutThere = stream.preferred == stream.device && stream.preferred != route.back
            let isSettled = route.settlesAt == nil || isPutThere
            if stream.device != target, route.hasArrived, isSettled, graph.devices[target] != nil {
                leaveRoute(of: stream.id, now: now)
                takeForeignPlace(of: stream, in: graph, now: now)
            }
        } else if route.settlesAt == nil, isBack(stream, route.back, graph) {
            endRoute(stream.id, now: now)
        }
    }

    /// PulseAudio has stored it, and where the store was healed in that moment it has to be there again.
    private func takeForeignPlace(of stream: ServerStream, in graph: ServerGraph, now: LoopInstant) {
        guard isPulseAudio, let key = stream.restoreKey else { return }
        let device = isBack(stream, nil, graph) ? nil : stream.device.flatMap { graph.devices[$0]?.name }
        heal(stored.tookOver(key, device: device, entry: graph.restoreEntries[key], now: now))
    }

    /// PipeWire: looks where streams are once their links have settled. The session manager lets a wish pass now and
    /// then, so it is asked again.
    func settleRoutes(in graph: ServerGraph, now: LoopInstant) {
        for (id, route) in routes {
            guard let deadline = route.settlesAt, deadline <= now, let stream = graph.streams[id] else { continue }
            routes[id]?.settlesAt = nil
            let isThere = route.target.map { stream.device == $0 } ?? isBack(stream, route.back, graph)
            if isThere || route.attempts >= Self.mostAttempts {
                if route.target == nil { endRoute(id, now: now) } else if !isThere { leaveRoute(of: id, now: now) }
                continue
            }
            routes[id]?.attempts += 1
            move(stream, to: route.target ?? route.back, in: graph, now: now)
        }
    }

    var nextRouteDeadline: LoopInstant? { routes.values.compactMap(\.settlesAt).min() }

    private static var settling: Duration { .milliseconds(500) }
    private static var mostAttempts: Int { 3 }

    /// Takes up a stream that an earlier run has moved: it goes back, or on where a claim wants it again.
    func adoptRoute(of stream: ServerStream, back: DeviceID?) {
        routes[stream.id] = StreamRoute(target: stream.device, back: back, hasArrived: true)
    }

    /// It is where somebody else wants it, or where it cannot be moved from: so it stays, until the wish is another one.
    func leaveRoute(of id: StreamID, now: LoopInstant) {
        guard routes[id]?.isLeft == false else { return }
        routes[id]?.isLeft = true
        routes[id]?.settlesAt = nil
        left.append(id)
        letGoOfRoute(id, now: now)
    }

    func takeLeft() -> [StreamID] {
        defer { left.removeAll() }
        return left
    }

    /// The stream is gone, or back.
    func endRoute(_ id: StreamID, now: LoopInstant) {
        if routes.removeValue(forKey: id) != nil { letGoOfRoute(id, now: now) }
    }

    private func letGoOfRoute(_ id: StreamID, now: LoopInstant) {
        guard let entry = ledger.routes[id] else { return }
        if let key = entry.restoreKey { stored.routeEnded(key, id, now: now) }
        ledger.append(.routeDone(id))
    }

    private func isBack(_ stream: ServerStream, _ back: DeviceID?, _ graph: ServerGraph) -> Bool {
        stream.device == back ?? (stream.id.direction == .output ? graph.defaultOutput : graph.defaultInput)
    }

    private func begin(
        _ stream: ServerStream, to target: DeviceID, in graph: ServerGraph, now: LoopInstant
    ) {
        // On PipeWire it may be on its way there, or there before it is known that it was asked to.
        let back = stream.preferred ?? (isBack(stream, nil, graph) ? nil : stream.device)
        routes[stream.id] = StreamRoute(target: target, back: back)
        if isPulseAudio, healsRestoreEntries, let key = stream.restoreKey {
            stored.track(key, now: now)
            if ledger.stored[key] == nil { ledger.append(.stored(key: key, entry: stored.own(key))) }
        }
        ledger.append(.route(stream.id, back: back, restoreKey: isPulseAudio ? stream.restoreKey : nil))
        move(stream, to: target, in: graph, now: now)
    }

    private func move(_ stream: ServerStream, to device: DeviceID?, in graph: ServerGraph, now: LoopInstant) {
        if isPulseAudio, let key = stream.restoreKey, stored.isTracked(key) {
            let name = device.flatMap { graph.devices[$0]?.name }
            stored.moved(key, stream.id, to: name, now: now)
            if ledger.stored[key] != nil { ledger.append(.storedDevice(key: key, name)) }
        }
        routes[stream.id]?.batch = nextBatch
        if !isPulseAudio { routes[stream.id]?.settlesAt = now + Self.settling }
        if !isPulseAudio, let route = routes[stream.id], let target = route.target {
            operations.append(.route(stream.id, target, back: route.back))
        } else {
            operations.append(.move(stream.id, device))
        }
    }
}
