import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// Where the winner's sound comes out, on real servers.
@Suite struct RoutingTests {
    /// A headset that is the default, and loudspeakers.
    private func options(_ kind: HeadlessServerKind) -> HeadlessOptions {
        let key = kind == .pulseaudio ? "device.form_factor" : "device.form-factor"
        return HeadlessOptions(
            server: kind,
            sinks: [.init("hs", properties: [key: "headphone"]), .init("spk", properties: [key: "speaker"])])
    }

    @Test(
        "RTE-06, RTE-07: a chosen device takes the call alone, and is given back without a trace",
        arguments: HeadlessServerKind.allCases)
    func select(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce, options: options(kind)) { desktop in
            let headset = try await desktop.ear(on: "hs")
            let speakers = try await desktop.ear(on: "spk")
            let game = try await desktop.play("game", Desktop.Tone.third)
            try await headset.waitFor(game.frequency, at: Desktop.baseline)
            let before = try await desktop.facts()
            let call = try await desktop.call()
            try await headset.waitFor(call.frequency, at: Desktop.baseline)
            #expect(try await desktop.sordino("select", "spk").status == 0)
            try await speakers.waitFor(call.frequency, at: Desktop.baseline)
            try await headset.waitForSilence(call.frequency)
            try await speakers.waitForSilence(game.frequency)
            let status = try await desktop.status()
            #expect(status.devices.first { $0.direction == "output" && $0.current }?.id == "spk")
            #expect(status.ledger.entries > 0)
            #expect(try await desktop.sordino("select", "automatic").status == 0)
            try await headset.waitFor(call.frequency, at: Desktop.baseline)
            try await speakers.waitForSilence(call.frequency)
            call.kill()
            try await desktop.waitForRest()
            #expect(try await desktop.facts() == before)
        }
    }

    @Test(
        "a claim that asks for the speaker has it while it is held", arguments: HeadlessServerKind.allCases)
    func hold(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce, options: options(kind)) { desktop in
            let headset = try await desktop.ear(on: "hs")
            let speakers = try await desktop.ear(on: "spk")
            let before = try await desktop.facts()
            let voice = try await TestPlayer(
                in: desktop.server, name: "caller",
                through: [product("sordino"), "hold", "groupCall", "--output", "speaker", "--"])
            let stream = try await voice.play("voice", .init(frequency: Desktop.Tone.voice))
            try await speakers.waitFor(Desktop.Tone.voice, at: Desktop.baseline)
            try await headset.waitForSilence(Desktop.Tone.voice)
            let status = try await desktop.status()
            let claim = try #require(status.claims.first { $0.kind == "groupCall" })
            #expect(claim.origin == "explicit" && claim.standing == "winner" && claim.output == "speaker")
            #expect(claim.streams == ["\(stream.index)"])
            voice.lines.process.signal(SIGTERM)
            try await desktop.waitForStatus("no claim") { $0.claims.isEmpty }
            try await desktop.waitForRest()
            #expect(try await desktop.facts() == before)
        }
    }

    @Test(
        "a device that is not there is refused with the names of those that are", arguments: HeadlessServerKind.allCases
    )
    func unknown(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, options: options(kind)) { desktop in
            let answer = try await desktop.sordinoSays("select", "nowhere")
            #expect(answer.status == 64)
            #expect(answer.lines.count == 1 && answer.lines[0].contains("hs, spk and automatic"))
            let list = try await desktop.sordino("devices", "--json")
            #expect(list.status == 0 && list.lines.joined().contains(#""type":"speaker""#))
        }
    }
}
