import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct PerformanceTests {
    @Test(
        "PRF-01: other programs' visits to the server cost the daemon next to nothing",
        arguments: HeadlessServerKind.allCases)
    func visits(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind) { desktop in
            _ = try await desktop.music()
            try await desktop.waitForStatus("music") { $0.streams.count == 1 }
            let before = try desktop.daemonTime()
            let clock = ContinuousClock()
            let elapsed = try await clock.measure {
                for _ in 1...100 { _ = try await desktop.pactl("info") }
            }
            // A jiffy is 10 ms; of a hundred visits the daemon may feel a few.
            let used = try desktop.daemonTime() - before
            let share =
                Double(used) / 100
                / (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
            #expect(share < 0.02, "\(used) jiffies in \(elapsed)")
        }
    }

    @Test("PRF-02: one meter for a voice that is open, and none without", arguments: HeadlessServerKind.allCases)
    func meters(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            _ = try await desktop.music()
            try await desktop.waitForStatus("music") { $0.streams.count == 1 }
            #expect(try await desktop.recordersMuted().isEmpty)
            let call = try await desktop.call()
            #expect(await eventually { (try? await desktop.recordersMuted().count) == 1 })
            let meter = try await desktop.recordersMuted().keys.first
            try await call.perform(.silence)
            try await call.perform(.sound)
            #expect(try await desktop.recordersMuted().keys.first == meter)
            call.kill()
            #expect(await eventually { (try? await desktop.recordersMuted().isEmpty) == true })
        }
    }

    @Test("PRF-03: a fade goes in steps of a few decibels, and writes no more than it has steps")
    func fadesAreBounded() async throws {
        try await onDesktop(.pulseaudio, configuration: "timing = { attack-ms = 0  hold-ms = 0 }") { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let events = try LineProcess(["pactl", "subscribe"], in: desktop.server)
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            let writes = events.lines.count { $0 == "Event 'change' on sink-input #\(music.stream.index)" }
            // 100 ms down and 500 ms up, 20 ms a step.
            #expect(writes <= 5 + 25)
            #expect(writes >= 10)
        }
    }

    @Test("PRF-03: fifty streams fade together and arrive")
    func manyStreams() async throws {
        try await onDesktop(.pipewire, configuration: "timing = { attack-ms = 0  hold-ms = 0 }") { desktop in
            let ear = try await desktop.ear()
            let crowd = try await desktop.program("crowd")
            for number in 1...50 {
                var options = TestPlayer.Options(frequency: Desktop.Tone.music, role: "music")
                options.amplitude = 0.001
                _ = try await crowd.play("m\(number)", options)
            }
            let call = try await desktop.call()
            try await desktop.waitForStatus("fifty ducked") { $0.streams.count { $0.effect?.action == "duck" } == 50 }
            try await ear.waitFor(call.frequency, at: Desktop.baseline)
            call.kill()
            try await desktop.waitForRest()
        }
    }
}
