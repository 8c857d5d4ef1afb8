import AudioSession
import DaemonTestSupport
import HeadlessAudio
import SoundRig
import Testing

/// Where a program's sound comes out that routes its own claims, on real servers.
@Suite struct EmbeddedRoutingTests {
    private enum Tone {
        static let voice = 600.0
        static let game = 1200.0
        static let stranger = 1800.0
        static let next = 2400.0
    }

    /// What every tone has of its own, in dB of full scale.
    private static let level = -20.0

    @Test(arguments: HeadlessServerKind.allCases)
    func `Without a daemon a claim's stream is taken to the output of its wish and back, and nobody else's is touched`(
        kind: HeadlessServerKind
    ) async throws {
        var options = House.options(kind)
        // The headphones are the default.
        options.sinks.reverse()
        try await withServer(options) { server in
            let program = try await House(server, daemon: false).program("test")
            let headphones = try await ToneMeter(sink: "hs", in: server)
            let speakers = try await ToneMeter(sink: "spk", in: server)
            let claim = try await program.acquire(.groupCall, output: .speaker)
            #expect(await program.isEmbedded)
            let tag = claim.pulseAudioProperties

            let own = try await TestPlayer(in: server, name: "own")
            _ = try await own.play("voice", .init(frequency: Tone.voice, properties: tag))
            _ = try await own.play("game", .init(frequency: Tone.game, role: "game"))
            try await speakers.waitFor(Tone.voice, at: Self.level)
            // Nobody's: its process is not what it says.
            let stranger = try await TestPlayer(
                in: server, name: "stranger", properties: ["application.process.id": "1"])
            _ = try await stranger.play("voice", .init(frequency: Tone.stranger, properties: tag))

            func expectPlaces(voice place: ToneMeter) async throws {
                try await place.waitFor(Tone.voice, at: Self.level)
                try await (place === speakers ? headphones : speakers).waitForSilence(Tone.voice)
                for tone in [Tone.game, Tone.stranger] {
                    try await headphones.waitFor(tone, at: Self.level)
                    try await speakers.waitForSilence(tone)
                }
            }
            try await expectPlaces(voice: speakers)
            await program.update(claim, output: .system)
            try await expectPlaces(voice: headphones)
            await program.update(claim, output: .speaker)
            try await expectPlaces(voice: speakers)
            await program.release(claim)
            try await expectPlaces(voice: headphones)
            #expect(own.count("moved", "game") == 0 && stranger.count("moved", "voice") == 0)
            #expect(try await server.run(["pactl", "get-default-sink"]).text == "hs")
            // No preference for the speakers is left behind.
            own.kill()
            let next = try await TestPlayer(in: server, name: "own")
            _ = try await next.play("voice", .init(frequency: Tone.next, properties: tag))
            try await headphones.waitFor(Tone.next, at: Self.level)
            try await speakers.waitForSilence(Tone.next)
        }
    }
}
