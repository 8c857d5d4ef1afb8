import AudioSession
import EventLoop

/// What somebody else does meanwhile.
extension Reconciler {
    /// Leaves the stream to whoever has just undone our effect, until its present holders are gone.
    func override(_ treatment: Treatment, _ id: StreamID) {
        treatment.overriddenHolders = treatment.holders
        if treatment.silencing == .corkRequest { releaseCork(treatment) }
        treatment.silencing = nil
        endRamp(treatment, id)
    }

    /// Leaves a stream alone that is paused by other means than ours, until its present holders are gone.
    func leave(_ stream: ServerStream, holders: Set<ClaimID>) {
        let treatment = treatments[stream.id] ?? Treatment(of: stream)
        treatment.holders = holders
        override(treatment, stream.id)
        treatments[stream.id] = treatment
    }

    // MARK: PulseAudio

    func observePulseAudio(
        _ stream: ServerStream, _ treatment: Treatment, in graph: ServerGraph, now: LoopInstant
    ) {
        observeVolume(stream, treatment, in: graph, now: now)
        guard !observeCork(stream, treatment) else { return }
        let expectedMute = treatment.mutes.expected(including: stream.includesBatch)
        if stream.isMuted != expectedMute { takeForeignMute(stream, treatment, in: graph, now: now) }
    }

    private func observeVolume(
        _ stream: ServerStream, _ treatment: Treatment, in graph: ServerGraph, now: LoopInstant
    ) {
        let expected = treatment.volumes.expected(including: stream.includesBatch)
        guard !resolution.same(stream.volume, expected) else { return endSuspicion(treatment, stream.id) }
        if let device = stream.device.flatMap({ graph.devices[$0] }), device.isFlat {
            if follow(device, stream, treatment, expected: expected, now: now) { return }
            let until = treatment.suspectUntil ?? now + Self.flatSettling
            if now < until {
                treatment.suspectUntil = until
                suspects.insert(stream.id)
                return
            }
        }
        endSuspicion(treatment, stream.id)
        takeForeignVolume(stream, treatment, in: graph, now: now)
    }

    private func takeForeignVolume(
        _ stream: ServerStream, _ treatment: Treatment, in graph: ServerGraph, now: LoopInstant
    ) {
        let hadEffect = treatment.factor != 1 || treatment.ramp != nil
        treatment.volumes.read(stream.volume, including: stream.includesBatch)
        treatment.baseline = stream.volume
        treatment.factor = 1
        if hadEffect {
            let silencing = treatment.silencing
            override(treatment, stream.id)
            if silencing == .mute { writeMute(treatment, stream.id, treatment.baselineMuted, now: now) }
        }
        noteNewBaseline(treatment, stream.id)
        if let key = treatment.restoreKey {
            heal(stored.tookOver(key, stream.id, volume: stream.volume, entry: graph.restoreEntries[key], now: now))
        }
        // Writes of ours that were under way have overwritten it: it is put there again.
        writeVolume(treatment, stream.id, now: now)
    }

    private func takeForeignMute(
        _ stream: ServerStream, _ treatment: Treatment, in graph: ServerGraph, now: LoopInstant
    ) {
        let undidOurs = treatment.silencing == .mute && !stream.isMuted
        treatment.mutes.read(stream.isMuted, including: stream.includesBatch)
        treatment.baselineMuted = stream.isMuted
        if undidOurs { override(treatment, stream.id) }
        noteNewBaseline(treatment, stream.id)
        if let key = treatment.restoreKey {
            heal(stored.tookOver(key, stream.id, mute: stream.isMuted, entry: graph.restoreEntries[key], now: now))
        }
        writeMute(treatment, stream.id, treatment.silencing == .mute || treatment.baselineMuted, now: now)
    }

    // MARK: Flat volumes

    /// A sink's change comes to be known up to so long after, or before, those of its streams.
    private static let flatSettling: Duration = .milliseconds(60)

    /// With flat volumes a sink's change scales the volumes of its streams: no override, and the baseline goes along, but
    /// never above the sink.
    private func follow(
        _ device: ServerDevice, _ stream: ServerStream, _ treatment: Treatment, expected: [Double],
        now: LoopInstant
    ) -> Bool {
        guard let change = flatChanges[device.id], change.at + Self.flatSettling >= now,
            treatment.followed != change.at,
            expected.count == stream.volume.count, let ceiling = device.volume.max()
        else { return false }
        let isScaled = zip(expected, stream.volume).allSatisfy { expected, found in
            abs(expected * change.factor - found) <= 0.02 * max(expected * change.factor, found) + resolution.step
        }
        guard isScaled else { return false }
        endSuspicion(treatment, stream.id)
        treatment.followed = change.at
        treatment.baseline = treatment.baseline.map { min($0 * change.factor, ceiling) }
        treatment.volumes.read(stream.volume, including: stream.includesBatch)
        if let key = treatment.restoreKey { stored.follow(key, stream.id, volume: stream.volume) }
        noteNewBaseline(treatment, stream.id)
        // What was under way was meant for the sink's former volume.
        writeVolume(treatment, stream.id, now: now)
        return true
    }

    private func endSuspicion(_ treatment: Treatment, _ id: StreamID) {
        treatment.suspectUntil = nil
        suspects.remove(id)
    }

    /// Looks again at streams whose sink may have changed.
    func resolveSuspects(in graph: ServerGraph, now: LoopInstant) {
        for id in suspects.sorted() {
            guard let stream = graph.streams[id], let treatment = treatments[id] else {
                suspects.remove(id)
                continue
            }
            observeVolume(stream, treatment, in: graph, now: now)
            // An override of it is planned with the next turn's plans; the level itself is somebody else's already.
        }
    }

    /// A stream that we do nothing to, but whose key we have touched: its user's changes are the store's own.
    func noteForeignChange(
        of stream: ServerStream, before: ServerStream, in graph: ServerGraph, now: LoopInstant
    ) {
        guard isPulseAudio, let key = stream.restoreKey, stored.isTracked(key) else { return }
        let entry = graph.restoreEntries[key]
        if !resolution.same(stream.volume, before.volume) {
            heal(stored.tookOver(key, stream.id, volume: stream.volume, entry: entry, now: now))
        }
        if stream.isMuted != before.isMuted {
            heal(stored.tookOver(key, stream.id, mute: stream.isMuted, entry: entry, now: now))
        }
    }

    // MARK: PipeWire

    /// How long a program may take to apply a soft gain.
    private static let lateness: Duration = .milliseconds(100)

    func observePipeWire(
        _ stream: ServerStream, before: ServerStream?, _ treatment: Treatment, now: LoopInstant
    ) {
        if treatment.silencing == .pauseCommand {
            if stream.isCorked { treatment.hasStoppedItself = true }
            // Its program stopped and started it within one wake-up of ours: that has undone the pause.
            if before?.isCorked == true, !stream.isCorked { startedAgain.insert(stream.id) }
        }
        if let resumed = treatment.resumed, resumed <= stream.includesBatch { treatment.resumed = nil }
        guard !stream.volume.isEmpty else { return }
        let wasMuted = treatment.baselineMuted
        let isTouched = treatment.baseline != stream.volume || wasMuted != stream.isMuted
        treatment.baseline = stream.volume
        treatment.baselineMuted = stream.isMuted
        if !isTouched, same(stream.softGain, treatment.softGains.first),
            !same(stream.softGain, treatment.softGains.last)
        {
            // Nothing has come of it yet. The program may be late, or ignore it.
            treatment.retryAt = treatment.retryAt ?? now + Self.lateness
            retrying.insert(stream.id)
        } else {
            treatment.softGains.read(stream.softGain, including: stream.includesBatch)
        }
        if same(stream.softGain, treatment.lastSoftGain) { treatment.refusals = 0 }
        if same(stream.softGain, treatment.softGains.last) { endRetry(treatment, stream.id) }
        if wasMuted, !stream.isMuted, treatment.silencing == .mute { override(treatment, stream.id) }
    }

    func endRetry(_ treatment: Treatment, _ id: StreamID) {
        treatment.retryAt = nil
        retrying.remove(id)
    }

    /// Sends again what has not been seen for too long.
    func retry(in graph: ServerGraph, now: LoopInstant) {
        for id in retrying.sorted() {
            guard let stream = graph.streams[id], let treatment = treatments[id], let due = treatment.retryAt else {
                retrying.remove(id)
                continue
            }
            guard due <= now else { continue }
            endRetry(treatment, id)
            treatment.softGains.read(stream.softGain, including: stream.includesBatch)
            writeSoftGain(treatment, stream)
            closeOrGiveUp(id)
        }
    }
}
