import HeadlessAudio
import SoundRig
import Testing

@Suite struct ToneMeterTests {
    @Test(arguments: HeadlessServerKind.allCases)
    func `each tone's level is right within a tenth of a decibel`(kind: HeadlessServerKind) async throws {
        let server = try await onThread { try HeadlessServer.start(HeadlessOptions(server: kind)) }
        defer { server.stop() }
        let meter = try await ToneMeter(sink: "spk", in: server)
        let player = try await TestPlayer(in: server)
        let amplitudes = [0.1, 0.01, 0.3, 0.001]
        for (index, amplitude) in amplitudes.enumerated() {
            var options = TestPlayer.Options(frequency: 600 * Double(index * 7 + 1), device: "spk")
            options.amplitude = amplitude
            _ = try await player.play("tone\(index)", options)
        }
        for (index, amplitude) in amplitudes.enumerated() {
            try await meter.waitFor(600 * Double(index * 7 + 1), at: decibels(amplitude), within: 0.1)
        }
        try await meter.waitForSilence(1200)
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `a stream's volume, mute, cork and end are heard`(kind: HeadlessServerKind) async throws {
        let server = try await onThread { try HeadlessServer.start(HeadlessOptions(server: kind)) }
        defer { server.stop() }
        let meter = try await ToneMeter(sink: "hs", in: server)
        let player = try await TestPlayer(in: server, name: "a player")
        let stream = try await player.play("tone", .init(frequency: 1800, role: "music", device: "hs"))
        #expect(stream.device == "hs")
        try await meter.waitFor(1800, at: -20, within: 0.1)
        try await player.perform(.volume, "tone", "0.1")
        try await meter.waitFor(1800, at: -40, within: 0.1)
        try await player.perform(.mute, "tone")
        try await meter.waitForSilence(1800)
        try await player.perform(.unmute, "tone")
        try await meter.waitFor(1800, at: -40, within: 0.1)
        try await player.perform(.cork, "tone")
        try await meter.waitForSilence(1800)
        try await player.perform(.uncork, "tone")
        try await meter.waitFor(1800, at: -40, within: 0.1)
        #expect(try await meter.stays(1800, at: -40, within: 0.1, for: .milliseconds(200)))
        player.kill()
        try await meter.waitForSilence(1800)
    }
}
