import AudioPolicy
import EventLoop
import SystemEventLoop

/// What outlives a connection that is replaced.
///
/// The server carries out what a client asks of a stream by asking the stream's program, and reads nothing more of that
/// client until the program has answered: one stopped program (a terminal's `^Z`) would keep our hands off all the
/// others for as long as it is stopped. So a batch that stays unanswered costs the connection. What the server has not
/// read of the old one is gone with it; the new one leaves the silent program alone until it says something.
struct Resumption {
    /// As last reported.
    var graph: ServerGraph
    /// What the old connection has not carried out.
    var abandoned: [ServerOperation]
    var silentProcesses: Set<String>
    var paused: Set<StreamID>
    /// Asked for in the meantime.
    var operations: [ServerOperation] = []
}

extension PipeWireServer {
    /// So long a program may take to carry out what is sent to its nodes.
    private static let patience = Duration.seconds(2)
    /// After so long a silent program is asked again, and later each time: its answer may have come unseen while the
    /// connection was being replaced.
    private static let firstRetry = Duration.seconds(5)
    private static let lastRetry = Duration.seconds(320)

    func watchForAnswers() {
        guard !isWatchingAnswers, let oldest = outbox.oldest else { return }
        isWatchingAnswers = true
        loop.schedule(at: oldest.sent + Self.patience) { [weak self] in
            guard let self else { return }
            self.isWatchingAnswers = false
            self.checkAnswers()
        }
    }

    private func checkAnswers() {
        guard isConnected, let mirror, let oldest = outbox.oldest else { return }
        guard loop.now - oldest.sent >= Self.patience else { return watchForAnswers() }
        let culprit = oldest.streams.lazy.compactMap { mirror.stream($0) }.first { node in
            node.soft.oldestPendingBatch.map { $0 <= oldest.batch } ?? false
        }
        // Without one it is the server that is busy, and another connection would be no better.
        guard let culprit else { return }
        let process = mirror.process(of: culprit)
        retryLater(process)
        reconnect(
            Resumption(
                graph: mirror.reported, abandoned: outbox.abandon(),
                silentProcesses: mirror.silentProcesses.union([process]),
                paused: Set(mirror.streams.filter(\.isPauseWanted).compactMap(\.streamID))))
    }

    private func retryLater(_ process: String) {
        let delay = retries[process] ?? Self.firstRetry
        retries[process] = min(delay * 2, Self.lastRetry)
        loop.schedule(after: delay) { [weak self] in
            self?.mirror?.heard(from: process)
            self?.reportChanges()
        }
    }

    func prepare(_ mirror: RegistryMirror, for resumption: Resumption) {
        mirror.silentProcesses = resumption.silentProcesses
        mirror.answeredBatch = outbox.batch
        for id in resumption.paused { mirror.stream(id)?.isPauseWanted = true }
    }

    func resume(_ resumption: Resumption, with graph: ServerGraph) {
        let stale = Set(resumption.abandoned.compactMap { $0.stream })
        let changes = graph.changes(since: resumption.graph, always: stale)
        if !changes.isEmpty { onEvent?(.changed(changes)) }
        for operation in resumption.abandoned {
            onEvent?(.failed(operation, ServerFailure(.other, "a program that does not answer held it up")))
        }
        if !resumption.operations.isEmpty { perform(resumption.operations) }
        settleMetersLater()
    }
}

extension ServerGraph {
    /// What leads from another graph to this one; some streams are told in any case.
    func changes(since old: ServerGraph, always told: Set<StreamID>) -> [GraphChange] {
        var changes: [GraphChange] = []
        changes += old.streams.keys.filter { streams[$0] == nil }.map(GraphChange.streamRemoved)
        changes += old.devices.keys.filter { devices[$0] == nil }.map(GraphChange.deviceRemoved)
        changes += old.cards.keys.filter { cards[$0] == nil }.map(GraphChange.cardRemoved)
        changes += old.clients.keys.filter { clients[$0] == nil }.map(GraphChange.clientRemoved)
        changes += clients.values.filter { old.clients[$0.id] != $0 }.map(GraphChange.client)
        changes += cards.values.filter { old.cards[$0.id] != $0 }.map(GraphChange.card)
        changes += devices.values.filter { old.devices[$0.id] != $0 }.map(GraphChange.device)
        if defaultOutput != old.defaultOutput || defaultInput != old.defaultInput {
            changes.append(.defaults(output: defaultOutput, input: defaultInput))
        }
        if foreignPolicies != old.foreignPolicies { changes.append(.foreignPolicies(foreignPolicies)) }
        changes += streams.values.filter { old.streams[$0.id] != $0 || told.contains($0.id) }.map(GraphChange.stream)
        return changes
    }
}
