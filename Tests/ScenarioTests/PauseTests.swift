import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

/// Pause by a rule for music and video: PulseAudio's programs are asked to cork, PipeWire's nodes are told to pause.
@Suite struct PauseTests {
    private static let configuration =
        Settings.quick + """
            rules = [
                { matches = [ { application.name = "kept" } ]  actions = { ignore = true } }
                { matches = [ { media.role = music } { media.role = video } ]  actions = { effects = { call = pause } } }
            ]

            """

    @Test(
        "A call pauses music and film where a rule says so, and both play on afterwards",
        arguments: HeadlessServerKind.allCases)
    func pause(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(600)
            let film = try await desktop.play("video", 1200)
            let game = try await desktop.play("game", 1800)
            try await desktop.expect([600: 0, 1200: 0, 1800: 0], on: ear)
            let before = try await (desktop.volume(of: music.stream), desktop.volume(of: film.stream))
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity, 1800: -14], on: ear)
            for playing in [music, film] {
                try await desktop.waitForEffect("pause", on: playing.stream)
                #expect(try await !playing.isAskedForSound(), "\(playing.frequency) Hz is not paused but silenced")
                guard kind == .pulseaudio else { continue }
                #expect(playing.player.count("request-cork", playing.stream.name) == 1)
                #expect(try await desktop.isCorked(playing.stream))
            }
            call.kill()
            try await desktop.expect([600: 0, 1200: 0, 1800: 0], on: ear)
            try await desktop.waitForRest()
            for playing in [music, film] {
                let input = try await desktop.sinkInput(playing.stream)
                #expect(!input.corked && !input.mute)
                if kind == .pulseaudio { #expect(playing.player.count("request-uncork", playing.stream.name) == 1) }
            }
            let after = try await (desktop.volume(of: music.stream), desktop.volume(of: film.stream))
            #expect(after == before)
            withExtendedLifetime(game) {}
        }
    }

    @Test("A program that ignores a cork request is silent all the same", arguments: HeadlessServerKind.allCases)
    func stubbornProgram(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.play("music", 600) { $0.stubborn = true }
            try await ear.waitFor(600, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity], on: ear)
            call.kill()
            try await ear.waitFor(600, at: Desktop.baseline)
            try await desktop.waitForRest()
            #expect(try await !desktop.isMuted(music.stream))
        }
    }

    @Test(
        "Where one stream of the role is to be left alone, the others are paused and it plays on",
        arguments: HeadlessServerKind.allCases)
    func exception(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let kept = try await desktop.play("music", 600, name: "kept")
            let music = try await desktop.music(1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: 0, 1200: -.infinity], on: ear)
            #expect(kept.player.count("request-cork", kept.stream.name) == 0)
            call.kill()
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            try await desktop.waitForRest()
            withExtendedLifetime(music) {}
        }
    }

    @Test(
        "A stream that starts while others are paused gets the duck's level, and they stay paused",
        arguments: HeadlessServerKind.allCases)
    func startsMeanwhile(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity], on: ear)
            let late = try await desktop.music(1200)
            try await desktop.expect([600: -.infinity, 1200: -20], on: ear)
            call.kill()
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            try await desktop.waitForRest()
            for playing in [music, late] {
                let input = try await desktop.sinkInput(playing.stream)
                #expect(!input.corked && !input.mute)
            }
        }
    }

    @Test(
        "A stream that its user starts, or starts again, during a call plays at the duck's level",
        arguments: HeadlessServerKind.allCases)
    func startsAgain(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let waiting = try await desktop.play("music", 600) { $0.corked = true }
            let playing = try await desktop.play("video", 1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            // PipeWire lets a stream that starts corked run for half a second.
            try await waitForCorked(waiting, desktop)
            let call = try await desktop.call()
            try await desktop.waitForEffect("pause", on: playing.stream)
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            try await waiting.perform(.uncork)
            try await desktop.expect([600: -20, 1200: -.infinity], on: ear)
            for again in [waiting, playing] {
                try await again.perform(.cork)
                // PipeWire says nothing of a stop that has been taken back before it was carried out.
                try await waitForCorked(again, desktop)
                try await again.perform(.uncork)
                try await ear.waitFor(again.frequency, at: Desktop.baseline - 20)
            }
            try await desktop.expect([600: -20, 1200: -20], on: ear)
            call.kill()
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            try await desktop.waitForRest()
        }
    }

    private func waitForCorked(_ playing: Playing, _ desktop: Desktop) async throws {
        try await desktop.waitForStatus("a corked stream") { status in
            status.streams.contains { $0.id == "\(playing.stream.index)" && $0.corked }
        }
    }
}
