import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct ClassificationTests {
    @Test(
        "CLS-01: a chat program without roles is one voice, none of whose streams is turned down, whatever becomes of its properties",
        arguments: HeadlessServerKind.allCases)
    func chatProgram(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let chat = try await desktop.program("chrome")
            for (name, frequency) in [("a", 1200.0), ("b", 1800.0), ("c", 2400.0)] {
                _ = try await chat.play(name, .init(frequency: frequency))
            }
            _ = try await chat.record("microphone", .init(device: "mic"))
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 6)
            try await desktop.waitForStatus("one voice of four streams") { status in
                let claims = status.claims.filter { $0.owner.name == "chrome" }
                return claims.map(\.kind) == ["groupCall"] && claims[0].streams.count == 4
            }
            let start = ear.blockCount
            for _ in 1...10 {
                try await chat.perform(.tag, "a", "media.name=another")
                try await chat.perform(.tag, "a", "media.name=one")
            }
            _ = try await ear.record(.milliseconds(300))
            for frequency in [1200.0, 1800, 2400] { try await ear.waitFor(frequency, at: Desktop.baseline) }
            let levels = ear.levels(of: music.frequency, blocks: start..<ear.blockCount)
            #expect(levels.allSatisfy { $0 < Desktop.baseline - 4 }, "music came up in between")
        }
    }

    @Test(
        "CLS-02: of two programs with one name a rule takes the one that fits all of it",
        arguments: HeadlessServerKind.allCases)
    func oneNameTwoPrograms(kind: HeadlessServerKind) async throws {
        let rule = """
            rules = [ { matches = [ { application.name = "Chromium"  media.artist = "~^podcast" } ]
                        actions = { effects = { call = mute } } } ]
            """
        try await onDesktop(kind, configuration: atOnce + "\n" + rule) { desktop in
            let ear = try await desktop.ear()
            let tagged = try await desktop.play(nil, 600, name: "Chromium", properties: ["media.artist": "podcast"])
            let other = try await desktop.play(nil, 1200, name: "Chromium", properties: ["media.artist": "page"])
            try await ear.waitFor(tagged.frequency, at: Desktop.baseline)
            try await ear.waitFor(other.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await ear.waitForSilence(tagged.frequency)
            try await ear.waitFor(other.frequency, at: Desktop.baseline - 20)
            call.kill()
            try await ear.waitFor(tagged.frequency, at: Desktop.baseline)
            try await ear.waitFor(other.frequency, at: Desktop.baseline)
        }
    }

    @Test(
        "CLS-03: an open and silent room tagged phone leaves music alone, and the next track too",
        arguments: HeadlessServerKind.allCases)
    func silentRoom(kind: HeadlessServerKind) async throws {
        let timing = "timing = { attack-ms = 0  fade-up-ms = 0  hold-ms = 0  silence-s = { voice = 3 } }"
        try await onDesktop(kind, configuration: timing) { desktop in
            let ear = try await desktop.ear()
            _ = try await desktop.play("phone", Desktop.Tone.voice) { $0.silent = true }
            for counts in [true, false] {
                try await desktop.waitForStatus("a room that counts: \(counts)") { status in
                    status.claims.contains { $0.kind == "call" && $0.counts == counts }
                }
            }
            for track in [Desktop.Tone.music, Desktop.Tone.second] {
                let music = try await desktop.music(track)
                try await ear.waitFor(track, at: Desktop.baseline)
                try await ear.holds(track, at: Desktop.baseline, for: .seconds(2))
                music.kill()
            }
        }
    }

    @Test("CLS-06: a program's cue sound is not turned down by its own voice", arguments: HeadlessServerKind.allCases)
    func ownCueSound(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let assistant = try await desktop.program("assistant")
            _ = try await assistant.play("speech", .init(frequency: 3000, role: "a11y"))
            _ = try await assistant.play("beep", .init(frequency: 1800))
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 14)
            try await ear.waitFor(1800, at: Desktop.baseline)
            try await ear.holds(1800, at: Desktop.baseline, for: .milliseconds(500))
        }
    }

    @Test("CLS-07: event sounds, however many, change nothing", arguments: HeadlessServerKind.allCases)
    func eventSounds(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let monitor = try await Monitor(on: desktop)
            let bell = try await desktop.program("bell")
            for number in 1...20 {
                _ = try await bell.play("bell\(number)", .init(frequency: 1800, role: "event"))
                _ = try await ear.record(.milliseconds(50))
                try await bell.perform(.close, "bell\(number)")
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            #expect(try await !desktop.isMuted(music.stream))
            #expect(monitor.actions(on: music.stream).isEmpty)
            #expect(music.player.count("request-cork", music.stream.name) == 0)
        }
    }

    @Test("CLS-08: both vocabularies of roles mean the same")
    func vocabularies() async throws {
        try await onDesktop(.pipewire, configuration: atOnce) { desktop in
            let native = try CommandPlayer(
                .pwCat, in: desktop.server, name: "native", frequency: 600, properties: ["media.role": "Music"])
            let pulse = try await desktop.play("music", 1200)
            try await desktop.waitForStatus("two streams of music") { status in
                status.streams.count { $0.kind == "mediaPlayback" && $0.classifiedBy == "role" } == 2
            }
            let ear = try await desktop.ear()
            for role in ["Communication", "phone"] {
                try await ear.waitFor(600, at: Desktop.baseline)
                let call = try await desktop.play(role == "phone" ? role : nil, 3000) { options in
                    options.properties["media.role"] = role
                }
                try await ear.waitFor(600, at: Desktop.baseline - 20)
                try await ear.waitFor(pulse.frequency, at: Desktop.baseline - 20)
                call.kill()
            }
            let call = try CommandPlayer(
                .pwCat, in: desktop.server, name: "phone", frequency: 3000, properties: ["media.role": "Communication"])
            try await ear.waitFor(600, at: Desktop.baseline - 20)
            call.kill()
            try await ear.waitFor(600, at: Desktop.baseline)
            native.kill()
        }
    }

    @Test("PER-03: two clients of pipewire-pulse are two programs")
    func pulseClientsAreTwo() async throws {
        try await onDesktop(.pipewire, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            let claims = try await desktop.status().claims
            #expect(Set(claims.compactMap(\.owner.pid)).count == 2)
            call.kill()
        }
    }
}
