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
        "RTE-06: what a wish has taken elsewhere leaves others of its role, and the next, where their user has them",
        arguments: HeadlessServerKind.allCases, ["hs", "fx"])
    func preference(kind: HeadlessServerKind, own: String) async throws {
        var options = options(kind)
        options.sinks.append(.init("fx"))
        try await onDesktop(kind, configuration: atOnce, options: options) { desktop in
            let place = try await desktop.ear(on: own)
            let speakers = try await desktop.ear(on: "spk")
            if own == "fx" {
                let earlier = try await desktop.call()
                try await desktop.move(earlier.stream, to: own)
                earlier.kill()
                try await place.waitForSilence(Desktop.Tone.voice)
            }
            let caller = try await desktop.hold("groupCall")
            _ = try await caller.play("voice", .init(frequency: Desktop.Tone.voice))
            // Settled first: WirePlumber's restoring and a route that begins at once can cross.
            try await desktop.expect([Desktop.Tone.voice: 0], on: place)
            #expect(try await desktop.sordino("select", "spk").status == 0)
            try await desktop.expect([Desktop.Tone.voice: 0], on: speakers)
            let other = try await desktop.call(Desktop.Tone.second)
            try await desktop.expect([other.frequency: 0, Desktop.Tone.voice: -.infinity], on: place)
            try await desktop.expect([other.frequency: -.infinity, Desktop.Tone.voice: 0], on: speakers)
            other.kill()
            // It ends where it is, and only then its wish.
            try await caller.perform(.close, "voice")
            try await speakers.waitForSilence(Desktop.Tone.voice)
            #expect(try await desktop.sordino("select", "automatic").status == 0)
            caller.lines.process.signal(SIGTERM)
            try await desktop.waitForStatus("no claim") { $0.claims.isEmpty }
            try await desktop.waitForRest()
            let next = try await desktop.call(Desktop.Tone.third)
            try await desktop.expect([next.frequency: 0], on: place)
            try await speakers.waitForSilence(next.frequency)
        }
    }

    @Test(
        "VIR-05: a claim's stream that a script moves whenever it is elsewhere is left to it, in a few moves and with one message",
        arguments: HeadlessServerKind.allCases)
    func tugOfWar(kind: HeadlessServerKind) async throws {
        var options = options(kind)
        options.sinks.append(.init("fx"))
        try await onDesktop(kind, configuration: atOnce, options: options) { desktop in
            let effects = try await desktop.ear(on: "fx")
            let bystander = try await desktop.play("game", Desktop.Tone.third)
            let mover = try desktop.moveAll(but: bystander, to: "fx")
            let caller = try await TestPlayer(
                in: desktop.server, name: "caller",
                through: [product("sordino"), "hold", "groupCall", "--output", "speaker", "--"])
            let voice = try await caller.play("voice", .init(frequency: Desktop.Tone.voice))
            try await desktop.daemon?.says("it is left on fx")
            try await effects.waitFor(Desktop.Tone.voice, at: Desktop.baseline)
            let moves = caller.count("moved", "voice")
            // There and away at once, and as often as a session manager is asked that lets wishes pass.
            #expect(moves <= (kind == .pulseaudio ? 3 : 7), "\(moves) moves")
            try await desktop.expect([Desktop.Tone.voice: 0], on: effects, for: .seconds(2))
            #expect(caller.count("moved", "voice") == moves)
            #expect(desktop.daemon?.count("it is left on") == 1)
            let explained = try await desktop.sordino("explain", "\(voice.index)").lines.joined()
            #expect(explained.contains("spk") && explained.contains("it is left on fx"), "\(explained)")
            #expect(explained.contains("groupCall"), "\(explained)")
            // What is left to somebody else is not ours to undo.
            try await desktop.waitForRest()
            mover.process.kill()
            caller.lines.process.signal(SIGTERM)
            try await desktop.waitForStatus("the end of the claim") { !$0.claims.contains { $0.kind == "groupCall" } }
            try await desktop.waitForRest()
            // The server has stored the script's word, and none of ours.
            let next = try await desktop.call(Desktop.Tone.second)
            try await desktop.expect([next.frequency: 0], on: effects)
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

extension Desktop {
    /// A script that moves every stream to a sink whenever it is elsewhere, but for one.
    fileprivate func moveAll(but other: Playing, to sink: String) throws -> LineProcess {
        let script = """
            target=$(pactl list short sinks | awk -v name="$1" '$2 == name { print $1 }')
            while sleep 0.02; do
                pactl list short sink-inputs | awk -v at="$target" -v but="$2" '$1 != but && $2 != at { print $1 }' |
                    while read -r stream; do pactl move-sink-input "$stream" "$1"; done
            done
            """
        return try LineProcess(["sh", "-c", script, "mover", sink, "\(other.stream.index)"], in: server)
    }
}
