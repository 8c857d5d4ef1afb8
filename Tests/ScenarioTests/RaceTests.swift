import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct RaceTests {
    @Test(
        "RAC-01: streams that vanish as soon as they are there leave nothing behind",
        arguments: HeadlessServerKind.allCases)
    func shortStreams(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let crowd = try await desktop.program("crowd")
            for round in 1...10 {
                let call = round % 2 == 0 ? try await desktop.call() : nil
                for number in 1...12 {
                    _ = try await crowd.play(
                        "s\(round)-\(number)", .init(frequency: 1800, role: number % 3 == 0 ? "event" : "music"))
                    try await crowd.perform(.close, "s\(round)-\(number)")
                }
                call?.kill()
            }
            crowd.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForStatus("one stream and nothing to undo") { status in
                status.streams.filter { $0.direction == "output" }.map(\.id) == [String(music.stream.index)]
                    && status.ledger.entries == 0
            }
        }
    }

    @Test("RAC-02: a fade that outlives its stream never reaches the next one with its id")
    func reusedIDs() async throws {
        let slow = "timing = { attack-ms = 0  fade-down-ms = 0  fade-up-ms = 1500  hold-ms = 0 }"
        try await onDesktop(.pipewire, configuration: slow) { desktop in
            let ear = try await desktop.ear()
            for _ in 1...3 {
                let music = try await desktop.music()
                let call = try await desktop.call()
                try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
                call.kill()
                try await ear.waitFor(music.frequency, "to come up") { $0 > Desktop.baseline - 18 }
                music.kill()
                let next = try await desktop.play("phone", Desktop.Tone.second)
                try await ear.waitFor(next.frequency, at: Desktop.baseline)
                try await ear.holds(next.frequency, at: Desktop.baseline, for: .milliseconds(1500))
                next.kill()
            }
            try await desktop.waitForRest()
        }
    }

    @Test(
        "RAC-04: sinks that come and go in a hurry leave volumes and server as they were",
        arguments: HeadlessServerKind.allCases)
    func sinksInAHurry(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "spk")
            let call = try await desktop.call(sink: "spk")
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            for number in 1...20 {
                let module = try await desktop.pactl("load-module", "module-null-sink", "sink_name=hs\(number)")
                _ = try await desktop.pactl("set-default-sink", "hs\(number)")
                _ = try await desktop.pactl("unload-module", module.last ?? "")
            }
            _ = try await desktop.pactl("set-default-sink", "spk")
            _ = try await desktop.move(music.stream, to: "spk")
            _ = try await desktop.move(call.stream, to: "spk")
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await ear.waitFor(call.frequency, at: Desktop.baseline)
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
        }
    }

    @Test(
        "RAC-06, RST-05: voices that come and go within a fade leave music exactly at its baseline",
        arguments: HeadlessServerKind.allCases)
    func overlappingFades(kind: HeadlessServerKind) async throws {
        let fades = "timing = { attack-ms = 0  fade-down-ms = 400  fade-up-ms = 400  hold-ms = 0 }"
        try await onDesktop(kind, configuration: fades) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.play("phone", Desktop.Tone.voice) { $0.corked = true }
            let start = ear.blockCount
            for _ in 1...30 {
                try await call.perform(.uncork)
                _ = try await ear.record(.milliseconds(100))
                try await call.perform(.cork)
                _ = try await ear.record(.milliseconds(50))
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
            let levels = ear.levels(of: music.frequency, blocks: start..<ear.blockCount)
            #expect(levels.allSatisfy { $0 < Desktop.baseline + 0.5 })
            #expect(levels.count { $0 < Desktop.baseline - 21 } * 20 < levels.count)
        }
    }
}
