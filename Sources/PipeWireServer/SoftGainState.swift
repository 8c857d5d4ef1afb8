import AudioPolicy

/// Which gain of a stream is in force, from the sequence of its `Props` events.
///
/// A stream's converter has its user's `channelVolumes` and `mute`, and beside them `softVolumes` and `softMute`, which
/// stand in their place from the moment that somebody writes them until somebody writes `channelVolumes` or `mute`
/// without them. `Props` shows all four values and not which pair counts. What the servers do (0.3.65 and 1.4.2):
///
/// - Every write causes exactly one event with all values, also a write that changes none of them.
/// - A user's write leaves the shown `softVolumes` as they were. So an event in which they did not change is somebody
///   else's write, and the soft gain is cancelled, even where nothing at all has changed.
/// - A relink or a move causes no event and cancels nothing. A write of the scalar `volume` cancels nothing.
/// - A stream that gets its format fits the arrays to its channel count, by itself.
///
/// Each own write is therefore made different from the one before, in the last bits of its volumes (2⁻¹⁹, far below
/// anything audible), so that its event is recognised among those of others'. An event that is taken for somebody's
/// write wrongly costs one more write of ours, never a wrong state.
struct SoftGainState {
    /// The values of one `Props` event.
    struct Snapshot: Equatable {
        var volumes: [Float] = []
        var isMuted = false
        var softVolumes: [Float] = []
        var isSoftMuted = false
        /// The scalar `volume`.
        var gain: Float = 1
    }

    private enum Write: Equatable {
        case set(SoftGain, stamped: [Float])
        /// Cancels the soft gain by writing the mute that the stream has.
        case clear(isMuted: Bool)
    }

    /// `nil` while the user's own volume and mute count.
    private(set) var inForce: SoftGain?
    private(set) var last: Snapshot?
    /// Sent, and not seen in an event yet, oldest first.
    private var pending: [(write: Write, batch: UInt64)] = []
    private var stamp: UInt32 = 0
    /// Sent, not seen in time and not waited for any more; a few, newest last.
    private var overdue: [(gain: SoftGain, stamped: [Float])] = []
    /// The mute that somebody wrote while a clear was under way, and that the clear has overwritten.
    private var overtakenMute: Bool?
    /// The last batch whose write has been seen.
    private(set) var seenBatch: UInt64 = 0

    /// The oldest batch with a write that has not been seen yet.
    var oldestPendingBatch: UInt64? { pending.first?.batch }

    /// Registers a write of soft volumes and returns the values to send, one per channel.
    mutating func willSet(_ gain: SoftGain, channels: Int, batch: UInt64) -> [Float] {
        var stamped: [Float]
        repeat {
            stamp = (stamp + 1) & 0xF
            stamped = (0..<channels).map { channel in
                let value = gain.volume.isEmpty ? 1 : gain.volume[min(channel, gain.volume.count - 1)]
                return stampedValue(Float(value))
            }
        } while stamped == last?.softVolumes
        pending.append((.set(gain, stamped: stamped), batch))
        return stamped
    }

    /// Registers a clear and returns the mute to write, or `nil` where no values are known yet.
    mutating func willClear(batch: UInt64) -> Bool? {
        guard let last else { return nil }
        let isMuted = overtakenMute ?? last.isMuted
        pending.append((.clear(isMuted: isMuted), batch))
        return isMuted
    }

    /// Takes in one event. Returns a mute to write again, since a clear of ours has overwritten it.
    mutating func observe(_ snapshot: Snapshot) -> Bool? {
        let previous = last
        last = snapshot
        guard let previous, !previous.softVolumes.isEmpty || !snapshot.softVolumes.isEmpty else {
            inForce = Self.standing(in: snapshot)
            return nil
        }
        guard
            snapshot.softVolumes == previous.softVolumes, snapshot.isSoftMuted == previous.isSoftMuted
        else {
            observeSoftChange(snapshot, previous: previous)
            return nil
        }
        return observeForeignWrite(snapshot, previous: previous)
    }

    /// Waits no more for what was sent up to this batch: some streams ignore what is written.
    mutating func giveUp(batch: UInt64) {
        for case (.set(let gain, let stamped), ...batch) in pending { overdue.append((gain, stamped)) }
        overdue = overdue.suffix(8)
        pending.removeAll { $0.batch <= batch }
        if pending.isEmpty { overtakenMute = nil }
    }

    private mutating func observeSoftChange(_ snapshot: Snapshot, previous: Snapshot) {
        let own = pending.firstIndex { entry in
            guard case .set(let gain, let stamped) = entry.write else { return false }
            return stamped == snapshot.softVolumes && gain.isMuted == snapshot.isSoftMuted
        }
        if let own, case .set(let gain, _) = pending[own].write {
            inForce = gain
            seenBatch = max(seenBatch, pending[own].batch)
            pending.removeSubrange(...own)
        } else if let late = overdue.last(where: { $0.stamped == snapshot.softVolumes }) {
            inForce = SoftGain(volume: late.gain.volume, isMuted: snapshot.isSoftMuted)
        } else if previous.softVolumes.isEmpty {
            // The format came; the values are the converter's initial ones.
            inForce = Self.standing(in: snapshot)
        } else if inForce != nil || snapshot.softVolumes.count == previous.softVolumes.count {
            inForce = SoftGain(volume: snapshot.softVolumes.map(Double.init), isMuted: snapshot.isSoftMuted)
        }
    }

    private mutating func observeForeignWrite(_ snapshot: Snapshot, previous: Snapshot) -> Bool? {
        if snapshot.gain != previous.gain, snapshot.volumes == previous.volumes, snapshot.isMuted == previous.isMuted {
            return nil  // The scalar volume alone.
        }
        inForce = nil
        guard case .clear(let isMuted)? = pending.first?.write, let batch = pending.first?.batch else { return nil }
        guard snapshot.isMuted == isMuted else {
            overtakenMute = snapshot.isMuted
            return nil
        }
        pending.removeFirst()
        seenBatch = max(seenBatch, batch)
        defer { overtakenMute = nil }
        return overtakenMute
    }

    /// What an earlier run, or somebody else, may have left: nothing tells whether it still counts, so it is believed to,
    /// unless it would make no difference.
    private static func standing(in snapshot: Snapshot) -> SoftGain? {
        let isInitial = snapshot.softVolumes.allSatisfy { $0 == 1 } && !snapshot.isSoftMuted
        let isEqual = snapshot.softVolumes == snapshot.volumes && snapshot.isSoftMuted == snapshot.isMuted
        if isInitial || isEqual { return nil }
        return SoftGain(volume: snapshot.softVolumes.map(Double.init), isMuted: snapshot.isSoftMuted)
    }

    private func stampedValue(_ value: Float) -> Float {
        guard value.isNormal, value > 0 else { return Float(bitPattern: Float.leastNormalMagnitude.bitPattern | stamp) }
        return Float(bitPattern: value.bitPattern & ~0xF | stamp)
    }
}
