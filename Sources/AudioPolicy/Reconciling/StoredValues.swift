import EventLoop

/// PulseAudio stores the volume of a stream at every change, under a key that all streams of a role share. This keeps,
/// for each key that our writes touch, the entry's own value: what it was before our first write, updated by whatever
/// change is not ours. Whenever the store says otherwise, the own value is written back.
struct StoredValues {
    /// From our first write on the server stores a stream at each of its changes, whatever the change. What we have given
    /// it last, be it its own, is not its user's word on the entry.
    private struct Touched: Equatable {
        var volume: [Double]?
        var mute: Bool?
        var isRouted = false
    }

    private struct Tracked {
        /// No volume: the entry has none, or there is no entry.
        var own: RestoreEntry
        var streams: [StreamID: Touched] = [:]
        /// What we have made streams of this key have; newest last.
        var volumes: [(value: [Double], at: LoopInstant)] = []
        /// What we have written back to the store: should the own value change while that is under way, the former one
        /// is found there for a moment.
        var healed: [(entry: RestoreEntry, at: LoopInstant)] = []
        var mutes: [Bool: LoopInstant] = [:]
        /// Preferred devices that are in the store because we have moved streams; none stands for the default one.
        var devices: Set<String?> = []
        var lastWrite: LoopInstant

        mutating func note(_ value: [Double], at now: LoopInstant) {
            // One batch writes one value to many streams.
            if let last = volumes.last, last.value == value {
                volumes.removeLast()
            } else {
                volumes.removeAll { $0.value == value }
            }
            volumes.append((value, now))
            if volumes.count > StoredValues.memory { volumes.removeFirst(StoredValues.memory / 2) }
        }
    }

    /// How long after our last write to a stream of the key the store may still change by it.
    private static let settling: Duration = .milliseconds(200)
    /// How long a value of ours can be in the store before it is healed, for streams that begin in that moment.
    private static let exposure: Duration = .milliseconds(100)
    private static let memory = 256

    let resolution: VolumeResolution
    private var tracked: [String: Tracked] = [:]
    /// The store as it was last read.
    private var entries: [String: RestoreEntry] = [:]

    init(resolution: VolumeResolution) { self.resolution = resolution }

    func isTracked(_ key: String) -> Bool { tracked[key] != nil }

    /// `nil` where the key has no entry of its own.
    func own(_ key: String) -> RestoreEntry? {
        guard let own = tracked[key]?.own, !own.isVoid else { return nil }
        return own
    }

    /// When the store will have seen our last write; `nil` for a key that we have nothing to do with.
    func quietFrom(_ key: String) -> LoopInstant? { tracked[key].map { $0.lastWrite + Self.settling } }

    /// Whether the entry, as it was last read, is the key's own.
    func isHealed(_ key: String) -> Bool {
        guard let own = tracked[key]?.own else { return true }
        return same(own, entries[key] ?? RestoreEntry(void: key))
    }

    // MARK: Our writes

    /// Before the first write to a stream of the key.
    mutating func track(_ key: String, now: LoopInstant) {
        guard tracked[key] == nil else { return }
        tracked[key] = Tracked(own: entries[key] ?? RestoreEntry(void: key), lastWrite: now)
    }

    mutating func wrote(_ key: String, _ id: StreamID, volume: [Double], now: LoopInstant) {
        guard let index = tracked.index(forKey: key) else { return }
        tracked.values[index].streams[id, default: Touched()].volume = volume
        tracked.values[index].note(volume, at: now)
        tracked.values[index].lastWrite = now
    }

    mutating func wrote(_ key: String, _ id: StreamID, mute: Bool, now: LoopInstant) {
        guard tracked[key] != nil else { return }
        tracked[key]?.streams[id, default: Touched()].mute = mute
        tracked[key]?.mutes[mute] = now
        tracked[key]?.lastWrite = now
    }

    /// The server stores where a stream is moved to as its user's preference, and none where that is the default device.
    mutating func moved(_ key: String, _ id: StreamID, to device: String?, now: LoopInstant) {
        guard tracked[key] != nil else { return }
        tracked[key]?.streams[id, default: Touched()].isRouted = true
        tracked[key]?.devices.insert(device)
        tracked[key]?.lastWrite = now
    }

    mutating func routeEnded(_ key: String, _ id: StreamID, now: LoopInstant) {
        guard tracked[key]?.streams[id] != nil else { return }
        tracked[key]?.streams[id]?.isRouted = false
        if tracked[key]?.streams[id] == Touched() { tracked[key]?.streams[id] = nil }
        tracked[key]?.lastWrite = now
    }

    /// A stream's volume has changed without being anybody's word on the entry.
    mutating func follow(_ key: String, _ id: StreamID, volume: [Double]) {
        if tracked[key]?.streams[id]?.volume != nil { tracked[key]?.streams[id]?.volume = volume }
    }

    // MARK: Others'

    /// Somebody set a stream of this key to a volume of their own: the server stores it, and so it is the entry's own
    /// from now on. Says what must be written back where the store has been healed to the former one.
    mutating func tookOver(
        _ key: String, _ id: StreamID, volume: [Double], entry: RestoreEntry?, now: LoopInstant
    ) -> ServerOperation? {
        guard var known = tracked[key] else { return nil }
        known.streams[id]?.volume = nil
        if !resolution.same(known.own.volume, volume) {
            if known.own.volume.count != volume.count { known.own.channelMap = "" }
            known.own.volume = volume
        }
        known.volumes.removeAll { resolution.same($0.value, volume) }
        known.healed.removeAll { resolution.same($0.entry.volume, volume) }
        tracked[key] = known
        return difference(key, entry, now: now)
    }

    mutating func tookOver(
        _ key: String, _ id: StreamID, mute: Bool, entry: RestoreEntry?, now: LoopInstant
    ) -> ServerOperation? {
        guard tracked[key] != nil else { return nil }
        tracked[key]?.streams[id]?.mute = nil
        tracked[key]?.own.isMuted = mute
        tracked[key]?.mutes[mute] = nil
        return difference(key, entry, now: now)
    }

    /// Somebody moved a stream of this key to where they want it; `nil`: to the default device, which stores none.
    mutating func tookOver(
        _ key: String, device: String?, entry: RestoreEntry?, now: LoopInstant
    ) -> ServerOperation? {
        guard tracked[key] != nil else { return nil }
        tracked[key]?.own.device = device
        tracked[key]?.devices.remove(device)
        tracked[key]?.healed.removeAll { $0.entry.device == device }
        tracked[key]?.lastWrite = now
        return difference(key, entry, now: now)
    }

    /// A new stream of the key began in the moment between a write of ours and its healing: the volume and mute that it
    /// would have had; `nil` where what it has does not come from us.
    func inherited(_ stream: ServerStream, now: LoopInstant) -> (volume: [Double]?, mute: Bool?)? {
        guard let key = stream.restoreKey, let known = tracked[key] else { return nil }
        let isRecent = { (time: LoopInstant) in time + Self.exposure >= now }
        var volume: [Double]?
        if !resolution.same(known.own.volume, stream.volume),
            known.volumes.contains(where: { isRecent($0.at) && resolution.same($0.value, stream.volume) })
        {
            volume =
                known.own.volume.count == stream.volume.count
                ? known.own.volume : [Double](repeating: known.own.volume.max() ?? 1, count: stream.volume.count)
        }
        let isMuteOurs = stream.isMuted && !known.own.isMuted && known.mutes[true].map(isRecent) ?? false
        return volume == nil && !isMuteOurs ? nil : (volume, isMuteOurs ? false : nil)
    }

    // MARK: The store

    /// Takes an entry as the store has it now, and says what must be written back, if anything.
    mutating func read(_ key: String, _ entry: RestoreEntry?, now: LoopInstant) -> ServerOperation? {
        entries[key] = entry
        guard var known = tracked[key] else { return nil }
        let found = entry ?? RestoreEntry(void: key)
        known.healed.removeAll { $0.at + Self.settling < now }
        if !isOurs(found.volume, known) {
            known.own.volume = found.volume
            known.own.channelMap = found.channelMap
        }
        if !isOurs(found.isMuted, known) { known.own.isMuted = found.isMuted }
        if !isOurs(found.device, known) { known.own.device = found.device }
        tracked[key] = known
        return difference(key, entry, now: now)
    }

    private func isOurs(_ volume: [Double], _ known: Tracked) -> Bool {
        known.volumes.contains { resolution.same($0.value, volume) }
            || known.healed.contains { resolution.same($0.entry.volume, volume) }
            || known.streams.values.contains { $0.volume.map { resolution.same($0, volume) } ?? false }
    }

    private func isOurs(_ mute: Bool, _ known: Tracked) -> Bool {
        known.mutes[mute] != nil || known.healed.contains { $0.entry.isMuted == mute }
            || known.streams.values.contains { $0.mute == mute }
    }

    private func isOurs(_ device: String?, _ known: Tracked) -> Bool {
        known.devices.contains(device) || known.healed.contains { $0.entry.device == device }
    }

    private mutating func difference(_ key: String, _ entry: RestoreEntry?, now: LoopInstant) -> ServerOperation? {
        guard var own = tracked[key]?.own else { return nil }
        let found = entry ?? RestoreEntry(void: key)
        guard !same(own, found) else { return nil }
        if own.isVoid {
            tracked[key]?.healed.append((own, now))
            return .deleteRestoreEntry(key: key)
        }
        if own.channelMap.isEmpty, !own.volume.isEmpty {
            // The server will store the volume itself; without the channels' places nothing can be written.
            guard found.volume.count == own.volume.count else { return nil }
            own.channelMap = found.channelMap
            tracked[key]?.own = own
        }
        tracked[key]?.healed.append((own, now))
        return .writeRestoreEntry(own)
    }

    private func same(_ a: RestoreEntry, _ b: RestoreEntry) -> Bool {
        resolution.same(a.volume, b.volume) && a.isMuted == b.isMuted && a.device == b.device
    }

    // MARK: Beginning and ending

    /// Takes up what an earlier run left, before any stream is seen.
    /// - Parameter entry: what the store has now.
    mutating func adopt(_ key: String, _ left: Ledger.StoredEntry, entry: RestoreEntry?, now: LoopInstant) {
        guard tracked[key] == nil else { return }
        entries[key] = entry
        var known = Tracked(own: left.entry ?? RestoreEntry(void: key), lastWrite: now)
        for volume in left.written where !resolution.same(known.own.volume, volume) { known.note(volume, at: now) }
        for volume in left.baselines where !resolution.same(known.own.volume, volume) {
            var entry = known.own
            entry.volume = volume
            known.healed.append((entry, now))
        }
        known.devices = left.devices
        // Only where the store still has our mute, a stream that is muted can have it from there.
        let longAgo = LoopInstant(nanoseconds: now.nanoseconds - 2 * Self.exposure.nanoseconds)
        for mute in left.mutes where mute != known.own.isMuted {
            known.mutes[mute] = entry?.isMuted == mute ? now : longAgo
        }
        tracked[key] = known
    }

    /// The store may have taken in its last change without our knowing yet.
    mutating func removed(_ id: StreamID, key: String?, now: LoopInstant) {
        guard let key, tracked[key]?.streams.removeValue(forKey: id) != nil else { return }
        tracked[key]?.lastWrite = now
    }

    /// Lets go of keys that no stream of ours can change any more.
    mutating func forgetQuiet(now: LoopInstant) {
        for (key, known) in tracked
        where known.streams.isEmpty && known.lastWrite + Self.settling <= now && isHealed(key) {
            tracked[key] = nil
        }
    }
}

extension RestoreEntry {
    /// As good as none.
    init(void key: String) { self.init(key: key, volume: [], channelMap: "", isMuted: false, device: nil) }

    var isVoid: Bool { volume.isEmpty && !isMuted && device == nil }
}
