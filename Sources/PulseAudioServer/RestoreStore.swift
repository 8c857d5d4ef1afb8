import AudioPolicy
import CPulse
import EventLoop
import SystemEventLoop

/// The server's volume store (`module-stream-restore`), which only tells that something in it changed. A server without
/// the module has no entries.
final class RestoreStore {
    private let context: PulseContext
    private let emit: ([GraphChange]) -> Void
    private var entries: [String: RestoreEntry] = [:]
    /// A read is to be sent, or has been and will show everything that has been reported until its reply.
    private var isReading = false
    /// Keys that we have written since the last reading was sent: what it shows of them is reported whatever it is, since
    /// an entry may have been healed and changed again between two readings.
    private var written: Set<String> = []

    /// The store reports each stream before the server does. Its reading waits this long, so that the stream's own query,
    /// and what is decided on it, comes first; and one reading serves all that happens meanwhile.
    static let settlingTime = Duration.milliseconds(2)

    init(context: PulseContext, emit: @escaping ([GraphChange]) -> Void) {
        self.context = context
        self.emit = emit
    }

    func subscribe() {
        context.acknowledged({ pa_ext_stream_restore_subscribe($0, 1, $1, $2) }, then: { _ in })
    }

    func read(done: @escaping () -> Void = {}) {
        isReading = true
        let written = written
        self.written = []
        var found: [String: RestoreEntry] = [:]
        context.restoreEntries(
            { info in
                let entry = RestoreEntry(info.pointee)
                found[entry.key] = entry
            },
            end: { [unowned self] failure in
                isReading = false
                if failure == nil { replace(with: found, written: written) }
                done()
            })
    }

    func changed() {
        guard !isReading else { return }
        isReading = true
        context.mainloop.loop.schedule(after: Self.settlingTime) { [weak self] in self?.read() }
    }

    /// The module appeared or went.
    func moduleChanged(isLoaded: Bool) {
        guard isLoaded else { return replace(with: [:]) }
        subscribe()
        read()
    }

    private func replace(with found: [String: RestoreEntry], written: Set<String> = []) {
        var found = found
        found[CorkTrigger.restoreKey] = nil
        let gone = written.union(entries.keys).filter { found[$0] == nil }.sorted()
        let changed = found.values.filter { entries[$0.key] != $0 || written.contains($0.key) }
            .sorted { $0.key < $1.key }
        entries = found
        if !gone.isEmpty || !changed.isEmpty {
            emit(gone.map { .restoreEntryRemoved($0) } + changed.map { .restoreEntry($0) })
        }
    }

    // MARK: Operations

    /// Replaces one entry, and touches no stream.
    func write(_ entry: RestoreEntry, then body: @escaping (ServerFailure?) -> Void) {
        guard let volume = PulseVolume.native(entry.volume), var map = channelMap(of: entry) else {
            context.mainloop.loop.defer { body(ServerFailure(.other, "the entry's channels make no sense")) }
            return
        }
        written.insert(entry.key)
        if volume.channels == 0 { map.channels = 0 }
        entry.key.withCString { key in
            withOptionalCString(entry.device) { device in
                var info = pa_ext_stream_restore_info(
                    name: key, channel_map: map, volume: volume, device: device, mute: entry.isMuted ? 1 : 0)
                context.acknowledged(
                    { pa_ext_stream_restore_write($0, PA_UPDATE_REPLACE, &info, 1, 0, $1, $2) }, then: body)
            }
        }
    }

    func delete(_ key: String, then body: @escaping (ServerFailure?) -> Void) {
        written.insert(key)
        key.withCString { key in
            var keys = [key, nil]
            context.acknowledged({ pa_ext_stream_restore_delete($0, &keys, $1, $2) }, then: body)
        }
    }

    private func channelMap(of entry: RestoreEntry) -> pa_channel_map? {
        var map = pa_channel_map()
        if entry.volume.isEmpty { return map }
        guard pa_channel_map_parse(&map, entry.channelMap) != nil, Int(map.channels) == entry.volume.count else {
            return nil
        }
        return map
    }
}

private func withOptionalCString<R>(_ string: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
    guard let string else { return body(nil) }
    return string.withCString { body($0) }
}
