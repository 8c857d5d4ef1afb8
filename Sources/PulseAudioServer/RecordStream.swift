import AudioPolicy
import CPulse

/// A silent listener of ours: a mono record stream that reports peaks, and never counts as recording.
///
/// Owns libpulse's stream; its callbacks are unretained and taken away in `close`, which `deinit` makes sure of.
final class RecordStream {
    enum Place: Equatable {
        /// One sink input, before it is mixed with others.
        case sinkInput(UInt32)
        /// A source, by name.
        case source(String)
    }

    private var handle: OpaquePointer?
    private(set) var isReady = false
    /// Its source output's index, as soon as it has one.
    var onReady: (UInt32) -> Void = { _ in }
    /// It could not be made, or the server has ended it.
    var onEnded: (ServerFailure) -> Void = { _ in }
    /// The greatest absolute sample of what has arrived.
    var onPeak: ((Double) -> Void)?

    /// `rate`: peaks per second. `fragment`: how many of them arrive together.
    init?(context: PulseContext, name: String, role: String?, place: Place, rate: UInt32, fragment: Int) {
        guard let connection = context.handle else { return nil }
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, ownStreamProperty, "1")
        if let role { pa_proplist_sets(properties, PA_PROP_MEDIA_ROLE, role) }
        var format = pa_sample_spec(format: PA_SAMPLE_FLOAT32LE, rate: rate, channels: 1)
        handle = pa_stream_new_with_proplist(connection, name, &format, nil, properties)
        guard let handle else { return nil }
        let userdata = Unmanaged.passUnretained(self).toOpaque()
        pa_stream_set_state_callback(handle, streamState, userdata)
        pa_stream_set_read_callback(handle, streamRead, userdata)
        guard connect(handle, place, bytes: UInt32(fragment * MemoryLayout<Float>.size)) else {
            close()
            return nil
        }
    }

    deinit { close() }

    private func connect(_ handle: OpaquePointer, _ place: Place, bytes: UInt32) -> Bool {
        var attributes = pa_buffer_attr(
            maxlength: .max, tlength: .max, prebuf: .max, minreq: .max, fragsize: bytes)
        let flags = [
            PA_STREAM_PEAK_DETECT, PA_STREAM_DONT_INHIBIT_AUTO_SUSPEND, PA_STREAM_DONT_MOVE, PA_STREAM_ADJUST_LATENCY,
        ]
        let all = pa_stream_flags_t(rawValue: flags.reduce(0) { $0 | $1.rawValue })
        switch place {
        case .sinkInput(let index):
            return pa_stream_set_monitor_stream(handle, index) == 0
                && pa_stream_connect_record(handle, nil, &attributes, all) == 0
        case .source(let name):
            return pa_stream_connect_record(handle, name, &attributes, all) == 0
        }
    }

    /// No callback comes after this.
    func close() {
        guard let handle else { return }
        self.handle = nil
        onReady = { _ in }
        onEnded = { _ in }
        onPeak = nil
        pa_stream_set_state_callback(handle, nil, nil)
        pa_stream_set_read_callback(handle, nil, nil)
        pa_stream_disconnect(handle)
        pa_stream_unref(handle)
    }

    fileprivate func stateChanged() {
        guard let handle else { return }
        switch pa_stream_get_state(handle) {
        case PA_STREAM_READY:
            isReady = true
            onReady(pa_stream_get_index(handle))
        case PA_STREAM_FAILED, PA_STREAM_TERMINATED:
            let failure = ServerFailure(pulse: pa_context_errno(pa_stream_get_context(handle)))
            let ended = onEnded
            onEnded = { _ in }
            ended(failure)
        default: break
        }
    }

    fileprivate func read() {
        guard let handle else { return }
        var peak: Float?
        var data: UnsafeRawPointer?
        var count = 0
        while pa_stream_peek(handle, &data, &count) == 0, count > 0 {
            if let data {
                let samples = UnsafeRawBufferPointer(start: data, count: count).bindMemory(to: Float.self)
                peak = samples.reduce(peak ?? 0) { max($0, abs($1)) }
            }
            pa_stream_drop(handle)
        }
        if let peak { onPeak?(Double(peak)) }
    }
}

// MARK: - libpulse's callbacks

/// A reference is held while it is told: what it tells may drop it.
private func told(_ userdata: UnsafeMutableRawPointer?, _ body: (RecordStream) -> Void) {
    guard let userdata else { return }
    let stream = Unmanaged<RecordStream>.fromOpaque(userdata).takeUnretainedValue()
    withExtendedLifetime(stream) { body(stream) }
}

private func streamState(_: OpaquePointer?, _ userdata: UnsafeMutableRawPointer?) {
    told(userdata) { $0.stateChanged() }
}

private func streamRead(_: OpaquePointer?, _: Int, _ userdata: UnsafeMutableRawPointer?) {
    told(userdata) { $0.read() }
}
