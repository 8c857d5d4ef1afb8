import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

/// PulseAudio's own role modules, loaded by the user.
@Suite struct RoleModuleTests {
    private static let ducking = "module-role-ducking trigger_roles=phone ducking_roles=music volume=-20dB global=1"
    private static let cork = "module-role-cork trigger_roles=phone cork_roles=music,video"
    private static let leaving = "pulseaudio = { take-over-role-modules = false }\n"

    private static func options(_ modules: String...) -> HeadlessOptions {
        var options = HeadlessOptions(server: .pulseaudio)
        options.modules = modules
        return options
    }

    /// The modules that are loaded, with their arguments.
    private func modules(_ desktop: Desktop) async throws -> [String] {
        try await desktop.pactl("list", "short", "modules").map { line in
            line.split(separator: "\t").dropFirst().joined(separator: " ")
        }.filter { $0.hasPrefix("module-role-") }
    }

    @Test(
        "A role module of the user's steps aside while Sordino runs, nothing is turned down twice, and it is back afterwards",
        arguments: [ducking, cork])
    func takenOver(module: String) async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick, options: Self.options(module)) { desktop in
            guard let daemon = desktop.daemon else { return }
            try await waitForTakeOver(desktop)
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            for _ in 0..<2 {
                let call = try await desktop.call()
                try await desktop.expect([music.frequency: -20], on: ear)
                #expect(try await !desktop.isCorked(music.stream))
                call.kill()
                try await desktop.expect([music.frequency: 0], on: ear)
            }
            #expect(daemon.count("is taken over") == 1)
            #expect(try await desktop.status().warnings.count == 1)
            #expect(try await daemon.end() == 0)
            #expect(try await modules(desktop) == [module])
            #expect(try await desktop.volume(of: music.stream) == before)
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
        }
    }

    @Test("A role module that is loaded while Sordino runs is taken over in the middle of its work")
    func takenOverInTheMiddle() async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            let words = Self.ducking.split(separator: " ").map(String.init)
            _ = try await desktop.pactl(["load-module"] + words)
            try await waitForTakeOver(desktop)
            try await desktop.expect([music.frequency: -20], on: ear)
            call.kill()
            try await desktop.expect([music.frequency: 0], on: ear)
            #expect(try await desktop.daemon?.end() == 0)
            #expect(try await modules(desktop) == [Self.ducking])
        }
    }

    @Test(
        "Where role modules are left in charge it is said once, and nothing is turned down twice",
        arguments: [ducking, cork])
    func leftInCharge(module: String) async throws {
        let configuration = Settings.quick + Self.leaving
        try await onDesktop(.pulseaudio, configuration: configuration, options: Self.options(module)) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(600)
            // What the module does not turn down is Sordino's.
            let game = try await desktop.play("game", 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            let level = module == Self.cork ? -Double.infinity : -20
            for _ in 0..<2 {
                let call = try await desktop.call()
                try await desktop.expect([600: level, 1200: -14], on: ear)
                #expect(
                    try await desktop.status().streams.first { $0.id == "\(music.stream.index)" }?.effect == nil)
                call.kill()
                try await desktop.expect([600: 0, 1200: 0], on: ear)
            }
            #expect(desktop.daemon?.count("is active too") == 1)
            #expect(try await modules(desktop) == [module])
            #expect(try await desktop.daemon?.end() == 0)
            #expect(try await modules(desktop) == [module])
            withExtendedLifetime(game) {}
        }
    }

    @Test("CRA-04: a role module that a killed daemon had taken over is given back by sordino restore")
    func givenBackAfterACrash() async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick, options: Self.options(Self.ducking)) {
            desktop in
            try await waitForTakeOver(desktop)
            desktop.daemon?.kill()
            #expect(try await modules(desktop).isEmpty)
            #expect(try await desktop.sordinoSays("restore").status == 0)
            #expect(try await modules(desktop) == [Self.ducking])
        }
    }

    @Test("CRA-01: music that is moved during a call, back and forth, brings no server down")
    func movedDuringADuck() async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick, options: Self.options(Self.ducking)) {
            desktop in
            let speakers = try await desktop.ear()
            let headset = try await desktop.ear(on: "hs")
            let music = try await desktop.music()
            let call = try await desktop.call()
            for _ in 0..<3 {
                try await speakers.waitFor(music.frequency, at: Desktop.baseline - 20)
                _ = try await desktop.pactl("move-sink-input", "\(music.stream.index)", "hs")
                try await headset.waitFor(music.frequency, at: Desktop.baseline)
                _ = try await desktop.pactl("move-sink-input", "\(music.stream.index)", "spk")
            }
            try await speakers.waitFor(music.frequency, at: Desktop.baseline - 20)
            call.kill()
            try await speakers.waitFor(music.frequency, at: Desktop.baseline)
            // What is left to undo is the module's absence.
            try await desktop.waitForStatus("rest") { status in
                status.ledger.entries == 1 && status.streams.allSatisfy { $0.effect == nil }
            }
            #expect(desktop.daemon?.count("the sound server is gone") == 0)
        }
    }

    @Test(
        "CRA-01: where the module is left in charge and its fault brings the server down, the daemon is there for the next one"
    )
    func modulesFault() async throws {
        let configuration = Settings.quick + Self.leaving
        try await onDesktop(.pulseaudio, configuration: configuration, options: Self.options(Self.ducking)) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            _ = try? await desktop.pactl("move-sink-input", "\(music.stream.index)", "hs")
            try await desktop.daemon?.says("the sound server is gone")
            try await onThread { try desktop.server.restartServer() }
            try await desktop.daemon?.says("connected to", times: 2, within: .seconds(2))
            withExtendedLifetime(call) {}
        }
    }

    private func waitForTakeOver(_ desktop: Desktop) async throws {
        let isEmpty = try await eventually(every: .milliseconds(20)) { try await modules(desktop).isEmpty }
        guard isEmpty else { throw SoundRigError("the module is still loaded") }
    }
}
