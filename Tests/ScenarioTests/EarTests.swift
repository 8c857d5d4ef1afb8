import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

/// The ear: presence alone turns nothing down.
@Suite struct EarTests {
    @Test("An idle voice client turns nothing down until it is heard", arguments: HeadlessServerKind.allCases)
    func idleVoiceClient(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let client = try await desktop.program("rooms")
            _ = try await client.record("microphone", .init(device: "mic"))
            var options = TestPlayer.Options(frequency: Desktop.Tone.voice)
            options.silent = true
            _ = try await client.play("voices", options)
            try await desktop.waitForStatus("a voice room that does not count") { status in
                status.claims.contains { $0.kind == "groupCall" && !$0.counts }
            }
            try await ear.holds(music.frequency, at: Desktop.baseline, for: .seconds(10))
            try await client.perform(.sound, "voices")
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 6)
        }
    }

    @Test("A speech service that stays open and silent turns nothing down", arguments: HeadlessServerKind.allCases)
    func silentSpeechService(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let speech = try await desktop.play("a11y", Desktop.Tone.voice) { $0.silent = true }
            // Its role alone makes it count at first; its silence ends that.
            for counts in [true, false] {
                try await desktop.waitForStatus("speech that counts: \(counts)") { status in
                    status.claims.contains { $0.kind == "speech" && $0.counts == counts }
                }
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await ear.holds(music.frequency, at: Desktop.baseline, for: .seconds(10))
            try await speech.perform(.sound)
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 14)
        }
    }

    @Test(
        "A11-01: music dips with each utterance of an open speech stream, and is never paused",
        arguments: HeadlessServerKind.allCases)
    func dipsFollowSpeech(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let speech = try await desktop.play("a11y", Desktop.Tone.voice) { $0.silent = true }
            for _ in 1...3 {
                try await ear.waitFor(music.frequency, at: Desktop.baseline)
                try await speech.perform(.sound)
                try await ear.waitFor(music.frequency, at: Desktop.baseline - 14)
                try await ear.holds(music.frequency, at: Desktop.baseline - 14, for: .milliseconds(500))
                try await speech.perform(.silence)
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            #expect(music.player.count("request-cork", music.stream.name) == 0)
        }
    }

    @Test(
        "Speech from espeak-ng turns music down while it speaks", arguments: HeadlessServerKind.allCases,
        [
            "espeak-ng --stdout 'the quick brown fox jumps over the lazy dog' | paplay --property=media.role=a11y",
            "espeak-ng 'the quick brown fox jumps over the lazy dog'",
        ])
    func espeak(kind: HeadlessServerKind, command: String) async throws {
        try await onDesktop(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let speaker = try LineProcess(["sh", "-c", command], in: desktop.server)
            try await desktop.waitForStatus("speech that counts, and music under it") { status in
                status.claims.contains { $0.kind == "speech" && $0.counts }
                    && status.streams.contains { $0.kind == "mediaPlayback" && $0.effect?.decibels == -14 }
            }
            #expect(await eventually(within: .seconds(20)) { speaker.hasEnded })
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
        }
    }
}
