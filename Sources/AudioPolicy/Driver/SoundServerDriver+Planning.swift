import AudioSession
import EventLoop

/// The plan of each stream that something may have changed for, and what becomes of it.
extension SoundServerDriver {
    func settleStreams() {
        guard reconciler != nil else {
            dirtyStreams.removeAll()
            movedStreams.removeAll()
            everythingIsDirty = false
            return
        }
        findPausedStreams()
        if everythingIsDirty { dirtyStreams.formUnion(graph.streams.keys) }
        everythingIsDirty = false
        let isEnding = onRestored != nil
        var plans: [StreamID: StreamPlan] = [:]
        for id in dirtyStreams { plans[id] = plan(id) }
        pauseThroughPlayers(&plans)
        for (id, plan) in plans { preparePause(plan, of: id) }
        for id in reconciler?.decideCorks() ?? [] where plans[id] == nil { plans[id] = plan(id) }
        for id in plans.keys.sorted() {
            guard let plan = plans[id] else { continue }
            carryOut(plan, on: id, abrupt: isEnding || movedStreams.contains(id))
        }
        dirtyStreams.removeAll(keepingCapacity: true)
        movedStreams.removeAll(keepingCapacity: true)
        settleRoutes()
        reconciler?.advance(to: loop.now, in: graph)
        if reconciler?.left.isEmpty == false { watchRoute() }
    }

    func planned(_ id: StreamID) -> PlannedStream? {
        guard let stream = graph.streams[id], let classification = classifier[id], let record = records[id] else {
            return nil
        }
        let destination = id.direction == .output ? graph.destination(of: stream) : stream.device
        let outputs = destination.map { topology.outputs(of: $0) } ?? []
        return PlannedStream(
            stream: stream, classification: classification, playingSince: record.playingSince, outputs: outputs,
            isHeardByMicrophones: !outputs.isDisjoint(with: loudspeakers))
    }

    func plan(_ id: StreamID) -> StreamPlan? {
        guard isEnabled else { return planned(id).map { _ in .untouched } }
        guard let planned = planned(id), let present = records[id]?.plan else { return nil }
        var plan = planner.plan(for: planned)
        if isHeldBack { plan.holdBack(to: present) }
        return plan
    }

    private func preparePause(_ plan: StreamPlan, of id: StreamID) {
        guard let stream = graph.streams[id], let record = records[id] else { return }
        let isServers = plan.effect == .pause && playerPauses.route(of: id) == .server
        reconciler?.preparePause(stream, plan: plan, isServers: isServers, isNew: !record.hasBegun)
    }

    private func carryOut(_ plan: StreamPlan, on id: StreamID, abrupt: Bool) {
        guard let stream = graph.streams[id], var record = records[id] else { return }
        let wasOverridden = reconciler?.isOverridden(id) ?? false
        switch plan.effect == .pause ? playerPauses.route(of: id) : .server {
        case .server: reconciler?.reconcile(stream, plan: plan, abrupt: abrupt || !record.hasBegun, now: loop.now)
        case .waiting: break
        case .player:
            let nothing = StreamPlan(effect: .none, because: [], holders: plan.holders)
            reconciler?.reconcile(stream, plan: nothing, abrupt: true, now: loop.now)
        }
        let isDifferent = plan.effect != record.plan.effect
        record.hasBegun = record.hasBegun || !stream.volume.isEmpty
        record.plan = plan
        if isDifferent { record.effectSince = plan.effect == .none ? nil : loop.wallClock }
        records[id] = record
        if isDifferent || wasOverridden != (reconciler?.isOverridden(id) ?? false) { announceEffect(of: id) }
    }
}
