import HeadlessAudio
import SoundRig
import Testing

@Suite struct ToneMeterTests {
    @Test(arguments: HeadlessServerKind.allCases)
    func `each tone's level is right within a tenth of a decibel`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
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
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `a stream's volume, mute, cork and end are heard`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
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
            try await meter.holds(1800, at: -40, within: 0.1)
            await #expect(throws: SoundRigError.self) { try await meter.holds(1800, at: -39) }
            player.kill()
            try await meter.waitForSilence(1800)
        }
    }
}

@Suite struct PlayerTests {
    @Test(arguments: [CommandPlayer.Tool.pacat, .pwCat])
    func `the servers' own tools play a tone with a role to a sink`(tool: CommandPlayer.Tool) async throws {
        try await withServer(.pipewire) { server in
            let meter = try await ToneMeter(sink: "hs", in: server)
            let player = try CommandPlayer(
                tool, in: server, name: "tool", frequency: 2400, sink: "hs", properties: ["media.role": "Movie"])
            try await meter.waitFor(2400, at: -20, within: 0.1)
            player.kill()
            try await meter.waitForSilence(2400)
        }
    }

    @Test func `a player does what a cork request asks, unless it is stubborn`() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.modules = ["module-role-cork trigger_roles=phone cork_roles=music global=1"]
        try await withServer(options) { server in
            let player = try await TestPlayer(in: server)
            _ = try await player.play("obedient", .init(role: "music"))
            var stubborn = TestPlayer.Options(frequency: 1200, role: "music")
            stubborn.stubborn = true
            _ = try await player.play("stubborn", stubborn)
            _ = try await player.play("call", .init(frequency: 1800, role: "phone"))
            try await player.waitFor("request-cork", "obedient")
            try await player.waitFor("request-cork", "stubborn")
            try await player.perform(.close, "call")
            try await player.waitFor("request-uncork", "obedient")
            #expect(player.count("request-cork", "obedient") == 1)
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `a capture hears a monitor, and a stream that cannot be opened says so`(
        kind: HeadlessServerKind
    ) async throws {
        try await withServer(kind) { server in
            let player = try await TestPlayer(in: server)
            let recording = try await player.record("ear", .init(device: "spk.monitor"))
            #expect(recording.device == "spk.monitor")
            _ = try await player.play("tone", .init(device: "spk"))
            #expect(try await eventually { abs(try await player.peak("ear") - 0.1) < 0.001 })
            var passthrough = TestPlayer.Options(device: "spk")
            passthrough.passthrough = true
            await #expect(throws: SoundRigError.self) { _ = try await player.play("ac3", passthrough) }
        }
    }

    @Test func `a compressed stream plays on a sink that takes it`() async throws {
        let sink = HeadlessOptions.Device("spk", formats: "pcm; ac3-iec61937")
        try await withServer(HeadlessOptions(server: .pulseaudio, sinks: [sink])) { server in
            let player = try await TestPlayer(in: server)
            var passthrough = TestPlayer.Options()
            passthrough.passthrough = true
            #expect(try await player.play("ac3", passthrough).device == "spk")
        }
    }
}
