import AudioPolicy
import EventLoop
import Foundation
import PulseAudioServer
import Testing

@Suite struct MeterTests {
    @Test func `A meter tells sound from silence, after the stream's own volume`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "phone")
        try pulse.play(role: "a11y", silent: true)
        let watcher = try Watcher(pulse.address)
        let tone = try watcher.stream(role: "phone")
        let silence = try watcher.stream(role: "a11y")
        watcher.server.setMeters([tone.id, silence.id])
        func last(_ id: StreamID) -> Double? { watcher.levels.last { $0.stream == id }?.peak }
        try watcher.wait("both report") { (last(tone.id) ?? 0) > 0.4 && last(silence.id) != nil }
        #expect(abs((last(tone.id) ?? 0) - 0.5) < 0.03)
        #expect(last(silence.id) == 0)
        watcher.server.perform([.setVolume(tone.id, [0.1, 0.1])])
        try watcher.wait("a tenth") { (last(tone.id) ?? 1) < 0.06 }
        #expect(watcher.levels.allSatisfy { $0.stream == tone.id || $0.peak == 0 })
        watcher.server.setMeters([])
        try watcher.settle()
        watcher.levels = []
        try watcher.settle()
        #expect(watcher.levels.isEmpty)
        #expect(watcher.inputs.isEmpty, "meters are no part of the graph")
        #expect(
            !watcher.changes.contains {
                if case .stream(let stream) = $0 { stream.id.direction == .input } else { false }
            })
    }

    @Test func `PRF-02: one record stream for each meter, and none without`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "phone")
        let watcher = try Watcher(pulse.address)
        let call = try watcher.stream(role: "phone")
        for _ in 0..<10 { watcher.server.setMeters([call.id]) }
        try watcher.wait("reports") { watcher.levels.count > 10 }
        #expect(try pulse.pactl("list", "short", "source-outputs").split(separator: "\n").count == 1)
        let shown = try pulse.pactl("list", "source-outputs")
        #expect(shown.contains("sordino.internal = \"1\""))
        #expect(shown.contains("Resample method: peaks"))
        watcher.server.setMeters([])
        try watcher.settle()
        #expect(try pulse.pactl("list", "short", "source-outputs").isEmpty)
    }

    @Test func `A meter follows its stream to another sink`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "phone")
        let watcher = try Watcher(pulse.address)
        let call = try watcher.stream(role: "phone")
        watcher.server.setMeters([call.id])
        try watcher.wait("reports") { !watcher.levels.isEmpty }
        for sink in ["hs", "spk", "hs"] {
            try pulse.pactl("move-sink-input", call.id.description, sink)
            try watcher.wait("moved") { watcher.graph.streams[call.id]?.device == watcher.device(sink)?.id }
            watcher.levels = []
            try watcher.wait("reports again") { watcher.levels.contains { $0.peak > 0.4 } }
        }
        #expect(watcher.failures.isEmpty)
    }

    @Test func `A meter of a stream that is gone, or never was, is no fault`() throws {
        let pulse = try PrivatePulse()
        let player = try pulse.play(role: "phone")
        let watcher = try Watcher(pulse.address)
        let call = try watcher.stream(role: "phone")
        watcher.server.setMeters([call.id, StreamID(.output, 4711), StreamID(.input, 0)])
        try watcher.wait("reports") { !watcher.levels.isEmpty }
        player.kill()
        try watcher.wait("gone") { watcher.outputs.isEmpty }
        watcher.server.setMeters([call.id])
        try watcher.settle()
        #expect(watcher.lost.isEmpty)
        #expect(watcher.failures.isEmpty)
    }

    @Test func `The meter of a capture hears its source, whatever the capture's mute, and follows it to another`()
        throws
    {
        let pulse = try PrivatePulse(extra: [
            "load-module module-remap-source source_name=mic master=hs.monitor",
            "load-module module-null-source source_name=silence",
        ])
        try pulse.play(role: "event", sink: "hs")
        // The second one stays, and with it the short latency of the sink.
        for role in ["phone", "production"] {
            _ = try pulse.run("parec", ["--raw", "--device=mic", "--latency-msec=20", "--property=media.role=\(role)"])
        }
        let watcher = try Watcher(pulse.address)
        func capture() -> ServerStream? { watcher.inputs.first { $0.properties["media.role"] == "phone" } }
        try watcher.wait("the captures") { capture() != nil && watcher.inputs.count == 3 }
        let id = try #require(capture()?.id)
        watcher.server.setMeters([id])
        func heard(_ fits: @escaping (Double) -> Bool) -> () -> Bool {
            { watcher.levels.contains { $0.stream == id && fits($0.peak) } }
        }
        try watcher.wait("the sound", heard { abs($0 - 0.5) < 0.03 })
        try pulse.pactl("set-source-output-mute", id.description, "1")
        try watcher.wait("the mute") { capture()?.isMuted == true }
        watcher.levels = []
        try watcher.wait("the sound still", heard { abs($0 - 0.5) < 0.03 })
        for (source, isSilent) in [("silence", true), ("mic", false)] {
            try pulse.pactl("move-source-output", id.description, source)
            try watcher.wait("moved") { capture()?.device == watcher.device(source)?.id }
            watcher.levels = []
            try watcher.wait("what \(source) has") {
                let last = watcher.levels.suffix(10)
                return last.count == 10 && (last.map(\.peak).max() ?? 0 > 0.4) == !isSilent
            }
        }
        // Nothing of the meter is in the graph: the captures and the remap's own stream are.
        #expect(watcher.inputs.count == 3 && watcher.failures.isEmpty)
        watcher.server.setMeters([])
        try watcher.settle()
        #expect(try !pulse.pactl("list", "source-outputs").contains("sordino.internal"))
    }

    @Test func `Another program sees the meter of a microphone as a meter`() throws {
        let pulse = try PrivatePulse(extra: ["load-module module-null-source source_name=mic"])
        _ = try pulse.run("parec", ["--raw", "--device=mic", "--property=media.role=phone"])
        let watcher = try Watcher(pulse.address)
        try watcher.wait("the capture") { watcher.inputs.count == 1 }
        let id = try #require(watcher.inputs.first?.id)
        watcher.server.setMeters([id])
        try watcher.wait("reports") { !watcher.levels.isEmpty }
        let seen = try Watcher(pulse.address).inputs.filter { $0.id != id }
        #expect(seen.count == 1 && seen.first?.resampleMethod == "peaks")
        #expect(seen.first?.properties["sordino.internal"] == "1")
    }

    @Test func `A source that goes takes the meter of its capture along, and the capture's next source gets it`() throws
    {
        let pulse = try PrivatePulse(extra: ["load-module module-null-source source_name=fallback"])
        let module = try pulse.pactl("load-module", "module-remap-source", "source_name=mic", "master=hs.monitor")
        try pulse.pactl("load-module", "module-rescue-streams")
        try pulse.pactl("set-default-source", "fallback")
        try pulse.play(role: "event", sink: "hs")
        _ = try pulse.run("parec", ["--raw", "--device=mic", "--latency-msec=20", "--property=media.role=phone"])
        let watcher = try Watcher(pulse.address)
        func capture() -> ServerStream? { watcher.inputs.first { $0.properties["media.role"] == "phone" } }
        try watcher.wait("the capture") { capture() != nil }
        let id = try #require(capture()?.id)
        watcher.server.setMeters([id])
        try watcher.wait("the sound") { watcher.levels.contains { $0.peak > 0.4 } }
        try pulse.pactl("unload-module", module)
        try watcher.wait("rescued") { capture().map { $0.device == watcher.device("fallback")?.id } == true }
        watcher.levels = []
        try watcher.wait("its silence") { watcher.levels.count > 5 && watcher.levels.allSatisfy { $0.peak == 0 } }
        #expect(watcher.lost.isEmpty && watcher.failures.isEmpty)
    }
}
