import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// What its user asks of the daemon, and its end.
@Suite struct DaemonTests {
    @Test(
        "off gives music back and keeps the call's claim, on turns it down again, and off for a time ends by itself",
        arguments: HeadlessServerKind.allCases)
    func offAndOn(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            #expect(try await desktop.sordino("off").status == 0)
            try await desktop.expect([music.frequency: 0], on: ear)
            let off = try await desktop.status()
            #expect(!off.enabled && off.claims.contains { $0.kind == "call" && $0.counts })
            #expect(off.streams.allSatisfy { $0.effect == nil })
            let explained = try await desktop.sordino("explain", "\(music.stream.index)").lines.joined()
            #expect(explained.contains("Sordino is off"), "\(explained)")
            #expect(try await desktop.sordino("on").status == 0)
            try await desktop.expect([music.frequency: -20], on: ear)
            let start = ear.blockCount
            #expect(try await desktop.sordino("off", "--for", "1").status == 0)
            let loud = ear.levels(of: music.frequency, blocks: start..<ear.blockCount).count {
                abs($0 - Desktop.baseline) < 0.5
            }
            #expect(loud > 50, "off for 1 s left \(loud) blocks of 10 ms at the stream's own level")
            try await desktop.expect([music.frequency: -20], on: ear)
            withExtendedLifetime(call) {}
        }
    }

    @Test(
        "SIGTERM restores everything before the daemon ends: ducked, muted and paused streams",
        arguments: HeadlessServerKind.allCases)
    func terminated(kind: HeadlessServerKind) async throws {
        let effects = """
            rules = [
                { matches = [ { media.role = video } ]  actions = { effects = { call = pause } } }
                { matches = [ { media.role = game } ]  actions = { effects = { call = mute } } }
            ]

            """
        try await onDesktop(kind, configuration: Settings.quick + effects) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(600)
            let film = try await desktop.play("video", 1200)
            let game = try await desktop.play("game", 1800)
            try await desktop.expect([600: 0, 1200: 0, 1800: 0], on: ear)
            var before: [[Int]] = []
            for playing in [music, film, game] { before.append(try await desktop.volume(of: playing.stream)) }
            let call = try await desktop.call()
            try await desktop.expect([600: -20, 1200: -.infinity, 1800: -.infinity], on: ear)
            #expect(try await desktop.daemon?.end() == 0)
            // Read at once: it has been given back before the end, not after it.
            for (playing, volume) in zip([music, film, game], before) {
                #expect(try await desktop.volume(of: playing.stream) == volume)
                #expect(try await !desktop.isMuted(playing.stream))
            }
            try await desktop.expect([600: 0, 1200: 0, 1800: 0], on: ear)
            let ledger = desktop.server.runtimeDirectory + "/sordino/ledger"
            #expect(try String(contentsOfFile: ledger, encoding: .utf8) == "")
            withExtendedLifetime(call) {}
        }
    }

    @Test(
        "PER-05: a second daemon is refused with one line, and the first one works on",
        arguments: HeadlessServerKind.allCases)
    func secondDaemon(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            let second = try await desktop.sordinoSays("run")
            #expect(second.status == 69)
            #expect(second.lines.count == 1 && second.lines[0].contains("already running"), "\(second.lines)")
            try await desktop.expect([music.frequency: -20], on: ear)
            call.kill()
            try await desktop.expect([music.frequency: 0], on: ear)
        }
    }

    @Test(
        "ignore leaves a program alone at once and from then on, and explain names the rule",
        arguments: HeadlessServerKind.allCases)
    func ignore(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.play("music", 600, name: "radio")
            let other = try await desktop.play("music", 1200, name: "other")
            let call = try await desktop.call()
            try await desktop.expect([600: -20, 1200: -20], on: ear)
            let ignored = try await desktop.sordinoSays("ignore", "radio")
            #expect(ignored.status == 0, "\(ignored.lines)")
            try await desktop.expect([600: 0, 1200: -20], on: ear)
            let explained = try await desktop.sordino("explain", "\(music.stream.index)").lines.joined(separator: " ")
            #expect(explained.contains("ignore") && explained.contains("left alone"), "\(explained)")
            // A new daemon knows it too.
            #expect(try await desktop.daemon?.end() == 0)
            let next = try await Daemon(in: desktop.server)
            try await desktop.expect([600: 0, 1200: -20], on: ear)
            withExtendedLifetime((other, call, next)) {}
        }
    }

    @Test(
        "explain says of a ducked stream what it is and by what, how far it is turned down, because of whom, since when, and how to leave it alone",
        arguments: HeadlessServerKind.allCases)
    func explain(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let music = try await desktop.play("music", name: "radio")
            let call = try await desktop.play("phone", Desktop.Tone.voice, name: "telephone")
            try await desktop.waitForEffect("duck", on: music.stream)
            let answer = try await desktop.sordino("explain", "\(music.stream.index)")
            #expect(answer.status == 0)
            let text = answer.lines.joined(separator: " ")
            for part in [
                "radio", "mediaPlayback", "by its role", "20 dB", "telephone", "call", "ago", "sordino ignore radio",
            ] {
                #expect(text.contains(part), "“\(part)” is not in “\(text)”")
            }
            let voice = try await desktop.sordino("explain", "telephone").lines.joined(separator: " ")
            #expect(voice.contains("call") && voice.contains("Nothing is done to it"), "\(voice)")
            _ = try await desktop.pactl("set-sink-input-volume", "\(music.stream.index)", "60%")
            if kind == .pulseaudio {
                _ = try await desktop.waitForStatus("the override") { $0.streams.contains { $0.overridden } }
                let left = try await desktop.sordino("explain", "radio").lines.joined(separator: " ")
                #expect(left.contains("telephone") && left.contains("left as it is"), "\(left)")
            }
            withExtendedLifetime(call) {}
        }
    }
}
