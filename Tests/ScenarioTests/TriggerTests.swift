import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct TriggerTests {
    @Test("TRG-03: a voice acts exactly while it is uncorked and unmuted", arguments: HeadlessServerKind.allCases)
    func corkedAndMutedVoices(kind: HeadlessServerKind) async throws {
        let timing = "timing = { attack-ms = 100  fade-down-ms = 0  fade-up-ms = 0  hold-ms = 0 }"
        try await onDesktop(kind, configuration: timing) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.play("phone", Desktop.Tone.voice) { $0.corked = true }
            try await desktop.waitForStatus("the call in the list") { $0.claims.contains { $0.kind == "call" } }
            try await ear.holds(music.frequency, at: Desktop.baseline, for: .seconds(1))
            for _ in 1...2 {
                try await call.perform(.uncork)
                try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
                try await call.perform(.cork)
                try await ear.waitFor(music.frequency, at: Desktop.baseline)
            }
            try await call.perform(.uncork)
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await call.perform(.mute)
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await call.perform(.unmute)
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
        }
    }

    @Test(
        "TRG-06: a voice that flaps within the hold time turns music down once", arguments: HeadlessServerKind.allCases)
    func flappingVoice(kind: HeadlessServerKind) async throws {
        let timing = "timing = { attack-ms = 100  fade-down-ms = 0  fade-up-ms = 100  hold-ms = 2000 }"
        try await onDesktop(kind, configuration: timing) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.play("phone", Desktop.Tone.voice) { $0.corked = true }
            let monitor = try await Monitor(on: desktop)
            for _ in 1...10 {
                try await call.perform(.uncork)
                _ = try await ear.record(.milliseconds(300))
                try await call.perform(.cork)
                _ = try await ear.record(.milliseconds(300))
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            #expect(monitor.actions(on: music.stream) == ["duck", nil])
        }
    }

    @Test(
        "A voice that falls silent lets music up, and turns it down again when it speaks",
        arguments: HeadlessServerKind.allCases)
    func silentVoice(kind: HeadlessServerKind) async throws {
        let timing =
            "timing = { attack-ms = 0  fade-down-ms = 0  fade-up-ms = 0  hold-ms = 0  silence-s = { voice = 1 } }"
        try await onDesktop(kind, configuration: timing) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await ear.holds(music.frequency, at: Desktop.baseline - 20, for: .seconds(2))
            for _ in 1...2 {
                try await call.perform(.silence)
                try await ear.waitFor(music.frequency, at: Desktop.baseline)
                try await ear.holds(music.frequency, at: Desktop.baseline, for: .seconds(1))
                try await call.perform(.sound)
                try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            }
        }
    }

    @Test("RAC-07: voices shorter than the attack turn nothing down", arguments: HeadlessServerKind.allCases)
    func blips(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: "timing = { attack-ms = 400 }") { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let monitor = try await Monitor(on: desktop)
            let start = ear.blockCount
            let blips = try await desktop.program("blips")
            for number in 1...30 {
                var options = TestPlayer.Options(frequency: Desktop.Tone.voice, role: "phone")
                options.silent = true
                _ = try await blips.play("blip\(number)", options)
                try await blips.perform(.close, "blip\(number)")
            }
            blips.kill()
            _ = try await ear.record(.seconds(1))
            let levels = ear.levels(of: music.frequency, blocks: start..<ear.blockCount)
            #expect(!levels.contains { abs($0 - (Desktop.baseline - 20)) < 1 }, "music was turned down")
            #expect(monitor.actions(on: music.stream).isEmpty)
        }
    }
}
