import AudioPolicy
import EventLoop
import PulseAudioServer
import SystemEventLoop
import Testing

@Suite struct OperationTests {
    @Test func `RST-09: a volume comes back per channel, to the bit`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music", channels: 6)
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        #expect(music.volume.count == 6)
        let steps = [65536, 65535, 30001, 12345, 1, 0]
        try pulse.pactl(["set-sink-input-volume", music.id.description] + steps.map(String.init))
        try watcher.wait("the user's volume") { watcher.graph.streams[music.id]?.volume.last == 0 }
        let baseline = try #require(watcher.graph.streams[music.id]?.volume)
        watcher.server.perform([.setVolume(music.id, baseline.map { $0 * 0.1 })])
        try watcher.wait("ducked") { watcher.graph.streams[music.id]?.volume != baseline }
        watcher.server.perform([.setVolume(music.id, baseline)])
        try watcher.wait("restored") { watcher.graph.streams[music.id]?.volume == baseline }
        let shown = try pulse.pactl("list", "sink-inputs")
        for step in steps { #expect(shown.contains(": \(step) /"), "\(step)") }
    }

    @Test func `Mute and unmute`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        watcher.server.perform([.setMute(music.id, true)])
        try watcher.wait("muted") { watcher.graph.streams[music.id]?.isMuted == true }
        watcher.server.perform([.setMute(music.id, false)])
        try watcher.wait("unmuted") { watcher.graph.streams[music.id]?.isMuted == false }
    }

    @Test func `Capture streams have volume, mute and move as well`() throws {
        let pulse = try PrivatePulse()
        _ = try pulse.run("parec", ["--raw", "--device=hs.monitor", "--property=media.role=phone"])
        let watcher = try Watcher(pulse.address)
        try watcher.wait("the recorder") { !watcher.inputs.isEmpty }
        let id = watcher.inputs[0].id
        watcher.server.perform([.setVolume(id, [0.125, 0.125]), .setMute(id, true)])
        try watcher.wait("both") {
            watcher.graph.streams[id].map { $0.isMuted && $0.volume == [0.125, 0.125] } ?? false
        }
        watcher.server.perform([.move(id, nil)])
        try watcher.wait("moved") { watcher.graph.streams[id]?.device == watcher.device("spk.monitor")?.id }
    }

    @Test func `A move to the default clears what the server stored`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        let hs = try #require(watcher.device("hs"))
        let spk = try #require(watcher.device("spk"))
        watcher.server.perform([.move(music.id, hs.id)])
        try watcher.wait("moved, and stored") {
            watcher.graph.streams[music.id]?.device == hs.id
                && watcher.graph.restoreEntries["sink-input-by-media-role:music"]?.device == "hs"
        }
        watcher.server.perform([.move(music.id, nil)])
        try watcher.wait("back, and forgotten") {
            watcher.graph.streams[music.id]?.device == spk.id
                && watcher.graph.restoreEntries["sink-input-by-media-role:music"]?.device == nil
        }
    }

    @Test func `A stream's state says which batches it includes`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        #expect(music.includesBatch == 0)
        #expect(watcher.server.perform([.setVolume(music.id, [0.5, 0.5])]) == 1)
        #expect(watcher.server.perform([.setVolume(music.id, [0.25, 0.25])]) == 2)
        try watcher.wait("the second") { watcher.graph.streams[music.id]?.includesBatch == 2 }
        let reached = try #require(watcher.graph.streams[music.id]?.volume)
        #expect(reached.allSatisfy { abs($0 - 0.25) < 0.0001 })
        // A state that claims to include a batch has its value, however the two interleave.
        watcher.hook = { event in
            guard case .changed(let changes) = event else { return }
            for case .stream(let stream) in changes where stream.includesBatch >= 3 {
                let expected = stream.includesBatch % 2 == 0 ? 0.25 : 0.125
                #expect(stream.volume.allSatisfy { $0 <= 1 && abs($0 - expected) < 0.0001 }, "\(stream.includesBatch)")
            }
        }
        for batch in 3...200 as ClosedRange<UInt64> {
            let volume = batch % 2 == 0 ? 0.25 : 0.125
            #expect(watcher.server.perform([.setVolume(music.id, [volume, volume])]) == batch)
            try watcher.loop.turn(timeout: .microseconds(100))
        }
        try watcher.wait("the last") { watcher.graph.streams[music.id]?.includesBatch == 200 }
    }

    @Test func `What is gone, and what PulseAudio cannot do, is reported; the rest goes on`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        let gone = StreamID(.output, 9999)
        let absurd = StreamID(.output, 1 << 40)
        let bad: [ServerOperation] = [
            .setVolume(gone, [1, 1]), .setMute(absurd, true), .pause(music.id), .setVolume(music.id, []),
            .setVolume(music.id, Array(repeating: 1, count: 40)), .move(music.id, DeviceID(.output, 777)),
        ]
        let batch = watcher.server.perform(bad + [.setMute(music.id, true)])
        try watcher.wait("all answered") {
            watcher.failures.count == bad.count && watcher.graph.streams[music.id]?.isMuted == true
        }
        #expect(batch == 1)
        let codes = Dictionary(uniqueKeysWithValues: watcher.failures.map { ($0.operation, $0.failure.code) })
        #expect(codes[bad[0]] == .noEntity)
        #expect(codes[bad[1]] == .noEntity)
        #expect(codes[bad[2]] == .other)
        #expect(codes[bad[5]] == .noEntity)
    }
}
