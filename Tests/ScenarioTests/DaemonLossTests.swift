import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// CRA-04: the daemon is killed while music is ducked.
@Suite struct DaemonLossTests {
    /// Music at 70 %, a call, and the daemon killed in the middle; returns what the stream had of its own.
    private func crash(
        _ desktop: Desktop, _ ear: ToneMeter, volume: Double? = share
    ) async throws -> (music: Playing, call: Playing, before: [Int]) {
        let music = try await desktop.music()
        if let volume { try await music.perform(.volume, "\(volume)") }
        let level = Desktop.baseline + 20 * log10(volume ?? 1)
        try await ear.waitFor(music.frequency, at: level)
        let before = try await desktop.volume(of: music.stream)
        let call = try await desktop.call()
        try await ear.waitFor(music.frequency, at: level - 20)
        desktop.daemon?.kill()
        return (music, call, before)
    }

    /// 70 % of the mixers' scale.
    private static let share = 0.343
    private static let own = 20 * log10(share)

    private func expectEmptyLedger(_ desktop: Desktop) {
        let path = desktop.server.runtimeDirectory + "/sordino/ledger"
        #expect((try? String(contentsOfFile: path, encoding: .utf8)) == "")
    }

    @Test(
        "CRA-04 a: the next daemon goes on where the killed one was, and undoes it when the call is over",
        arguments: HeadlessServerKind.allCases, [true, false])
    func nextDaemon(kind: HeadlessServerKind, callGoesOn: Bool) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let (music, call, before) = try await crash(desktop, ear)
            if !callGoesOn {
                call.kill()
                try await ear.waitForSilence(call.frequency)
                // Nobody is there to undo it.
                try await desktop.expect([music.frequency: Self.own - 20], on: ear)
            }
            let next = try await Daemon(in: desktop.server)
            if callGoesOn {
                try await desktop.waitForEffect("duck", on: music.stream)
                try await desktop.expect([music.frequency: Self.own - 20], on: ear)
                call.kill()
            }
            try await desktop.expect([music.frequency: Self.own], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
            #expect(try await next.end() == 0)
            expectEmptyLedger(desktop)
        }
    }

    @Test("CRA-04 a: a second crash stacks nothing on top of the first", arguments: HeadlessServerKind.allCases)
    func crashesInARow(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let (music, call, before) = try await crash(desktop, ear)
            for _ in 0..<3 {
                let next = try await Daemon(in: desktop.server)
                try await desktop.waitForEffect("duck", on: music.stream)
                try await desktop.expect([music.frequency: Self.own - 20], on: ear)
                next.kill()
            }
            call.kill()
            let last = try await Daemon(in: desktop.server)
            try await desktop.expect([music.frequency: Self.own], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
            #expect(try await last.end() == 0)
            expectEmptyLedger(desktop)
        }
    }

    @Test(
        "CRA-04 b: music that is started again after the crash has its own volume, before and after the next daemon's start",
        arguments: HeadlessServerKind.allCases)
    func nextDaemonAndMusic(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            // The first one makes 70 % the volume of its role.
            let first = try await desktop.music()
            _ = try await desktop.pactl("set-sink-input-volume", "\(first.stream.index)", "70%")
            try await ear.waitFor(first.frequency, at: Desktop.baseline + Self.own)
            first.kill()
            try await ear.waitForSilence(first.frequency)
            let (music, call, before) = try await crash(desktop, ear)
            music.kill()
            call.kill()
            try await ear.waitForSilence(music.frequency)
            for startsDaemon in [false, true] {
                let daemon = startsDaemon ? try await Daemon(in: desktop.server) : nil
                let next = try await desktop.music(1200)
                try await ear.waitFor(1200, at: Desktop.baseline + Self.own)
                #expect(try await desktop.volume(of: next.stream) == before)
                next.kill()
                try await ear.waitForSilence(1200)
                guard let daemon else { continue }
                try await desktop.waitForRest()
                #expect(try await daemon.end() == 0)
            }
            expectEmptyLedger(desktop)
        }
    }

    @Test(
        "CRA-04 c: after a restart of everything, server, daemon and music, the volumes are the user's",
        arguments: HeadlessServerKind.allCases, [true, false])
    func everything(kind: HeadlessServerKind, isKilled: Bool) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            var ear = try await desktop.ear()
            let (music, call, _) = try await crash(desktop, ear, volume: nil)
            for playing in [music, call] { playing.kill() }
            if isKilled { desktop.server.killServer() }
            try await onThread { try desktop.server.restartServer() }
            let next = try await Daemon(in: desktop.server)
            ear = try await desktop.ear()
            let again = try await desktop.music(1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            #expect(try await desktop.volume(of: again.stream) == [65536, 65536])
            try await desktop.waitForRest()
            #expect(try await next.end() == 0)
            expectEmptyLedger(desktop)
        }
    }

    @Test(
        "CRA-04 d: a volume that its user sets after the crash is kept",
        arguments: HeadlessServerKind.allCases)
    func userInBetween(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let (music, call, _) = try await crash(desktop, ear)
            _ = try await desktop.pactl("set-sink-input-volume", "\(music.stream.index)", "90%")
            let chosen = try await desktop.volume(of: music.stream)
            call.kill()
            let next = try await Daemon(in: desktop.server)
            try await desktop.expect([music.frequency: 60 * log10(0.9)], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == chosen)
            #expect(try await next.end() == 0)
            expectEmptyLedger(desktop)
        }
    }

    @Test(
        "CRA-04: sordino restore undoes what a killed daemon left, whatever it did to the music",
        arguments: HeadlessServerKind.allCases, ["medium", "mute", "pause"])
    func restore(kind: HeadlessServerKind, effect: String) async throws {
        try await onDesktop(kind, configuration: Settings.quick + Settings.call(effect)) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: effect == "medium" ? -20 : -.infinity], on: ear)
            desktop.daemon?.kill()
            let restored = try await desktop.sordinoSays("restore")
            #expect(restored.status == 0, "\(restored)")
            try await desktop.expect([music.frequency: 0], on: ear)
            let after = try await desktop.sinkInput(music.stream)
            #expect(!after.mute && !after.corked)
            #expect(try await desktop.volume(of: music.stream) == before)
            expectEmptyLedger(desktop)
            withExtendedLifetime(call) {}
        }
    }
}
