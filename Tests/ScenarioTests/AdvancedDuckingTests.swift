import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// Claims with advanced ducking, on real servers: music goes down while somebody speaks, on either side.
@Suite struct AdvancedDuckingTests {
    /// A desktop whose microphone `throat` hears what is played to the sink `mouth`.
    private func withThroat(_ kind: HeadlessServerKind, _ body: (Desktop) async throws -> Void) async throws {
        var options = HeadlessOptions(server: kind, sinks: [.init("spk"), .init("hs"), .init("mouth")])
        options.modules = ["module-remap-source source_name=throat master=mouth.monitor"]
        try await onDesktop(kind, configuration: Settings.quick, options: options, body)
    }

    /// What a telephone opens, both sides silent, and somebody who can speak into its microphone.
    private func call(by phone: TestPlayer, _ desktop: Desktop) async throws -> Playing {
        var voice = TestPlayer.Options(frequency: Desktop.Tone.voice, role: "phone", device: "spk")
        voice.silent = true
        _ = try await phone.play("voice", voice)
        var microphone = TestPlayer.Options(device: "throat")
        microphone.channels = 1
        _ = try await phone.record("capture", microphone)
        return try await desktop.play("event", Desktop.Tone.third, name: "speaker", sink: "mouth") { $0.silent = true }
    }

    @Test(
        "An advanced call turns music down while the other side sounds or somebody speaks into its microphone",
        arguments: HeadlessServerKind.allCases)
    func eitherSide(kind: HeadlessServerKind) async throws {
        try await withThroat(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "spk")
            try await desktop.expect([music.frequency: 0], on: ear)
            let before = try await desktop.volume(of: music.stream)
            let phone = try await desktop.hold("call", "--ducking-advanced")
            let mouth = try await call(by: phone, desktop)
            try await desktop.expect([music.frequency: 0], on: ear)
            for _ in 1...2 {
                try await phone.perform(.sound, "voice")
                try await desktop.expect([music.frequency: -20, Desktop.Tone.voice: 0], on: ear)
                try await phone.perform(.silence, "voice")
                try await desktop.expect([music.frequency: 0], on: ear)
                try await mouth.perform(.sound)
                try await desktop.expect([music.frequency: -20], on: ear)
                try await mouth.perform(.silence)
                try await desktop.expect([music.frequency: 0], on: ear)
            }
            let status = try await desktop.status()
            #expect(status.claims.contains { $0.kind == "call" && $0.counts && $0.standing == "winner" })
            try await mouth.perform(.sound)
            try await desktop.expect([music.frequency: -20], on: ear)
            phone.lines.process.signal(SIGTERM)
            _ = try await phone.lines.exitCode()
            try await desktop.expect([music.frequency: 0], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
        }
    }

    @Test(
        "A muted or corked capture hears nobody and is not metered, and neither is one of a claim that is not advanced",
        arguments: HeadlessServerKind.allCases)
    func closedMicrophone(kind: HeadlessServerKind) async throws {
        try await withThroat(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "spk")
            // The ear, and the leg of the microphone.
            let others = try await desktop.recorders()
            let plain = try await desktop.hold("call")
            _ = try await call(by: plain, desktop)
            try await desktop.expect([music.frequency: -20], on: ear)
            #expect(try await desktop.recorders() == others + 1, "its own capture")
            plain.lines.process.signal(SIGTERM)
            _ = try await plain.lines.exitCode()
            let phone = try await desktop.hold("call", "--ducking-advanced")
            let mouth = try await call(by: phone, desktop)
            try await mouth.perform(.sound)
            try await desktop.waitForRecorders(others + 3)
            for (close, open) in [(TestPlayer.Command.mute, TestPlayer.Command.unmute), (.cork, .uncork)] {
                try await desktop.expect([music.frequency: -20], on: ear)
                try await phone.perform(close, "capture")
                try await desktop.waitForRecorders(others + 2)
                try await desktop.expect([music.frequency: 0], on: ear)
                try await phone.perform(open, "capture")
            }
            try await desktop.expect([music.frequency: -20], on: ear)
            try await phone.perform(.close, "capture")
            try await desktop.waitForRecorders(others + 1)
            try await desktop.expect([music.frequency: 0], on: ear)
            phone.lines.process.signal(SIGTERM)
            _ = try await phone.lines.exitCode()
            try await desktop.waitForRecorders(others)
        }
    }

    @Test(
        "Over the bus a call is set to not advanced and back, and its end leaves the music's own volume to the bit",
        arguments: HeadlessServerKind.allCases)
    func setDucking(kind: HeadlessServerKind) async throws {
        try await withThroat(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "spk")
            try await music.perform(.volume, "0.5")
            let own = 20 * log10(0.5)
            try await desktop.expect([music.frequency: own], on: ear)
            let before = try await desktop.volume(of: music.stream)
            let phone = try await TestPlayer(
                in: desktop.server, name: "phone", through: ["/usr/bin/python3", "-c", Self.telephone])
            let mouth = try await call(by: phone, desktop)
            try await desktop.expect([music.frequency: own], on: ear)
            phone.lines.process.signal(SIGUSR1)
            // For longer than the hang time: short pieces, since a busy machine tears long ones.
            for _ in 1...6 { try await desktop.expect([music.frequency: own - 35], on: ear) }
            phone.lines.process.signal(SIGUSR2)
            try await desktop.expect([music.frequency: own], on: ear)
            try await mouth.perform(.sound)
            try await desktop.expect([music.frequency: own - 35], on: ear)
            phone.lines.process.signal(SIGTERM)
            try await desktop.waitForStatus("the end of the claim") { $0.claims.allSatisfy { $0.origin == "observed" } }
            try await desktop.expect([music.frequency: own], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
        }
    }

    /// Holds an advanced call on the bus while its command runs; SIGUSR1 makes it not advanced, SIGUSR2 advanced again.
    private static let telephone = """
        import signal, subprocess, sys
        from gi.repository import Gio, GLib
        NAME, PATH = "org.sordino.AudioSession1", "/org/sordino/AudioSession1"
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        def ask(method, types, *values):
            return bus.call_sync(
                NAME, PATH, NAME, method, GLib.Variant(types, values), None, Gio.DBusCallFlags.NONE, -1, None).unpack()
        options = {"ducking-level": GLib.Variant("s", "maximum"), "ducking-advanced": GLib.Variant("b", True)}
        (claim,) = ask("Acquire", "(ssa{sv})", "call", "system", options)
        def set_ducking(advanced):
            ask("SetDucking", "(osb)", claim, "maximum", advanced)
            return True
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGUSR1, set_ducking, False)
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGUSR2, set_ducking, True)
        command = subprocess.Popen(sys.argv[1:])
        loop = GLib.MainLoop()
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, lambda: command.kill() or loop.quit())
        loop.run()
        """
}

extension Desktop {
    fileprivate func recorders() async throws -> Int { try await recordersMuted().count }

    fileprivate func waitForRecorders(_ count: Int) async throws {
        var last = -1
        let came = try await eventually {
            last = try await recorders()
            return last == count
        }
        guard came else { throw SoundRigError("there are \(last) recorders, not \(count)") }
    }
}
