import AudioSession
import EventLoop

/// The server's store of volumes, the user's role modules, and what an earlier run left.
extension Reconciler {
    // MARK: The store

    /// The store's entry under a key, whenever it changes.
    func observeStored(_ key: String, _ entry: RestoreEntry?, now: LoopInstant) {
        guard isPulseAudio else { return }
        let operation = stored.read(key, entry, now: now)
        guard healsRestoreEntries else { return }
        heal(operation)
        if let known = ledger.stored[key], known.entry != stored.own(key), stored.isTracked(key) {
            ledger.append(.stored(key: key, entry: stored.own(key)))
        }
    }

    func heal(_ operation: ServerOperation?) {
        if healsRestoreEntries, let operation { operations.append(operation) }
    }

    /// Lets entries of the store leave the ledger that are as they should be, and whose streams all are.
    func closeStored(in graph: ServerGraph, now: LoopInstant) {
        if isPulseAudio, !ledger.stored.isEmpty {
            for key in ledger.stored.keys where !ledger.isInUse(key) && stored.isHealed(key) {
                if stored.quietFrom(key).map({ $0 <= now }) ?? true { ledger.append(.storedDone(key: key)) }
            }
        }
        stored.forgetQuiet(now: now)
    }

    // MARK: A stream that begins at a level of ours

    func appeared(_ stream: ServerStream, now: LoopInstant) {
        newest[stream.id.direction] = max(newest[stream.id.direction] ?? 0, stream.id.serial)
        guard isPulseAudio, healsRestoreEntries else { return }
        if !ledger.isEmpty { noteNewest() }
        guard stream.id.serial > seenBefore[stream.id.direction] ?? 0,
            let inherited = stored.inherited(stream, now: now)
        else { return }
        let treatment = Treatment(of: stream)
        if let volume = inherited.volume {
            treatment.baseline = volume
            treatment.factor = nil
        }
        if let mute = inherited.mute {
            treatment.baselineMuted = mute
            treatment.silencing = .mute
        }
        treatments[stream.id] = treatment
        // It may be at the level that is wanted already: no write would note it.
        noteAgain(
            treatment, stream.id, written: inherited.volume == nil ? [] : [stream.volume],
            isMuted: inherited.mute != nil)
    }

    func noteNewest() {
        for (direction, serial) in newest where ledger.seen[direction] ?? 0 < serial {
            ledger.append(.seen(StreamID(direction, serial)))
        }
    }

    // MARK: Role modules of the user's

    func takeOver(_ policy: ForeignPolicy) {
        ledger.append(.unloaded(policy))
        operations.append(.unloadPolicy(policy))
    }

    func giveBackPolicies() {
        for policy in ledger.unloaded {
            operations.append(.loadPolicy(policy))
            ledger.append(.loaded(name: policy.name))
        }
    }

    // MARK: What an earlier run left

    /// Takes up a stream that an earlier run has changed and not put back: its baseline is the ledger's, unless
    /// somebody else has written since. Returns whether it is still silenced by us.
    func adopt(_ stream: ServerStream, _ entry: Ledger.StreamEntry, now: LoopInstant) -> Bool {
        let treatment = treatments[stream.id] ?? Treatment(of: stream)
        if isPulseAudio {
            let isMutedByUs = entry.mutedByUs && stream.isMuted && !entry.isMuted
            let isOurs = entry.written.contains { resolution.same($0, stream.volume) }
            if isOurs, entry.volume.count == stream.volume.count {
                treatment.baseline = entry.volume
                treatment.factor = nil
            }
            if isMutedByUs {
                treatment.baselineMuted = false
                treatment.silencing = .mute
            }
            // What has changed while nobody looked is the baseline from now on.
            noteAgain(treatment, stream.id, written: isOurs ? entry.written : [], isMuted: isMutedByUs)
            if let key = treatment.restoreKey, stored.isTracked(key) {
                // The server goes on storing the stream at each of its changes.
                if isOurs { stored.wrote(key, stream.id, volume: stream.volume, now: now) }
                if isMutedByUs { stored.wrote(key, stream.id, mute: true, now: now) }
            }
        } else {
            treatment.factor = stream.softGain == nil ? 1 : nil
            if stream.softGain != nil { treatment.adoptSoftGain() }
            if entry.hasSoftGain, stream.softGain?.isMuted == true, !stream.isMuted { treatment.silencing = .mute }
            if entry.isPaused { treatment.silencing = .pauseCommand }
        }
        treatments[stream.id] = treatment
        return treatment.silencing != nil
    }

    /// Takes up entries of the store that an earlier run has changed and not healed, before the store is read.
    func adoptKeys(
        _ keys: [String: Ledger.StoredEntry], entries: [String: RestoreEntry], now: LoopInstant
    ) {
        guard isPulseAudio, healsRestoreEntries else { return }
        for (key, entry) in keys {
            stored.adopt(key, entry, entry: entries[key], now: now)
        }
    }
}
