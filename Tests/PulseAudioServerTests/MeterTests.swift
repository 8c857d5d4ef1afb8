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
}
