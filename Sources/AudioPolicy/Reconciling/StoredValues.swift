import EventLoop

/// PulseAudio stores the volume of a stream at every change, under a key that all streams of a role share. This keeps,
/// for each key that our writes touch, the entry's own value: what it was before our first write, updated by whatever
/// change is not ours. Whenever the store says otherwise, the own value is written back.
struct StoredValues {
    private struct Tracked {
        var own: RestoreEntry?
        /// Streams that we have written to: the server stores them at each of their changes from then on.
        var streams: Set<StreamID> = []
        /// What we have sent to streams of this key; newest last.
        var volumes: [[Double]] = []
        var mutes: Set<Bool> = []
        /// A change of ours may still be on its way into the store until then.
        var quietFrom: LoopInstant
    }

    /// How long after our last write the store is still watched when no stream of the key is left.
    private static let settling: Duration = .seconds(2)
    private var tracked: [String: Tracked] = [:]

    func isTracked(_ key: String) -> Bool { tracked[key] != nil }
    func own(_ key: String) -> RestoreEntry? { tracked[key]?.own }

    /// Before the first write to a stream. Returns whether the key is new, and so belongs into the ledger.
    mutating func touch(_ key: String, stream: StreamID, entry: RestoreEntry?, now: LoopInstant) -> Bool {
        let isNew = tracked[key] == nil
        tracked[key, default: Tracked(own: entry, quietFrom: now)].streams.insert(stream)
        return isNew
    }

    /// Takes up what an earlier run left.
    mutating func adopt(_ key: String, own: RestoreEntry?, written: [[Double]], now: LoopInstant) {
        guard tracked[key] == nil else { return }
        var entry = Tracked(own: own, quietFrom: now + Self.settling)
        entry.volumes = written
        tracked[key] = entry
    }

    mutating func wrote(_ key: String, volume: [Double], now: LoopInstant) {
        tracked[key]?.volumes.append(volume)
        if let count = tracked[key]?.volumes.count, count > 256 { tracked[key]?.volumes.removeFirst(128) }
        tracked[key]?.quietFrom = now + Self.settling
    }

    mutating func wrote(_ key: String, mute: Bool, now: LoopInstant) {
        tracked[key]?.mutes.insert(mute)
        tracked[key]?.quietFrom = now + Self.settling
    }

    /// Somebody set a stream of this key to a volume or mute of their own: the server stores it, and so it is the
    /// entry's own from now on. Says what must be written back where the store has been healed to the former one.
    mutating func tookOver(_ key: String, volume: [Double], entry: RestoreEntry?) -> ServerOperation? {
        tracked[key]?.own?.volume = volume
        tracked[key]?.volumes.removeAll { $0 == volume }
        return difference(key, entry)
    }

    mutating func tookOver(_ key: String, mute: Bool, entry: RestoreEntry?) -> ServerOperation? {
        tracked[key]?.own?.isMuted = mute
        tracked[key]?.mutes.remove(mute)
        return difference(key, entry)
    }

    private func difference(_ key: String, _ entry: RestoreEntry?) -> ServerOperation? {
        guard let own = tracked[key]?.own, entry != nil, own != entry else { return nil }
        return .writeRestoreEntry(own)
    }

    /// A stream of this key is as it should be again. From now on only what such streams have of their own is known as
    /// not their user's last word (the server stores it at each of their changes, whatever the change).
    mutating func settled(_ key: String, volume: [Double], isMuted: Bool, othersTreated: Bool) {
        guard !othersTreated else { return }
        tracked[key]?.volumes = [volume]
        tracked[key]?.mutes = [isMuted]
    }

    /// Whether a new stream's volume comes from our writes and not from its user: it began in the moment between a
    /// write and its healing.
    func isOurs(_ key: String, volume: [Double], resolution: VolumeResolution) -> Bool {
        guard let entry = tracked[key], let own = entry.own, !resolution.same(own.volume, volume) else { return false }
        return entry.volumes.contains { resolution.same($0, volume) }
    }

    /// Takes an entry as the store has it now, and says what must be written back, if anything.
    mutating func stored(_ key: String, _ entry: RestoreEntry?, resolution: VolumeResolution) -> ServerOperation? {
        guard var known = tracked[key] else { return nil }
        guard let entry else {
            // Somebody cleared the store; that is a value too.
            tracked[key]?.own = nil
            return nil
        }
        guard var own = known.own else {
            if known.volumes.contains(where: { resolution.same($0, entry.volume) }) || known.mutes.contains(true) {
                return .deleteRestoreEntry(key: key)
            }
            known.own = entry
            tracked[key] = known
            return nil
        }
        if !known.volumes.contains(where: { resolution.same($0, entry.volume) }) {
            own.volume = entry.volume
            own.channelMap = entry.channelMap
        }
        if !known.mutes.contains(entry.isMuted) { own.isMuted = entry.isMuted }
        own.device = entry.device
        known.own = own
        tracked[key] = known
        let isHealed =
            resolution.same(own.volume, entry.volume) && own.isMuted == entry.isMuted && own.device == entry.device
        return isHealed ? nil : .writeRestoreEntry(own)
    }

    mutating func streamRemoved(_ id: StreamID, key: String?) {
        guard let key else { return }
        tracked[key]?.streams.remove(id)
    }

    /// Lets go of keys that no stream of ours can change any more.
    mutating func forgetQuiet(now: LoopInstant, entries: [String: RestoreEntry]) {
        for (key, entry) in tracked
        where entry.streams.isEmpty && entry.quietFrom <= now && entry.own == entries[key] {
            tracked[key] = nil
        }
    }

    mutating func removeAll() { tracked.removeAll() }
}
