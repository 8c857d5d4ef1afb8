import AudioPolicy
import CPipeWire
import EventLoop

/// A peak meter of one node, a playback stream or a source: a capture stream of our own that the session manager links to
/// the other's output.
///
/// It keeps nothing awake, and shows up as a monitor, as the meters of mixers do. What it hears has the node's gain in it.
/// Its samples come on the loop's own thread.
final class StreamMeter {
    /// Below this (−60 dBFS) a stream is silent.
    private static let silence: Float = 0.001
    private static let interval = Duration.milliseconds(40)

    /// The node's serial.
    let target: UInt64
    private unowned let loop: any EventLoop
    private let report: (Double) -> Void
    private var stream: OpaquePointer?
    private let hook: UnsafeMutablePointer<spa_hook>
    private var peak: Float = 0
    private var lastPeak: Float = 0
    private var due: LoopInstant

    init?(of target: UInt64, core: OpaquePointer, loop: any EventLoop, report: @escaping (Double) -> Void) {
        self.target = target
        self.loop = loop
        self.report = report
        due = loop.now
        hook = .allocate(capacity: 1)
        hook.initialize(to: spa_hook())
        guard let stream = pw_stream_new(core, "Level meter", newProperties(Self.properties(target))) else {
            hook.deallocate()
            return nil
        }
        self.stream = stream
        // Unretained: `close` removes the hook, and the server calls it before it lets go of the meter.
        pw_stream_add_listener(stream, hook, streamEvents.pointer, Unmanaged.passUnretained(self).toOpaque())
        connect(stream)
    }

    deinit {
        precondition(stream == nil, "a meter was dropped without being closed")
    }

    private static func properties(_ target: UInt64) -> [String: String] {
        [
            "media.type": "Audio", "media.category": "Capture", "media.name": "Level meter",
            "node.name": "sordino.meter.\(target)", "node.virtual": "true", "node.passive": "true",
            "node.dont-fallback": "true", "stream.monitor": "true", "stream.dont-remix": "false",
            "state.restore-props": "false", "state.restore-target": "false", "target.object": "\(target)",
        ]
    }

    private func connect(_ stream: OpaquePointer) {
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
            var builder = spa_pod_builder()
            spa_pod_builder_init(&builder, buffer.baseAddress, UInt32(buffer.count))
            var info = spa_audio_info_raw()
            info.format = SPA_AUDIO_FORMAT_F32
            info.channels = 2
            info.position.0 = SPA_AUDIO_CHANNEL_FL.rawValue
            info.position.1 = SPA_AUDIO_CHANNEL_FR.rawValue
            var format = UnsafePointer(spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &info))
            let flags =
                PW_STREAM_FLAG_AUTOCONNECT.rawValue | PW_STREAM_FLAG_DONT_RECONNECT.rawValue
                | PW_STREAM_FLAG_MAP_BUFFERS.rawValue
            // Without the flag for real time, the samples are handed over to the loop that the stream was made on.
            pw_stream_connect(stream, SPA_DIRECTION_INPUT, UInt32.max, pw_stream_flags(flags), &format, 1)
        }
    }

    func close() {
        guard let stream else { return }
        self.stream = nil
        spa_hook_remove(hook)
        pw_stream_destroy(stream)
        hook.deallocate()
    }

    /// The global id of our own node, once it has one.
    var node: UInt32? {
        guard let stream else { return nil }
        let id = pw_stream_get_node_id(stream)
        return id == UInt32.max ? nil : id
    }

    fileprivate func process() {
        guard let stream else { return }
        while let buffer = pw_stream_dequeue_buffer(stream) {
            measure(buffer.pointee.buffer)
            pw_stream_queue_buffer(stream, buffer)
        }
        let now = loop.now
        // The first sound after a silence is told at once.
        guard now >= due || (lastPeak < Self.silence && peak >= Self.silence) else { return }
        due = now + Self.interval
        lastPeak = peak
        peak = 0
        report(Double(lastPeak))
    }

    private func measure(_ buffer: UnsafeMutablePointer<spa_buffer>?) {
        guard let buffer, let datas = buffer.pointee.datas else { return }
        for index in 0..<Int(buffer.pointee.n_datas) {
            guard let chunk = datas[index].chunk, let data = datas[index].data else { continue }
            let capacity = Int(datas[index].maxsize)
            let offset = min(Int(chunk.pointee.offset), capacity)
            let size = min(Int(chunk.pointee.size), capacity - offset)
            let samples = UnsafeRawBufferPointer(start: data + offset, count: size).assumingMemoryBound(to: Float.self)
            for sample in samples where abs(sample) > peak { peak = abs(sample) }
        }
    }
}

private let streamEvents = EventTable(
    {
        var events = pw_stream_events()
        events.version = UInt32(PW_VERSION_STREAM_EVENTS)
        events.process = streamProcessCallback
        return events
    }())

private func streamProcessCallback(_ data: UnsafeMutableRawPointer?) {
    object(data, as: StreamMeter.self)?.process()
}
