import AudioSession
import EventLoop

/// Plan − graph − ledger → operations. Pure and incremental: one stream at a time, and ramps by the clock.
///
/// The two servers differ in what a duck is. PulseAudio: the stream's own volume, which mixers show, so that a foreign
/// volume is the level wanted now and overrides us. PipeWire: a soft gain in place of the user's volume, so that a
/// foreign volume is a new baseline and the duck stays on it.
struct Reconciler {
    let server: ServerInfo
    var timing: PolicySettings.Timing
    var healsRestoreEntries: Bool
    private let resolution: VolumeResolution
    private(set) var treatments: [StreamID: Treatment] = [:]
    private var stored = StoredValues()
    private var ramping: Set<StreamID> = []
    /// Streams that a server did not let us treat in some way: the next best way is taken.
    private var cannotPause: Set<StreamID> = []
    private var uncontrollable: Set<StreamID> = []
    /// PulseAudio: roles that the cork trigger acts on now.
    private(set) var corkedRoles: Set<String> = []
    private var cannotCork = false

    /// What is to be sent next, in order, and what belongs into the ledger before.
    private(set) var operations: [ServerOperation] = []
    var ledger: Ledger
    /// The number that `SoundServer.perform` will give the operations now being collected.
    private var nextBatch: UInt64 = 1

    init(server: ServerInfo, settings: PolicySettings, ledger: Ledger) {
        self.server = server
        timing = settings.timing
        healsRestoreEntries = settings.restoreEntries == .heal
        resolution = VolumeResolution(step: server.volumeStep)
        self.ledger = ledger
    }

    private var isPulseAudio: Bool { server.kind == .pulseaudio }

    /// Takes the collected operations; they are one batch.
    mutating func takeOperations() -> [ServerOperation] {
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

    /// The effect in force or on its way.
    func isTreated(_ id: StreamID) -> Bool { treatments[id].map { !$0.isAtRest } ?? false }

    // MARK: What the server says

    /// A stream as it is now, before its new plan: finds out what somebody else did to it.
    mutating func observe(_ stream: ServerStream, before: ServerStream?, in graph: ServerGraph, now: LoopInstant) {
        guard var treatment = treatments[stream.id] else {
            if let before { noteForeignChange(of: stream, before: before, in: graph) }
            return
        }
        if isPulseAudio {
            observePulseAudio(stream, &treatment, in: graph)
        } else {
            observePipeWire(stream, &treatment)
        }
        if stream.isCorked, case .pauseCommand = treatment.silencing { treatment.hasStoppedItself = true }
        if before?.isCorked == true, !stream.isCorked, treatment.hasStoppedItself { override(&treatment, stream.id) }
        treatments[stream.id] = treatment
        closeIfDone(stream.id, confirmedBy: stream, now: now)
    }

    mutating func removed(_ id: StreamID, restoreKey: String?) {
        stored.streamRemoved(id, key: treatments[id]?.restoreKey ?? restoreKey)
        cannotPause.remove(id)
        uncontrollable.remove(id)
        ramping.remove(id)
        guard let treatment = treatments.removeValue(forKey: id) else { return }
        finish(id, treatment)
    }

    /// The store's entry under a key, whenever it changes.
    mutating func observeStored(_ key: String, _ entry: RestoreEntry?, now: LoopInstant) {
        guard healsRestoreEntries else { return }
        if let operation = stored.stored(key, entry, resolution: resolution) { operations.append(operation) }
        closeStored(key, entry: entry)
        if let own = stored.own(key), ledger.stored[key] != nil, ledger.stored[key]?.entry != own {
            ledger.append(.stored(key: key, entry: own))
        }
    }

    mutating func failed(_ operation: ServerOperation) -> StreamID? {
        switch operation {
        case .pause(let id):
            cannotPause.insert(id)
            if case .pauseCommand = treatments[id]?.silencing { treatments[id]?.silencing = nil }
            return id
        case .setCorkedRoles:
            cannotCork = true
            corkedRoles = []
            return nil
        default: return nil
        }
    }

    // MARK: What is wanted

    /// Brings a stream towards its plan.
    /// - Parameter abrupt: without a fade, as for a stream that has only begun, or has moved.
    mutating func reconcile(
        _ stream: ServerStream, plan: StreamPlan, abrupt: Bool, in graph: ServerGraph, now: LoopInstant
    ) {
        guard !stream.volume.isEmpty || !isPulseAudio && treatments[stream.id] != nil else { return }
        if treatments[stream.id]?.isOverridden == true {
            treatments[stream.id]?.overriddenHolders.formIntersection(plan.holders)
            // With the last of those holders the override is over, and what comes next is a treatment of its own.
            if isPulseAudio, treatments[stream.id]?.isOverridden == false { endTreatment(stream.id) }
        }
        guard var treatment = treatments[stream.id] ?? begin(stream, plan, in: graph, now: now) else { return }
        treatment.holders = plan.holders
        let effect: Effect = treatment.isOverridden || uncontrollable.contains(stream.id) ? .none : plan.effect
        aim(&treatment, stream, at: effect.factor, abrupt: abrupt, now: now)
        silence(&treatment, stream, with: method(for: effect, stream), now: now)
        treatments[stream.id] = treatment
        closeIfDone(stream.id, confirmedBy: stream, now: now)
    }

    /// Takes each fade a step further.
    mutating func advance(to now: LoopInstant, in graph: ServerGraph) {
        for id in ramping.sorted() {
            guard let stream = graph.streams[id], var treatment = treatments[id], let ramp = treatment.ramp else {
                ramping.remove(id)
                continue
            }
            let factor = ramp.factor(at: now)
            if ramp.isOver(at: now) { endRamp(&treatment, id) }
            write(&treatment, stream, factor: factor, now: now)
            treatments[id] = treatment
        }
        stored.forgetQuiet(now: now, entries: graph.restoreEntries)
    }

    func nextStep(after now: LoopInstant) -> LoopInstant? {
        ramping.compactMap { treatments[$0]?.ramp?.nextStep(after: now) }.min()
    }

    // MARK: Beginning and ending

    private mutating func begin(
        _ stream: ServerStream, _ plan: StreamPlan, in graph: ServerGraph, now: LoopInstant
    ) -> Treatment? {
        guard plan.effect != .none else { return nil }
        var treatment = Treatment(of: stream)
        if let key = stream.restoreKey, isPulseAudio {
            if stored.isOurs(key, volume: stream.volume, resolution: resolution), let own = stored.own(key),
                own.volume.count == stream.volume.count
            {
                treatment.baseline = own.volume
            }
            let entry = graph.restoreEntries[key]
            if stored.touch(key, stream: stream.id, entry: entry, now: now) || ledger.stored[key] == nil {
                ledger.append(.stored(key: key, entry: stored.own(key)))
            }
        }
        ledger.append(
            .baseline(
                stream.id, volume: treatment.baseline, isMuted: treatment.baselineMuted, restoreKey: stream.restoreKey))
        return treatment
    }

    /// A treatment is over when nothing of ours is in force and a read has shown it.
    private mutating func closeIfDone(_ id: StreamID, confirmedBy stream: ServerStream, now: LoopInstant) {
        guard var treatment = treatments[id], treatment.isAtRest, !treatment.isOverridden else { return }
        if isPulseAudio {
            _ = treatment.expectedVolume(including: stream.includesBatch)
            _ = treatment.expectedMute(including: stream.includesBatch)
        }
        treatments[id] = treatment
        if treatment.isConfirmed { endTreatment(id) }
    }

    private mutating func endTreatment(_ id: StreamID) {
        guard let treatment = treatments.removeValue(forKey: id) else { return }
        ramping.remove(id)
        finish(id, treatment)
    }

    /// Undoes everything in force, and leaves it undone until the present holders are gone.
    mutating func overrideAll() {
        for (id, treatment) in treatments where !treatment.isOverridden {
            treatments[id]?.overriddenHolders = treatment.holders
        }
    }

    private mutating func finish(_ id: StreamID, _ treatment: Treatment) {
        if ledger.streams[id] != nil { ledger.append(.done(id)) }
        guard let key = treatment.restoreKey else { return }
        let others = treatments.values.contains { $0.restoreKey == key }
        stored.settled(key, volume: treatment.baseline, isMuted: treatment.baselineMuted, othersTreated: others)
    }

    private mutating func closeStored(_ key: String, entry: RestoreEntry?) {
        guard ledger.stored[key] != nil, stored.own(key) == entry || !stored.isTracked(key),
            !treatments.values.contains(where: { $0.restoreKey == key })
        else { return }
        ledger.append(.storedDone(key: key))
    }

    /// Lets entries of the store leave the ledger whose streams are all as they should be.
    mutating func closeStoredEntries(in graph: ServerGraph) {
        for key in ledger.stored.keys { closeStored(key, entry: graph.restoreEntries[key]) }
    }

    // MARK: Levels

    private mutating func aim(
        _ treatment: inout Treatment, _ stream: ServerStream, at target: Double, abrupt: Bool, now: LoopInstant
    ) {
        guard target != treatment.ramp?.target ?? treatment.factor else {
            if abrupt, treatment.ramp != nil {
                endRamp(&treatment, stream.id)
                write(&treatment, stream, factor: target, now: now)
            } else if !isPulseAudio {
                write(&treatment, stream, factor: treatment.ramp?.factor(at: now) ?? target, now: now)
            }
            return
        }
        let duration = target < treatment.factor ? timing.fadeDown : timing.fadeUp
        if !abrupt, let ramp = Ramp(from: treatment.factor, to: target, over: duration, now: now) {
            treatment.ramp = ramp
            ramping.insert(stream.id)
            write(&treatment, stream, factor: ramp.factor(at: now), now: now)
        } else {
            endRamp(&treatment, stream.id)
            write(&treatment, stream, factor: target, now: now)
        }
    }

    private mutating func endRamp(_ treatment: inout Treatment, _ id: StreamID) {
        treatment.ramp = nil
        ramping.remove(id)
    }

    private mutating func write(
        _ treatment: inout Treatment, _ stream: ServerStream, factor: Double, now: LoopInstant
    ) {
        let changed = factor != treatment.factor
        treatment.factor = factor
        guard isPulseAudio else { return writeSoftGain(&treatment, stream) }
        guard changed else { return }
        writeVolume(&treatment, stream.id, now: now)
    }

    private mutating func writeVolume(_ treatment: inout Treatment, _ id: StreamID, now: LoopInstant) {
        let volume = treatment.scaled(treatment.factor)
        // The server is silent about a volume that it already has, and no read would ever confirm it.
        guard !resolution.equal(volume, treatment.volumes.last?.value ?? []) else { return }
        ledger.append(.volume(id, volume))
        operations.append(.setVolume(id, volume))
        treatment.volumes.append((nextBatch, volume))
        if let key = treatment.restoreKey { stored.wrote(key, volume: volume, now: now) }
    }

    /// PipeWire: soft volumes and soft mute, always both, or neither.
    private mutating func writeSoftGain(_ treatment: inout Treatment, _ stream: ServerStream) {
        guard !stream.volume.isEmpty else { return }
        let isSilenced = treatment.silencing == .mute
        let wanted: SoftGain? =
            treatment.factor == 1 && !isSilenced
            ? nil
            : SoftGain(volume: treatment.scaled(treatment.factor), isMuted: treatment.baselineMuted || isSilenced)
        let sent: SoftGain? = treatment.softGains.last ?? stream.softGain
        guard !same(wanted, sent) else { return }
        if let wanted {
            if ledger.streams[stream.id]?.hasSoftGain != true { ledger.append(.soft(stream.id)) }
            operations.append(.setSoftGain(stream.id, wanted))
        } else {
            operations.append(.clearSoftGain(stream.id))
        }
        treatment.softGains.append(wanted)
        treatment.unconfirmed += 1
        if treatment.unconfirmed > Self.patience { uncontrollable.insert(stream.id) }
    }

    /// So many soft gains in a row without a confirmation, and the stream does not obey them. A fade sends 50 a second.
    private static let patience = 200

    private func same(_ a: SoftGain?, _ b: SoftGain?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.isMuted == b.isMuted && resolution.same(a.volume, b.volume)
    }

    // MARK: Silence

    private func method(for effect: Effect, _ stream: ServerStream) -> Treatment.Silencing? {
        switch effect {
        case .none, .duck: return nil
        case .mute: return .mute
        case .pause:
            if !isPulseAudio { return cannotPause.contains(stream.id) ? .mute : .pauseCommand }
            guard let role = stream.properties["media.role"], corkedRoles.contains(role) else { return .mute }
            return .corkedRole(role)
        }
    }

    private mutating func silence(
        _ treatment: inout Treatment, _ stream: ServerStream, with method: Treatment.Silencing?, now: LoopInstant
    ) {
        guard method != treatment.silencing else { return }
        let before = treatment.silencing
        treatment.silencing = method
        if before == .pauseCommand, !treatment.hasStoppedItself { operations.append(.resume(stream.id)) }
        switch method {
        case .pauseCommand:
            treatment.hasStoppedItself = false
            ledger.append(.pause(stream.id))
            operations.append(.pause(stream.id))
        case .mute, .corkedRole, nil: break
        }
        guard isPulseAudio else {
            writeSoftGain(&treatment, stream)
            return
        }
        // A stream that its user has muted is silent already, and stays so when we are done.
        let mute = method == .mute && !treatment.baselineMuted
        if before == .mute || mute, !treatment.baselineMuted { writeMute(&treatment, stream.id, mute, now: now) }
    }

    private mutating func writeMute(_ treatment: inout Treatment, _ id: StreamID, _ mute: Bool, now: LoopInstant) {
        guard treatment.mutes.last?.value != mute else { return }
        ledger.append(.mute(id, mute))
        operations.append(.setMute(id, mute))
        treatment.mutes.append((nextBatch, mute))
        if let key = treatment.restoreKey { stored.wrote(key, mute: mute, now: now) }
    }

    // MARK: Others' changes

    /// Leaves the stream to whoever has just undone our effect, until its present holders are gone.
    private mutating func override(_ treatment: inout Treatment, _ id: StreamID) {
        treatment.overriddenHolders = treatment.holders
        treatment.silencing = nil
        endRamp(&treatment, id)
        // Somebody else's value took over: there is nothing left to undo.
        if isPulseAudio, ledger.streams[id] != nil { ledger.append(.done(id)) }
    }

    private mutating func observePulseAudio(
        _ stream: ServerStream, _ treatment: inout Treatment, in graph: ServerGraph
    ) {
        let expected = treatment.expectedVolume(including: stream.includesBatch)
        if !resolution.same(stream.volume, expected) {
            if let scaled = scaledWithSink(stream, treatment, expected: expected, in: graph) {
                treatment.baseline = scaled
                treatment.volumes = [(stream.includesBatch, stream.volume)]
            } else {
                takeForeignVolume(stream, &treatment, in: graph)
            }
        }
        let expectedMute = treatment.expectedMute(including: stream.includesBatch)
        if stream.isMuted != expectedMute {
            takeForeignMute(stream, &treatment, in: graph)
        }
    }

    private mutating func takeForeignVolume(
        _ stream: ServerStream, _ treatment: inout Treatment, in graph: ServerGraph
    ) {
        let hadEffect = treatment.factor != 1 || treatment.ramp != nil
        treatment.baseline = stream.volume
        treatment.factor = 1
        treatment.volumes = [(stream.includesBatch, stream.volume)]
        if hadEffect { override(&treatment, stream.id) }
        guard let key = treatment.restoreKey else { return }
        heal(stored.tookOver(key, volume: stream.volume, entry: graph.restoreEntries[key]))
    }

    private mutating func takeForeignMute(
        _ stream: ServerStream, _ treatment: inout Treatment, in graph: ServerGraph
    ) {
        let undidOurs = treatment.silencing == .mute && !stream.isMuted
        treatment.baselineMuted = stream.isMuted
        treatment.mutes = [(stream.includesBatch, stream.isMuted)]
        if undidOurs { override(&treatment, stream.id) }
        guard let key = treatment.restoreKey else { return }
        heal(stored.tookOver(key, mute: stream.isMuted, entry: graph.restoreEntries[key]))
    }

    private mutating func heal(_ operation: ServerOperation?) {
        if healsRestoreEntries, let operation { operations.append(operation) }
    }

    /// With flat volumes a sink's change scales the volumes of its streams: no override, and the baseline goes along.
    private func scaledWithSink(
        _ stream: ServerStream, _ treatment: Treatment, expected: [Double], in graph: ServerGraph
    ) -> [Double]? {
        guard let device = stream.device.flatMap({ graph.devices[$0] }), device.isFlat,
            deviceVolumesChanged.contains(device.id), expected.count == stream.volume.count
        else { return nil }
        return zip(treatment.baseline, zip(stream.volume, expected)).map { baseline, pair in
            pair.1 > 0 ? min(baseline * pair.0 / pair.1, 1) : baseline
        }
    }

    /// Flat sinks whose volume has changed with the events now being handled; set by the driver.
    var deviceVolumesChanged: Set<DeviceID> = []

    /// A stream that we have done with, but whose key is still watched: its user's changes are the store's own.
    private mutating func noteForeignChange(of stream: ServerStream, before: ServerStream, in graph: ServerGraph) {
        guard isPulseAudio, let key = stream.restoreKey, stored.isTracked(key) else { return }
        if !resolution.same(stream.volume, before.volume) {
            heal(stored.tookOver(key, volume: stream.volume, entry: graph.restoreEntries[key]))
        }
        if stream.isMuted != before.isMuted {
            heal(stored.tookOver(key, mute: stream.isMuted, entry: graph.restoreEntries[key]))
        }
    }

    private mutating func observePipeWire(_ stream: ServerStream, _ treatment: inout Treatment) {
        guard !stream.volume.isEmpty else { return }
        let wasMuted = treatment.baselineMuted
        treatment.baseline = stream.volume
        treatment.baselineMuted = stream.isMuted
        if let index = treatment.softGains.firstIndex(where: { same($0, stream.softGain) }) {
            treatment.softGains.removeSubrange(...index)
            treatment.unconfirmed = 0
        } else if stream.softGain == nil {
            // Cancelled by a write of the user's or of the session manager's: `reconcile` puts it on again.
            treatment.softGains.removeAll()
        }
        if wasMuted, !stream.isMuted, treatment.silencing == .mute { override(&treatment, stream.id) }
    }

    // MARK: Role modules of the user's

    mutating func takeOver(_ policy: ForeignPolicy) {
        ledger.append(.unloaded(policy))
        operations.append(.unloadPolicy(policy))
    }

    mutating func giveBackPolicies() {
        for policy in ledger.unloaded {
            operations.append(.loadPolicy(policy))
            ledger.append(.loaded(name: policy.name))
        }
    }

    func isCorkedByUs(_ id: StreamID) -> Bool {
        if case .corkedRole = treatments[id]?.silencing { return true }
        return false
    }

    // MARK: What an earlier run left

    /// Takes up a stream that an earlier run has changed and not put back: its baseline is the ledger's, unless
    /// somebody else has written since.
    mutating func adopt(_ stream: ServerStream, _ entry: Ledger.StreamEntry, now: LoopInstant) {
        var treatment = Treatment(of: stream)
        if isPulseAudio {
            let isOurs = entry.written.contains { resolution.same($0, stream.volume) }
            if isOurs, entry.volume.count == stream.volume.count {
                treatment.baseline = entry.volume
                // Not a level of the plan's: whatever the plan wants is written.
                treatment.factor = .leastNonzeroMagnitude
            }
            if entry.mutedByUs, stream.isMuted, !entry.isMuted {
                treatment.baselineMuted = false
                treatment.silencing = .mute
            }
        } else {
            treatment.factor = stream.softGain == nil ? 1 : .leastNonzeroMagnitude
            if entry.isPaused { treatment.silencing = .pauseCommand }
        }
        treatments[stream.id] = treatment
    }

    mutating func adoptStored(_ key: String, _ entry: Ledger.StoredEntry, now: LoopInstant, graph: ServerGraph) {
        stored.adopt(key, own: entry.entry, written: entry.written, now: now)
        observeStored(key, graph.restoreEntries[key], now: now)
    }
}
