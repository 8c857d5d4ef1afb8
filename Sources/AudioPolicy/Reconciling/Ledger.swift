/// The record of every change that must be undone, as the lines of a store. An entry leaves only after a read-back
/// confirmed the undo, or the object is gone and its stored value is healed, or somebody else's value took over.
struct Ledger {
    /// A stream that is not as its user left it.
    struct StreamEntry: Equatable {
        var volume: [Double]
        var isMuted: Bool
        var restoreKey: String?
        /// Every volume that we have sent; a stream at any of them is at ours.
        var written: [[Double]] = []
        var mutedByUs = false
        var hasSoftGain = false
        var isPaused = false
    }

    /// A stored value that our writes make the server overwrite.
    struct StoredEntry: Equatable {
        var entry: RestoreEntry?
        /// What we have made streams of the key have, but for their own volumes.
        var written: [[Double]] = []
        var mutes: Set<Bool> = []
        /// What streams of the key have of their own: the server stores that too, once we have written to them.
        var baselines: [[Double]] = []
        /// Preferred devices that are stored because of us; none stands for the default one.
        var devices: Set<String?> = []
    }

    /// A stream that is where a claim wants it.
    struct RouteEntry: Equatable {
        var back: DeviceID?
        var restoreKey: String?
    }

    /// So many written values are told apart from a user's; a stream is given its target often, and its steps seldom.
    private static let memory = 256

    private(set) var server: (kind: ServerKind, instance: String)?
    private(set) var streams: [StreamID: StreamEntry] = [:]
    private(set) var routes: [StreamID: RouteEntry] = [:]
    /// How many of them the server stores under a key: an event must not cost as much as there are streams.
    private var streamsOfKey: [String: Int] = [:]
    private(set) var stored: [String: StoredEntry] = [:]
    private(set) var unloaded: [ForeignPolicy] = []
    /// Media players that we have paused, with one name of each. They outlive the sound server.
    private(set) var players: [PlayerID: String] = [:]
    /// The newest stream of each direction that was there while something was to be undone.
    private(set) var seen: [AudioDirection: UInt64] = [:]
    private var pending = ""
    private var lines = 0
    private var mustRewrite = false

    var count: Int { streams.count + routes.count + stored.count + unloaded.count + players.count }
    var isEmpty: Bool { count == 0 }

    init() {}

    /// Whether some stream that the server stores under this key is not as its user left it.
    func isInUse(_ key: String) -> Bool {
        streamsOfKey[key] != nil || routes.values.contains { $0.restoreKey == key }
    }

    private mutating func setStream(_ id: StreamID, _ entry: StreamEntry?) {
        let old = streams[id]
        streams[id] = entry
        count(old?.restoreKey, -1)
        count(entry?.restoreKey, 1)
    }

    private mutating func count(_ key: String?, _ change: Int) {
        guard let key else { return }
        let number = streamsOfKey[key, default: 0] + change
        streamsOfKey[key] = number > 0 ? number : nil
    }

    private mutating func removeStreams() {
        streams.removeAll()
        routes.removeAll()
        streamsOfKey.removeAll()
    }

    /// What an earlier run left.
    init(reading text: String) {
        // What follows the last newline is half a line, and half a number is another number.
        guard let end = text.utf8.lastIndex(of: 0x0A) else { return }
        for line in text.utf8[..<end].split(separator: 0x0A) {
            if let record = LedgerRecord(line: Substring(line)) { keep(record) }
        }
    }

    /// Notes a record; it goes to the store with the next `flush`, before the operations that it is about are sent.
    mutating func append(_ record: LedgerRecord) {
        keep(record)
        // An emptied store has lost its first line, which says which server the others are about.
        if lines == 0, let server { LedgerRecord.server(server.kind, instance: server.instance).write(to: &pending) }
        record.write(to: &pending)
        lines += 1
    }

    /// Hands everything noted to the store. When nothing is left to undo the store is emptied instead.
    mutating func flush(to store: any LedgerStore) {
        guard !pending.isEmpty || mustRewrite else { return }
        if isEmpty || mustRewrite || lines > 10_000 {
            store.replace(with: isEmpty ? "" : snapshot())
            lines = isEmpty ? 0 : 1
            if isEmpty { seen = [:] }
            mustRewrite = false
        } else {
            store.append(pending)
        }
        pending.removeAll(keepingCapacity: true)
    }

    /// Starts over with what is still to be undone, for a server whose run is another.
    mutating func begin(_ kind: ServerKind, instance: String, keepingStreams: Bool) {
        if !keepingStreams {
            removeStreams()
            seen.removeAll()
            // Another run has loaded what its own configuration says.
            unloaded.removeAll()
        }
        server = (kind, instance)
        mustRewrite = true
    }

    private mutating func keep(_ record: LedgerRecord) {
        switch record {
        case .server(let kind, let instance):
            if server?.instance != instance {
                removeStreams()
                seen.removeAll()
                unloaded.removeAll()
            }
            server = (kind, instance)
        case .baseline(let id, let volume, let isMuted, let key):
            setStream(id, StreamEntry(volume: volume, isMuted: isMuted, restoreKey: key))
            if let key { keepBaseline(key, volume) }
        case .volume(let id, let volume):
            guard let index = streams.index(forKey: id) else { break }
            Self.note(volume, in: &streams.values[index].written)
            let entry = streams.values[index]
            if let key = entry.restoreKey, entry.volume != volume { keepWritten(key, volume) }
        case .mute(let id, let isMuted):
            streams[id]?.mutedByUs = isMuted
            if let key = streams[id]?.restoreKey { stored[key]?.mutes.insert(isMuted) }
        case .soft(let id): streams[id]?.hasSoftGain = true
        case .pause(let id): streams[id]?.isPaused = true
        case .done(let id): setStream(id, nil)
        case .route(let id, let back, let key): routes[id] = RouteEntry(back: back, restoreKey: key)
        case .routeDone(let id): routes[id] = nil
        case .seen(let id): seen[id.direction] = max(seen[id.direction] ?? 0, id.serial)
        case .stored(let key, let entry): stored[key, default: StoredEntry()].entry = entry
        case .storedVolume(let key, let volume): keepWritten(key, volume)
        case .storedBaseline(let key, let volume): keepBaseline(key, volume)
        case .storedMute(let key, let isMuted): stored[key]?.mutes.insert(isMuted)
        case .storedDevice(let key, let device): stored[key]?.devices.insert(device)
        case .storedDone(let key): stored[key] = nil
        case .unloaded(let policy): unloaded.append(policy)
        case .loaded(let name): unloaded.removeAll { $0.name == name }
        case .playerPaused(let id, let name): players[id] = name
        case .playerDone(let id): players[id] = nil
        }
    }

    private mutating func keepWritten(_ key: String, _ volume: [Double]) {
        guard let index = stored.index(forKey: key) else { return }
        Self.note(volume, in: &stored.values[index].written)
    }

    private mutating func keepBaseline(_ key: String, _ volume: [Double]) {
        guard var entry = stored[key] else { return }
        Self.note(volume, in: &entry.baselines)
        stored[key] = entry
    }

    private static func note(_ volume: [Double], in written: inout [[Double]]) {
        if written.last == volume { return }
        if let index = written.firstIndex(of: volume) { written.remove(at: index) }
        written.append(volume)
        if written.count > memory { written.removeFirst() }
    }

    private func snapshot() -> String {
        var text = server.map { LedgerRecord.server($0.kind, instance: $0.instance).line } ?? ""
        for (key, value) in stored {
            text += LedgerRecord.stored(key: key, entry: value.entry).line
            for volume in value.written { text += LedgerRecord.storedVolume(key: key, volume).line }
            for volume in value.baselines { text += LedgerRecord.storedBaseline(key: key, volume).line }
            for device in value.devices { text += LedgerRecord.storedDevice(key: key, device).line }
            for isMuted in value.mutes { text += LedgerRecord.storedMute(key: key, isMuted).line }
        }
        for (id, entry) in streams {
            text +=
                LedgerRecord.baseline(
                    id, volume: entry.volume, isMuted: entry.isMuted, restoreKey: entry.restoreKey
                ).line
            for volume in entry.written { text += LedgerRecord.volume(id, volume).line }
            if entry.mutedByUs { text += LedgerRecord.mute(id, true).line }
            if entry.hasSoftGain { text += LedgerRecord.soft(id).line }
            if entry.isPaused { text += LedgerRecord.pause(id).line }
        }
        for (id, entry) in routes {
            text += LedgerRecord.route(id, back: entry.back, restoreKey: entry.restoreKey).line
        }
        for (direction, serial) in seen { text += LedgerRecord.seen(StreamID(direction, serial)).line }
        for policy in unloaded { text += LedgerRecord.unloaded(policy).line }
        for (id, name) in players { text += LedgerRecord.playerPaused(id, name: name).line }
        return text
    }
}
