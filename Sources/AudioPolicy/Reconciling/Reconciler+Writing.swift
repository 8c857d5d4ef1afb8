import AudioSession
import EventLoop

/// What is sent: levels, silence, and the ledger's lines before them.
extension Reconciler {
    // MARK: Levels

    func aim(
        _ treatment: Treatment, _ stream: ServerStream, at target: Double, abrupt: Bool, now: LoopInstant
    ) {
        guard target != treatment.ramp?.target ?? treatment.factor else {
            if abrupt, treatment.ramp != nil {
                endRamp(treatment, stream.id)
                write(treatment, stream, factor: target, now: now)
            } else if !isPulseAudio {
                // Somebody's write may have taken a soft gain away, or changed what it stands for.
                writeSoftGain(treatment, stream)
            }
            return
        }
        guard !abrupt, let from = treatment.factor else {
            endRamp(treatment, stream.id)
            write(treatment, stream, factor: target, now: now)
            return
        }
        guard from != target else { return endRamp(treatment, stream.id) }
        let duration = target < from ? timing.fadeDown : timing.fadeUp
        // One write in 20 ms, whatever comes: a fade that takes over from another keeps to that.
        let start = max(now, treatment.lastWrite.map { $0 + Ramp.step } ?? now)
        treatment.ramp = Ramp(from: from, to: target, over: duration, start: start)
        ramping.insert(stream.id)
        guard let factor = treatment.ramp?.factor(at: now) else { return }
        if treatment.ramp?.isOver(at: now) == true { endRamp(treatment, stream.id) }
        write(treatment, stream, factor: factor, now: now)
    }

    func endRamp(_ treatment: Treatment, _ id: StreamID) {
        treatment.ramp = nil
        ramping.remove(id)
    }

    func write(_ treatment: Treatment, _ stream: ServerStream, factor: Double, now: LoopInstant) {
        treatment.factor = factor
        treatment.lastWrite = now
        if isPulseAudio {
            writeVolume(treatment, stream.id, now: now)
        } else {
            writeSoftGain(treatment, stream)
        }
    }

    /// PulseAudio. Sends nothing that the server has, or will have, anyway: it would be silent about it.
    func writeVolume(_ treatment: Treatment, _ id: StreamID, now: LoopInstant) {
        // Above a flat sink's new volume it would raise the sink.
        guard treatment.suspectUntil == nil else { return }
        let volume = treatment.scaled(treatment.factor ?? 1)
        guard !resolution.equal(volume, treatment.volumes.last) else { return }
        noteBaseline(treatment, id, now: now)
        ledger.append(.volume(id, volume))
        operations.append(.setVolume(id, volume))
        treatment.volumes.sent(volume, in: nextBatch)
        if let key = treatment.restoreKey { stored.wrote(key, id, volume: volume, now: now) }
    }

    /// PipeWire: soft volumes and soft mute, always both, or neither.
    func writeSoftGain(_ treatment: Treatment, _ stream: ServerStream) {
        guard !stream.volume.isEmpty else { return }
        let isSilenced = treatment.silencing == .mute
        let wanted: SoftGain? =
            treatment.factor == 1 && !isSilenced
            ? nil
            : SoftGain(
                volume: treatment.scaled(treatment.factor ?? 1), isMuted: treatment.baselineMuted || isSilenced)
        guard !same(wanted, treatment.softGains.last) else { return }
        treatment.refusals = same(wanted, treatment.lastSoftGain) ? treatment.refusals + 1 : 0
        guard treatment.refusals < Self.patience else { return }
        treatment.lastSoftGain = wanted
        if let wanted {
            noteBaseline(treatment, stream.id, now: nil)
            if ledger.streams[stream.id]?.hasSoftGain != true { ledger.append(.soft(stream.id)) }
            operations.append(.setSoftGain(stream.id, wanted))
        } else {
            operations.append(.clearSoftGain(stream.id))
        }
        treatment.softGains.sent(wanted, in: nextBatch)
    }

    // MARK: Silence

    func method(for effect: Effect, _ stream: ServerStream) -> Treatment.Silencing? {
        switch effect {
        case .none, .duck: return nil
        case .mute: return .mute
        case .pause:
            if !isPulseAudio { return cannotPause.contains(stream.id) ? .mute : .pauseCommand }
            return isCorkRequested(of: stream) ? .corkRequest : .mute
        }
    }

    func silence(
        _ treatment: Treatment, _ stream: ServerStream, with method: Treatment.Silencing?, now: LoopInstant
    ) {
        guard method != treatment.silencing else { return }
        let before = treatment.silencing
        treatment.silencing = method
        switch before {
        case .pauseCommand:
            if !treatment.hasStoppedItself {
                operations.append(.resume(stream.id))
                treatment.resumed = nextBatch
            }
        case .corkRequest: releaseCork(treatment)
        case .mute, nil: break
        }
        switch method {
        case .pauseCommand:
            treatment.hasStoppedItself = false
            noteBaseline(treatment, stream.id, now: nil)
            ledger.append(.pause(stream.id))
            operations.append(.pause(stream.id))
        case .corkRequest:
            treatment.cork = CorkProgress()
            treatment.cork.requested = nextBatch
            noteModulesMute(of: treatment, stream.id, now: now)
        case .mute, nil: break
        }
        guard isPulseAudio else {
            writeSoftGain(treatment, stream)
            return
        }
        // A stream that its user has muted is silent already, and stays so when we are done.
        writeMute(treatment, stream.id, method == .mute || treatment.baselineMuted, now: now)
    }

    func writeMute(_ treatment: Treatment, _ id: StreamID, _ mute: Bool, now: LoopInstant) {
        guard treatment.mutes.last != mute else { return }
        noteBaseline(treatment, id, now: now)
        ledger.append(.mute(id, mute))
        operations.append(.setMute(id, mute))
        treatment.mutes.sent(mute, in: nextBatch)
        if let key = treatment.restoreKey { stored.wrote(key, id, mute: mute, now: now) }
    }

    // MARK: The ledger

    /// Before the first change of a stream: what it is to be put back to, and (PulseAudio) what the store has under its key.
    private func noteBaseline(_ treatment: Treatment, _ id: StreamID, now: LoopInstant?) {
        if let key = treatment.restoreKey, let now, healsRestoreEntries {
            stored.track(key, now: now)
            if ledger.stored[key] == nil { ledger.append(.stored(key: key, entry: stored.own(key))) }
        }
        guard ledger.streams[id] == nil else { return }
        if isPulseAudio { noteNewest() }
        ledger.append(
            .baseline(
                id, volume: treatment.baseline, isMuted: treatment.baselineMuted, restoreKey: treatment.restoreKey))
    }

    /// Somebody else's values have become the baseline of a stream that we still hold in some way.
    func noteNewBaseline(_ treatment: Treatment, _ id: StreamID) {
        guard let known = ledger.streams[id] else { return }
        guard known.volume != treatment.baseline || known.isMuted != treatment.baselineMuted else { return }
        noteAgain(
            treatment, id, written: treatment.factor == 1 ? [] : known.written,
            isMuted: treatment.silencing == .mute && !treatment.baselineMuted)
    }

    func noteAgain(_ treatment: Treatment, _ id: StreamID, written: [[Double]], isMuted: Bool) {
        ledger.append(
            .baseline(
                id, volume: treatment.baseline, isMuted: treatment.baselineMuted, restoreKey: treatment.restoreKey))
        for volume in written { ledger.append(.volume(id, volume)) }
        if isMuted { ledger.append(.mute(id, true)) }
    }
}
