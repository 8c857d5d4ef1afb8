import AudioSession
import EventLoop

/// Plan − graph − ledger → operations. Pure and incremental: one stream at a time, and ramps by the clock.
///
/// The two servers differ in what a duck is. PulseAudio: the stream's own volume, which mixers show, so that a foreign
/// volume is the level wanted now and overrides us. PipeWire: a soft gain in place of the user's volume, so that a
/// foreign volume is a new baseline and the duck stays on it.
final class Reconciler {
    let server: ServerInfo
    var timing: PolicySettings.Timing
    var healsRestoreEntries: Bool
    let resolution: VolumeResolution
    var treatments: [StreamID: Treatment] = [:]
    var stored: StoredValues
    var ramping: Set<StreamID> = []
    /// PipeWire: streams that have not shown a soft gain yet.
    var retrying: Set<StreamID> = []
    /// Streams that a server did not let us treat in some way: the next best way is taken.
    var cannotPause: Set<StreamID> = []
    var uncontrollable: Set<StreamID> = []
    /// PulseAudio: what the cork trigger acts on now.
    var corks = CorkRequests()
    /// Streams that were paused by us and that somebody has started again: they began after their holders.
    var startedAgain: Set<StreamID> = []
    /// PulseAudio, flat volumes: by which factor a sink's volume has changed last, and when.
    var flatChanges: [DeviceID: (factor: Double, at: LoopInstant)] = [:]
    /// Streams on flat sinks whose volume is another than ours: whether because of their sink is not known yet.
    var suspects: Set<StreamID> = []

    /// Streams that a claim's wish has taken somewhere.
    var routes: [StreamID: StreamRoute] = [:]
    /// Those that have been left where they are, of which nobody has been told yet.
    var left: [StreamID] = []

    /// What is to be sent next, in order, and what belongs into the ledger before.
    var operations: [ServerOperation] = []
    var ledger: Ledger
    /// The newest stream of each direction.
    var newest: [AudioDirection: UInt64] = [:]
    /// Streams up to these were there already when an earlier run ended: none of them began at a level that it left.
    let seenBefore: [AudioDirection: UInt64]
    /// The number that `SoundServer.perform` will give the operations now being collected.
    private(set) var nextBatch: UInt64 = 1

    init(server: ServerInfo, settings: PolicySettings, ledger: Ledger) {
        self.server = server
        timing = settings.timing
        healsRestoreEntries = settings.restoreEntries == .heal
        resolution = VolumeResolution(step: server.volumeStep)
        stored = StoredValues(resolution: resolution)
        self.ledger = ledger
        seenBefore = ledger.seen
    }

    var isPulseAudio: Bool { server.kind == .pulseaudio }

    /// Takes the collected operations; they are one batch.
    func takeOperations() -> [ServerOperation] {
        guard !operations.isEmpty else { return [] }
        defer { operations.removeAll(keepingCapacity: true) }
        nextBatch += 1
        return operations
    }

    /// Whether an override keeps the effect away from this stream.
    func isOverridden(_ id: StreamID) -> Bool { treatments[id]?.isOverridden ?? false }

    func baseline(of stream: ServerStream) -> (volume: [Double], isMuted: Bool) {
        treatments[stream.id].map { ($0.baseline, $0.baselineMuted) } ?? (stream.volume, stream.isMuted)
    }

    /// Whether nothing is left to undo, and nothing on its way.
    var isDone: Bool {
        ledger.streams.isEmpty && ledger.routes.isEmpty && ledger.unloaded.isEmpty
            && (ledger.stored.isEmpty || !isPulseAudio) && ramping.isEmpty
            && corks.roles.isEmpty
    }

    // MARK: What the server says

    /// A stream as it is now, before its new plan: finds out what somebody else did to it.
    func observe(_ stream: ServerStream, before: ServerStream?, in graph: ServerGraph, now: LoopInstant) {
        observeRoute(of: stream, in: graph, now: now)
        guard let treatment = treatments[stream.id] else {
            if let before {
                noteForeignChange(of: stream, before: before, in: graph, now: now)
            } else {
                appeared(stream, now: now)
            }
            return
        }
        if isPulseAudio {
            if let before, before.device != stream.device { takeOverFromModule(treatment, stream) }
            observePulseAudio(stream, treatment, in: graph, now: now)
        } else {
            observePipeWire(stream, before: before, treatment, now: now)
        }
        closeIfDone(stream.id)
    }

    func removed(_ id: StreamID, restoreKey: String?, now: LoopInstant) {
        stored.removed(id, key: treatments[id]?.restoreKey ?? restoreKey, now: now)
        cannotPause.remove(id)
        uncontrollable.remove(id)
        startedAgain.remove(id)
        corks.set(id, nil)
        endTreatment(id)
        endRoute(id, now: now)
        if ledger.streams[id] != nil { ledger.append(.done(id)) }
    }

    /// An operation was turned down. Returns the stream to be planned anew.
    func failed(_ operation: ServerOperation, now: LoopInstant) -> StreamID? {
        switch operation {
        case .pause(let id):
            cannotPause.insert(id)
            if treatments[id]?.silencing == .pauseCommand { treatments[id]?.silencing = nil }
            return id
        case .setVolume(let id, let volume):
            treatments[id]?.volumes.dropLast { $0 == volume }
            return giveUp(id)
        case .setMute(let id, let isMuted):
            treatments[id]?.mutes.dropLast { $0 == isMuted }
            return giveUp(id)
        case .setSoftGain(let id, let gain):
            treatments[id]?.softGains.dropLast { $0 == gain }
            return giveUp(id)
        case .move(let id, let device?), .route(let id, let device, _):
            // One that cannot be moved stays where it is.
            if let target = routes[id]?.target, device == target { leaveRoute(of: id, now: now) }
            return nil
        case .setCorkedRoles:
            corks.fail()
            return nil
        default: return nil
        }
    }

    /// A stream that cannot be brought to anything is left as it is.
    @discardableResult
    private func giveUp(_ id: StreamID) -> StreamID? {
        uncontrollable.insert(id)
        endTreatment(id)
        if ledger.streams[id] != nil { ledger.append(.done(id)) }
        return id
    }

    // MARK: What is wanted

    /// Whether the plan's effect is to be there, or somebody has undone it and its holders are still the same.
    func obeys(_ id: StreamID, _ plan: StreamPlan) -> Bool {
        guard !uncontrollable.contains(id) else { return false }
        return treatments[id].map { $0.overriddenHolders.isDisjoint(with: plan.holders) } ?? true
    }

    /// Brings a stream towards its plan.
    /// - Parameter abrupt: without a fade, as for a stream that has only begun, or has moved.
    func reconcile(_ stream: ServerStream, plan: StreamPlan, abrupt: Bool, now: LoopInstant) {
        if uncontrollable.contains(stream.id) { return }
        guard let treatment = treatments[stream.id] ?? begin(stream, plan) else { return }
        treatment.overriddenHolders.formIntersection(plan.holders)
        treatment.holders = plan.holders
        let effect: Effect = treatment.isOverridden ? .none : plan.effect
        aim(treatment, stream, at: effect.factor, abrupt: abrupt, now: now)
        silence(treatment, stream, with: method(for: effect, stream), now: now)
        closeOrGiveUp(stream.id)
    }

    private func begin(_ stream: ServerStream, _ plan: StreamPlan) -> Treatment? {
        // On PipeWire a stream without a volume has not been given its own yet, or has none: it can still be paused.
        guard plan.effect != .none, !stream.volume.isEmpty || !isPulseAudio && plan.effect == .pause else { return nil }
        let treatment = Treatment(of: stream)
        treatments[stream.id] = treatment
        return treatment
    }

    func closeOrGiveUp(_ id: StreamID) {
        if treatments[id]?.refusals ?? 0 < Self.patience { closeIfDone(id) } else { giveUp(id) }
    }

    /// The same soft gain so many times in a row, and never in force: the stream does not obey.
    static let patience = 10

    /// Takes each fade a step further, and closes what time has closed.
    func advance(to now: LoopInstant, in graph: ServerGraph) {
        for id in ramping.sorted() {
            guard let stream = graph.streams[id], let treatment = treatments[id], let ramp = treatment.ramp else {
                ramping.remove(id)
                continue
            }
            if let factor = ramp.factor(at: now) {
                if ramp.isOver(at: now) { endRamp(treatment, id) }
                write(treatment, stream, factor: factor, now: now)
                closeIfDone(id)
            }
        }
        retry(in: graph, now: now)
        resolveSuspects(in: graph, now: now)
        settleRoutes(in: graph, now: now)
    }

    func nextStep(after now: LoopInstant) -> LoopInstant? {
        let step = ramping.compactMap { treatments[$0]?.ramp?.nextStep(after: now) }.min()
        let suspect = suspects.compactMap { treatments[$0]?.suspectUntil }.min()
        let retry = retrying.compactMap { treatments[$0]?.retryAt }.min()
        let quiet = ledger.stored.keys.compactMap { stored.quietFrom($0) }.filter { $0 > now }.min()
        return [step, retry, suspect, quiet, nextRouteDeadline].compactMap { $0 }.min()
    }

    /// Undoes everything in force, and leaves it undone until the present holders are gone.
    func overrideAll() {
        for treatment in treatments.values where !treatment.isOverridden {
            treatment.overriddenHolders = treatment.holders
        }
    }

    // MARK: Ending

    /// A treatment is over when nothing of ours is in force and a read has shown it; one that somebody has overridden is
    /// kept, with nothing left to undo, until the holders of that moment are gone.
    private func closeIfDone(_ id: StreamID) {
        guard let treatment = treatments[id], treatment.isAtRest, isConfirmed(treatment) else { return }
        if ledger.streams[id] != nil { ledger.append(.done(id)) }
        if !treatment.isOverridden { endTreatment(id) }
    }

    private func isConfirmed(_ treatment: Treatment) -> Bool {
        if !isPulseAudio { return treatment.resumed == nil && treatment.softGains.isConfirmed { same($0, $1) } }
        return treatment.cork.released == nil && treatment.mutes.isConfirmed(==)
            && treatment.volumes.isConfirmed { resolution.equal($0, $1) }
    }

    private func endTreatment(_ id: StreamID) {
        treatments[id] = nil
        ramping.remove(id)
        retrying.remove(id)
        suspects.remove(id)
    }

    func same(_ a: SoftGain?, _ b: SoftGain?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.isMuted == b.isMuted && resolution.same(a.volume, b.volume)
    }
}
