import AudioSession
import EventLoop

/// A server that comes and goes, and what an earlier run has left on it.
extension SoundServerDriver {
    func connected(_ info: ServerInfo, _ graph: ServerGraph) {
        let isFirst = self.info == nil
        self.info = info
        isConnected = true
        let isSameRun = ledger.server?.kind == info.kind && ledger.server?.instance == info.instance
        let left = (streams: isSameRun ? ledger.streams : [:], stored: ledger.stored)
        let routes = isSameRun ? ledger.routes : [:]
        ledger.begin(info.kind, instance: info.instance, keepingStreams: isSameRun)
        reconciler = Reconciler(server: info, settings: settings, ledger: ledger)
        self.graph = ServerGraph()
        loudspeakers.removeAll()
        takenOver.removeAll()
        // The keys first: a stream that has begun since may have begun at a level of ours.
        reconciler?.adoptKeys(left.stored, entries: graph.restoreEntries, now: loop.now)
        changed(Self.changes(of: graph))
        for key in left.stored.keys { reconciler?.observeStored(key, graph.restoreEntries[key], now: loop.now) }
        adopt(left.streams)
        adopt(routes)
        announce(.init(time: loop.wallClock, event: .serverConnected, server: serverStatus))
        // At login the session manager comes a moment after PipeWire.
        loop.schedule(after: .seconds(2)) { [weak self] in
            guard let self, let missing = self.missingSessionManager else { return }
            self.announce(.init(time: self.loop.wallClock, event: .warning, message: missing))
        }
        if !isFirst { onEvent?(.interruptionEnded(shouldResume: true)) }
    }

    /// Takes up the streams that an earlier run left changed: they go on from their true baselines.
    private func adopt(_ streams: [StreamID: Ledger.StreamEntry]) {
        for (id, entry) in streams {
            if let stream = graph.streams[id] {
                // What we silenced was playing before whoever it gave way to.
                if reconciler?.adopt(stream, entry, now: loop.now) == true {
                    records[id] = StreamRecord(playingSince: 0)
                }
                dirtyStreams.insert(id)
            } else {
                reconciler?.ledger.append(.done(id))
            }
        }
    }

    /// Streams that an earlier run has taken somewhere go back, unless a claim wants them there again.
    private func adopt(_ routes: [StreamID: Ledger.RouteEntry]) {
        for (id, entry) in routes {
            if let stream = graph.streams[id] {
                reconciler?.adoptRoute(of: stream, back: entry.back)
            } else {
                reconciler?.ledger.append(.routeDone(id))
            }
        }
    }

    static func changes(of graph: ServerGraph) -> [GraphChange] {
        graph.clients.values.map { .client($0) } + graph.cards.values.map { .card($0) }
            + graph.devices.values.map { .device($0) }
            + [.defaults(output: graph.defaultOutput, input: graph.defaultInput)]
            + graph.restoreEntries.values.map { .restoreEntry($0) }
            + [.foreignPolicies(graph.foreignPolicies)]
            + graph.streams.values.sorted { $0.id < $1.id }.map { .stream($0) }
    }

    func lost(_ failure: ServerFailure) {
        server = nil
        let wasConnected = isConnected
        isConnected = false
        if let reconciler { ledger = reconciler.ledger }
        reconciler = nil
        graph = ServerGraph()
        loudspeakers.removeAll()
        records.removeAll()
        topology = OutputTopology()
        routeWatch.forget()
        startClassifier()
        observed.removeAll()
        advanced.removeAll()
        meters.removeAll()
        playerPauses.serverLost()
        voiceOutputs.removeAll()
        if wasConnected {
            announce(.init(time: loop.wallClock, event: .serverLost, server: serverStatus, message: failure.message))
            onEvent?(.interrupted)
        }
        onServerLost?(failure)
    }

    func startClassifier() {
        classifier = StreamClassifier(settings: settings, processes: processes)
        for entry in claims.values { if let holder = holder(entry) { _ = classifier.setHolder(holder) } }
    }

    func failed(_ operation: ServerOperation, _ failure: ServerFailure) {
        guard failure.code != .noEntity else { return }
        if let stream = reconciler?.failed(operation, now: loop.now) { dirtyStreams.insert(stream) }
        if case .setCorkedRoles = operation { everythingIsDirty = true }
        if failure.code == .accessDenied { warn("the sound server forbids an operation: \(failure.message)") }
    }
}
