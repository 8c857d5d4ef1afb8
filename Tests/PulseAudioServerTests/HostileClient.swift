import CPulse
import CPulseLoader
import Foundation

/// A client that sets any bytes as properties, which the command line tools do not.
final class HostileClient {
    private let mainloop: OpaquePointer
    private let context: OpaquePointer
    private var streams: [OpaquePointer] = []

    init(_ address: String) throws {
        guard cpulse_load() == nil else { throw Failure("no libpulse") }
        guard let mainloop = pa_mainloop_new(), let context = pa_context_new(pa_mainloop_get_api(mainloop), "hostile")
        else { throw Failure("no memory") }
        self.mainloop = mainloop
        self.context = context
        pa_context_connect(context, address, PA_CONTEXT_NOAUTOSPAWN, nil)
        try turn("connected") { pa_context_get_state(context) == PA_CONTEXT_READY }
    }

    deinit {
        for stream in streams { pa_stream_unref(stream) }
        pa_context_disconnect(context)
        pa_context_unref(context)
        pa_mainloop_free(mainloop)
    }

    func play(name: String, _ properties: [(key: String, value: [UInt8])]) throws {
        let list = pa_proplist_new()
        defer { pa_proplist_free(list) }
        for (key, value) in properties { pa_proplist_set(list, key, value, value.count) }
        var format = pa_sample_spec(format: PA_SAMPLE_S16LE, rate: 8000, channels: 2)
        guard let stream = pa_stream_new_with_proplist(context, name, &format, nil, list) else {
            throw Failure("no stream")
        }
        streams.append(stream)
        pa_stream_connect_playback(stream, nil, nil, PA_STREAM_START_CORKED, nil, nil)
        try turn("the stream \(name)") { pa_stream_get_state(stream) == PA_STREAM_READY }
    }

    private func turn(_ what: String, until condition: () -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: 10)
        while !condition() {
            guard Date() < deadline else { throw Failure("waited in vain: \(what)") }
            pa_mainloop_prepare(mainloop, 20000)
            pa_mainloop_poll(mainloop)
            pa_mainloop_dispatch(mainloop)
        }
    }
}
