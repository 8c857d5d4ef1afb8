import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// `sordino hold` on real servers.
@Suite struct HoldTests {
    @Test(
        "PER-03: what a command plays belongs to the claim that is held for it; others give way, its own music does not",
        arguments: HeadlessServerKind.allCases)
    func ownStreams(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await desktop.expect([music.frequency: 0], on: ear)
            let held = try await desktop.hold("call", "--name", "Phone")
            let voice = try await held.play("voice", .init(frequency: Desktop.Tone.voice))
            let tune = try await held.play("tune", .init(frequency: Desktop.Tone.second, role: "music"))
            let status = try await desktop.waitForStatus("both streams in the claim") { status in
                status.claims.contains { $0.origin == "explicit" && $0.streams.count == 2 }
            }
            let claim = try #require(status.claims.first { $0.origin == "explicit" })
            #expect(claim.kind == "call" && claim.standing == "winner" && claim.activated)
            #expect(claim.owner.name == "Phone")
            #expect(claim.owner.pid == held.lines.process.id)
            #expect(Set(claim.streams) == [String(voice.index), String(tune.index)])
            #expect(status.streams.first { $0.id == String(voice.index) }?.classifiedBy == "tag")
            try await desktop.expect(
                [music.frequency: -20, Desktop.Tone.voice: 0, Desktop.Tone.second: 0], on: ear)
            // The signal reaches the command, and its end is the claim's.
            held.lines.process.signal(SIGTERM)
            #expect(try await held.lines.exitCode() == 128 + SIGTERM)
            try await desktop.expect([music.frequency: 0], on: ear)
            try await desktop.waitForRest()
        }
    }

    @Test("A native PipeWire client's stream bears the tag too, beside what its user has in PIPEWIRE_PROPS")
    func nativeStream() async throws {
        try await onDesktop(.pipewire) { desktop in
            let own = "PIPEWIRE_PROPS={ own.words = \"a b\" # mine\n}"
            let held = try CommandPlayer(
                .pwCat, in: desktop.server, name: "native", frequency: Desktop.Tone.music,
                properties: ["media.role": "Music"],
                through: ["env", own, product("sordino"), "hold", "game", "--"])
            let status = try await desktop.waitForStatus("the stream in the claim") { status in
                status.claims.contains { $0.kind == "game" && $0.streams.count == 1 }
            }
            let stream = try #require(status.streams.first { $0.application == "native" })
            #expect(stream.kind == "game" && stream.classifiedBy == "tag")
            #expect(try await desktop.run(["pw-dump"]).lines.contains { $0.contains("\"own.words\": \"a b\"") })
            held.process.signal(SIGTERM)
            try await desktop.waitForStatus("the end of the claim") { $0.claims.isEmpty }
        }
    }

    @Test("A claim without a command turns others down while it lasts", arguments: HeadlessServerKind.allCases)
    func withoutCommand(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try LineProcess([product("sordino"), "hold", "call"], in: desktop.server)
            try await desktop.expect([music.frequency: -20], on: ear)
            call.process.signal(SIGINT)
            #expect(try await call.exitCode() == 0)
            try await desktop.expect([music.frequency: 0], on: ear)
            try await desktop.waitForRest()
        }
    }

    @Test("The command's own status is passed on, and what cannot be run is as in a shell")
    func statuses() async throws {
        try await onDesktop(.pulseaudio) { desktop in
            for (command, code) in [
                (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/no/such/program"], 127),
                (["/etc/passwd"], 126),
            ] as [([String], Int32)] {
                let result = try await desktop.run([product("sordino"), "hold", "playback", "--"] + command)
                #expect(result.status == code, "\(command)")
            }
            let kept = try await desktop.run(
                [
                    "env", "PULSE_PROP=a.b=\"c d\"", product("sordino"), "hold", "recording", "--", "sh", "-c",
                    "echo \"$PULSE_PROP\"",
                ])
            #expect(kept.lines.first?.hasPrefix("a.b=\"c d\" media.role=\"production\" sordino.claim=\":1.") == true)
            try await desktop.waitForStatus("no claim") { $0.claims.isEmpty }
        }
    }

    @Test(
        "PER-06: busy with a call, a hung daemon and no daemon are told apart, each in a line and a moment",
        arguments: HeadlessServerKind.allCases)
    func refusals(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let call = try LineProcess(
                [product("sordino"), "hold", "call", "--name", "Linphone", "--verbose"], in: desktop.server)
            try await desktop.waitForStatus("the call") { $0.session.winner != nil }
            let busy = try await desktop.sordinoSays("hold", "recording", "--", "true")
            #expect(busy.status == 75)
            #expect(busy.lines == ["sordino: Linphone is in a call and has the microphone (call, c1)"])
            let daemon = try #require(desktop.daemon)
            daemon.process.process.signal(SIGSTOP)
            let start = ContinuousClock.now
            let hung = try await desktop.sordinoSays("hold", "playback", "--", "true")
            #expect(hung.status == 69)
            #expect(hung.lines == ["sordino: the Sordino daemon does not answer"])
            #expect(ContinuousClock.now - start < .seconds(4))
            daemon.process.process.signal(SIGCONT)
            daemon.terminate()
            let none = try await desktop.sordinoSays("hold", "playback", "--", "true")
            #expect(none.status == 69)
            #expect(none.lines == ["sordino: no Sordino daemon is running; “sordino run” starts one"])
            call.process.signal(SIGTERM)
            #expect(try await call.exitCode() == 0)
        }
    }

    @Test("A claim is acquired again when the daemon is killed and comes back", arguments: HeadlessServerKind.allCases)
    func daemonRestart(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let held = try await desktop.hold("call")
            let voice = try await held.play("voice", .init(frequency: Desktop.Tone.voice))
            try await desktop.expect([music.frequency: -20], on: ear)
            desktop.daemon?.kill()
            let second = try await Daemon(in: desktop.server)
            // The tag of the streams is still right.
            try await desktop.waitForStatus("the claim with its stream") { status in
                status.claims.contains { $0.origin == "explicit" && $0.streams == [String(voice.index)] }
            }
            try await desktop.expect([music.frequency: -20, Desktop.Tone.voice: 0], on: ear)
            held.lines.process.signal(SIGTERM)
            _ = try await held.lines.exitCode()
            try await desktop.expect([music.frequency: 0], on: ear)
            second.kill()
        }
    }

    @Test("What the claim is told is said in lines: held, subordinated, given back")
    func verbose() async throws {
        try await onDesktop(.pipewire) { desktop in
            let player = try LineProcess(
                ["sh", "-c", "exec \"$0\" \"$@\" 2>&1", product("sordino"), "hold", "playback", "--verbose"],
                in: desktop.server)
            _ = try await player.line { $0 == "sordino: playback is held as c1" }
            _ = try await desktop.sordino("hold", "call", "--for", "0.2")
            _ = try await player.line { $0 == "sordino: c1 is subordinated: another claim has won" }
            player.process.signal(SIGTERM)
            _ = try await player.line { $0 == "sordino: the claim is given back" }
        }
    }

    @Test(
        "PER-05: a claim in one session turns nothing down in another of the same user",
        arguments: HeadlessServerKind.allCases)
    func twoSessions(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let other = try await Desktop(kind, configuration: Settings.quick)
            defer { other.stop() }
            let ear = try await desktop.ear()
            let otherEar = try await other.ear()
            let music = try await desktop.music()
            let otherMusic = try await other.music()
            try await other.expect([otherMusic.frequency: 0], on: otherEar)
            let call = try LineProcess([product("sordino"), "hold", "call"], in: desktop.server)
            try await desktop.expect([music.frequency: -20], on: ear)
            try await other.expect([otherMusic.frequency: 0], on: otherEar, for: .seconds(1))
            #expect(try await other.status().claims.allSatisfy { $0.origin == "observed" })
            call.process.signal(SIGTERM)
            try await desktop.expect([music.frequency: 0], on: ear)
        }
    }
}

/// The screen reader beside a call that is held explicitly.
@Suite struct AssistiveTests {
    @Test(
        "A11-02: a reader's speech and its cues without a role are at their own level during a call",
        arguments: HeadlessServerKind.allCases)
    func cues(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let reader = try await desktop.program("reader")
            _ = try await reader.play("speech", .init(frequency: Desktop.Tone.second, role: "a11y"))
            _ = try await reader.play("cue", .init(frequency: Desktop.Tone.third))
            let music = try await desktop.music()
            let call = try LineProcess([product("sordino"), "hold", "call"], in: desktop.server)
            try await desktop.expect(
                [music.frequency: -20, Desktop.Tone.second: 0, Desktop.Tone.third: 0], on: ear)
            call.process.signal(SIGTERM)
        }
    }

    @Test(
        "A11-03: a call turns down what has no role, and neither the screen reader nor event sounds",
        arguments: HeadlessServerKind.allCases)
    func catchAll(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let plain = try await desktop.play(nil, Desktop.Tone.music)
            let speech = try await desktop.play("a11y", Desktop.Tone.second)
            let event = try await desktop.play("event", Desktop.Tone.third)
            let call = try LineProcess([product("sordino"), "hold", "call"], in: desktop.server)
            try await desktop.expect([plain.frequency: -20, speech.frequency: 0, event.frequency: 0], on: ear)
            call.process.signal(SIGTERM)
        }
    }
}

extension Desktop {
    /// A program that is told what to play, run by `sordino hold`.
    func hold(_ arguments: String...) async throws -> TestPlayer {
        try await TestPlayer(
            in: server, name: "held", through: [product("sordino"), "hold"] + arguments + ["--"])
    }
}

extension LineProcess {
    /// Once it has ended.
    func exitCode() async throws -> Int32 {
        guard let status = try await onThread({ [process] in process.wait(timeout: .seconds(10)) }) else {
            throw SoundRigError("\(process.name) does not end")
        }
        return status.code
    }
}
