import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// Pause and resume through media players, with the manners that they have in the field.
@Suite struct MediaPlayerTests {
    private static let configuration = Settings.quick + Settings.call("pause")

    @Test(
        "A call pauses music through its player, says so, and lets it go on: the stream itself is not touched",
        arguments: HeadlessServerKind.allCases)
    func pause(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", tone: 600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let before = try await desktop.volume(of: radio.playing.stream)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, call.frequency: 0], on: ear)
            try await desktop.waitForEffect("pause", on: radio.playing.stream)
            let input = try await desktop.sinkInput(radio.playing.stream)
            #expect(input.corked && !input.mute)
            #expect(radio.program.count("request-cork", "radio") == 0)
            let explained = try await desktop.sordino("explain", "radio").lines.joined()
            #expect(explained.contains("paused through its player (radio)"), "\(explained)")
            #expect(try await desktop.status().ledger.entries == 1)
            call.kill()
            try await desktop.expect([600: 0], on: ear)
            try await desktop.waitForRest()
            try await radio.waitForCalls(["Pause", "Play"])
            #expect(try await desktop.volume(of: radio.playing.stream) == before)
        }
    }

    @Test(
        "RST-15, RST-16: only what we paused and nobody touched plays again, and no player is asked that does not play",
        arguments: HeadlessServerKind.allCases)
    func resume(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let playing = try await MediaProgram(desktop, name: "playing").player("playing", "toggling", tone: 600)
            let paused = try await MediaProgram(desktop, name: "paused")
                .player("paused", "toggling", status: "Paused", tone: 1200)
            let touched = try await MediaProgram(desktop, name: "touched").player("touched", tone: 1800)
            try await desktop.expect([600: 0, 1800: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity, 1800: -.infinity], on: ear)
            try await touched.press("Playing")
            try await desktop.expect([1800: -14], on: ear)
            try await touched.press("Paused")
            try await desktop.expect([1800: -.infinity], on: ear)
            call.kill()
            try await desktop.expect([600: 0, 1200: -.infinity, 1800: -.infinity], on: ear)
            try await desktop.waitForRest()
            try await playing.waitForCalls(["Pause", "Play"])
            #expect(paused.calls.isEmpty && touched.calls == ["Pause"])
        }
    }

    @Test(
        "RST-17: a player that does not pause in time is silenced by the server, and is not told to play",
        arguments: HeadlessServerKind.allCases, ["silent", "stubborn", "slow"])
    func unwilling(kind: HeadlessServerKind, manners: String) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", manners, tone: 600)
            let other = try await MediaProgram(desktop, name: "other").player("other", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            if manners == "slow" { _ = try await radio.program.lines.line { $0 == "told\tradio\tPaused" } }
            call.kill()
            // What the slow one does at last is nobody's wish any more, and not ours to undo.
            try await desktop.expect([600: manners == "slow" ? -.infinity : 0, 1200: 0], on: ear)
            try await desktop.waitForRest()
            #expect(try await !desktop.isMuted(radio.playing.stream))
            try await other.waitForCalls(["Pause", "Play"])
            #expect(radio.calls == ["Pause"])
        }
    }

    @Test(
        "RAC-05: a player that its user pauses between our question and our Pause is not told to play",
        arguments: HeadlessServerKind.allCases)
    func overtaken(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", "overtaken", tone: 600)
            let other = try await MediaProgram(desktop, name: "other").player("other", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            call.kill()
            try await desktop.expect([600: -.infinity, 1200: 0], on: ear)
            try await desktop.waitForRest()
            try await other.waitForCalls(["Pause", "Play"])
            #expect(!radio.calls.contains("Play"))
        }
    }

    @Test(
        "A player that dies of Pause leaves nothing behind, and others are paused all the same",
        arguments: HeadlessServerKind.allCases)
    func crashing(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", "crashing", tone: 600)
            let other = try await MediaProgram(desktop, name: "other").player("other", "wordless", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            call.kill()
            try await desktop.expect([600: -.infinity, 1200: 0], on: ear)
            try await desktop.waitForRest()
            try await other.waitForCalls(["Pause", "Play"])
            #expect(radio.calls == ["Pause"])
        }
    }

    @Test(
        "A player that closes its stream when it pauses is held until every call is over",
        arguments: HeadlessServerKind.allCases)
    func closing(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", "closing", tone: 600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let first = try await desktop.call()
            _ = try await radio.program.lines.line { $0 == "done\tclose\tradio\t1" }
            let second = try await desktop.call(2400)
            try await desktop.expect([600: -.infinity, 2400: 0], on: ear)
            first.kill()
            try await desktop.waitForStatus("one call") { $0.claims.count { $0.kind == "call" } == 1 }
            #expect(radio.calls == ["Pause"])
            second.kill()
            try await desktop.expect([600: 0], on: ear)
            try await desktop.waitForRest()
            try await radio.waitForCalls(["Pause", "Play"])
        }
    }

    @Test(
        "Of two players in one process the one that plays is paused, and where one does not obey both are silent",
        arguments: HeadlessServerKind.allCases, ["honest", "stubborn"])
    func twoPlayers(kind: HeadlessServerKind, manners: String) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let program = try await MediaProgram(desktop)
            let first = try await program.player("first", tone: 600)
            let second = try await program.player(
                "second", manners, status: manners == "honest" ? "Paused" : "Playing", tone: 1200)
            let own = manners == "honest" ? -Double.infinity : 0
            try await desktop.expect([600: 0, 1200: own], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            call.kill()
            try await desktop.expect([600: 0, 1200: own], on: ear)
            try await desktop.waitForRest()
            try await first.waitForCalls(["Pause", "Play"])
            #expect(second.calls == (manners == "honest" ? [] : ["Pause"]))
        }
    }

    @Test(
        "PER-03: a player is asked for the streams of its own process alone, though all have one secure pid on PipeWire",
        arguments: HeadlessServerKind.allCases)
    func whose(kind: HeadlessServerKind) async throws {
        let kept =
            "rules = [ { matches = [ { application.name = kept } ]  actions = { effects = { call = none } } } ]\n"
        try await onDesktop(kind, configuration: Self.configuration + kept) { desktop in
            let ear = try await desktop.ear()
            let left = try await MediaProgram(desktop, name: "kept").player("kept", tone: 600)
            let radio = try await MediaProgram(desktop).player("radio", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: 0, 1200: -.infinity], on: ear)
            call.kill()
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            try await radio.waitForCalls(["Pause", "Play"])
            #expect(left.calls.isEmpty)
        }
    }

    @Test(
        "CFG-07: a resume that waits is cancelled by a new call, and ends with the user's own Play",
        arguments: HeadlessServerKind.allCases)
    func delayed(kind: HeadlessServerKind) async throws {
        let delay = "session = { resume.delay-ms = 3000 }\n"
        try await onDesktop(kind, configuration: Self.configuration + delay) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop, name: "radio").player("radio", tone: 600)
            let touched = try await MediaProgram(desktop, name: "touched").player("touched", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let first = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            first.kill()
            try await desktop.waitForEffect(nil, on: radio.playing.stream)
            try await touched.press("Playing")
            let second = try await desktop.call()
            try await desktop.waitForEffect("pause", on: radio.playing.stream)
            try await desktop.expect([600: -.infinity], on: ear, for: .milliseconds(3500))
            #expect(radio.calls == ["Pause"])
            second.kill()
            let start = ContinuousClock.now
            try await radio.waitForCalls(["Pause", "Play"])
            #expect(ContinuousClock.now - start > .seconds(2))
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            #expect(!touched.calls.contains("Play") || touched.calls == ["Pause", "Pause", "Play"])
        }
    }

    @Test(
        "CRA-04: what a killed daemon has paused plays again with the next one, and with sordino restore",
        arguments: HeadlessServerKind.allCases, ["run", "restore"])
    func killed(kind: HeadlessServerKind, command: String) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop, name: "radio").player("radio", tone: 600)
            let touched = try await MediaProgram(desktop, name: "touched").player("touched", tone: 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            desktop.daemon?.kill()
            try await touched.press("Playing")
            try await touched.press("Stopped")
            if command == "run" {
                // The call goes on, and so does the pause.
                let next = try await Daemon(in: desktop.server)
                try await desktop.waitForEffect("pause", on: radio.playing.stream)
                #expect(radio.calls == ["Pause"])
                call.kill()
                try await desktop.expect([600: 0, 1200: -.infinity], on: ear)
                try await desktop.waitForRest()
                #expect(try await next.end() == 0)
            } else {
                let restored = try await desktop.sordinoSays("restore")
                #expect(restored.status == 0, "\(restored)")
                try await desktop.expect([600: 0, 1200: -.infinity], on: ear)
            }
            try await radio.waitForCalls(["Pause", "Play"])
            #expect(touched.calls == ["Pause"])
            let ledger = desktop.server.runtimeDirectory + "/sordino/ledger"
            #expect(try String(contentsOfFile: ledger, encoding: .utf8) == "")
            withExtendedLifetime(call) {}
        }
    }

    @Test(
        "SIGTERM lets paused players go on before the daemon ends", arguments: HeadlessServerKind.allCases)
    func terminated(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let ear = try await desktop.ear()
            let radio = try await MediaProgram(desktop).player("radio", tone: 600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity], on: ear)
            #expect(try await desktop.daemon?.end() == 0)
            try await radio.waitForCalls(["Pause", "Play"])
            try await desktop.expect([600: 0], on: ear)
            withExtendedLifetime(call) {}
        }
    }

    @Test(
        "A daemon with nothing to do does not wake for a player that tells of its tracks",
        arguments: HeadlessServerKind.allCases)
    func idle(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration) { desktop in
            let radio = try await MediaProgram(desktop).player("radio", tone: 600)
            try await desktop.waitForStatus("the stream") { $0.streams.contains { $0.application == "radio" } }
            let before = try await desktop.contextSwitches()
            try radio.program.lines.send("bother\tradio\t50")
            try await radio.press("Paused")
            let after = try await desktop.contextSwitches()
            // The end of its stream is heard from the sound server, and nothing else.
            #expect(after - before < 15, "\(after - before) context switches")
        }
    }
}

extension Desktop {
    /// Context switches of the daemon's threads so far, once there have been none for half a second.
    fileprivate func contextSwitches() async throws -> Int {
        guard let daemon else { throw SoundRigError("no daemon") }
        let path = "/proc/\(daemon.process.process.id)/task"
        func count() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: path).reduce(0) { sum, thread in
                let status = try String(contentsOfFile: "\(path)/\(thread)/status", encoding: .utf8)
                let lines = status.split(separator: "\n").filter { $0.contains("ctxt_switches") }
                return sum + lines.reduce(0) { $0 + (Int($1.split(separator: "\t").last ?? "") ?? 0) }
            }
        }
        var last = try count()
        var since = ContinuousClock.now
        let isQuiet = try await eventually(within: .seconds(10), every: .milliseconds(20)) {
            let now = try count()
            if now != last { (last, since) = (now, ContinuousClock.now) }
            return ContinuousClock.now - since > .milliseconds(500)
        }
        guard isQuiet else { throw SoundRigError("the daemon is never quiet") }
        return last
    }
}
