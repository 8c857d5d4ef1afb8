import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

/// What a machine without hardware, bus or server does to the daemon.
@Suite struct SurroundingsTests {
    @Test(
        "CI-05: the daemon first, then a server, then a sink, then its default", arguments: HeadlessServerKind.allCases)
    func serverComesLater(kind: HeadlessServerKind) async throws {
        var options = HeadlessOptions(server: kind)
        options.startsServer = false
        try await onDesktop(kind, configuration: atOnce, daemon: false, options: options) { desktop in
            let daemon = try LineProcess([product("sordino"), "run"], in: desktop.server)
            #expect(await eventually { (try? await desktop.status().server.connected) == false })
            try await onThread { [server = desktop.server] in try server.restartServer() }
            try await desktop.waitForStatus("a server") { $0.server.connected }
            _ = try await desktop.pactl("load-module", "module-null-sink", "sink_name=late")
            _ = try await desktop.pactl("set-default-sink", "late")
            let ear = try await desktop.ear(on: "late")
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            #expect(!daemon.hasEnded)
        }
    }

    @Test("CI-03: a server that ends by itself is waited for, and the next one is taken")
    func serverEndsByItself() async throws {
        try await onDesktop(.pulseaudio, configuration: atOnce) { desktop in
            try await onThread { [server = desktop.server] in server.endServer() }
            try await desktop.waitForStatus("no server") { !$0.server.connected }
            try await onThread { [server = desktop.server] in try server.restartServer() }
            try await desktop.waitForStatus("the server back") { $0.server.connected }
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            _ = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
        }
    }

    @Test("CI-04: without a session bus the daemon runs, says so, and still turns music down")
    func noBus() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.bus = false
        try await onDesktop(.pulseaudio, configuration: atOnce, daemon: false, options: options) { desktop in
            let daemon = try LineProcess(["sh", "-c", "exec \"$0\" run 2>&1", product("sordino")], in: desktop.server)
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            _ = try await daemon.line { $0.contains("bus") }
            _ = try await daemon.line { $0.contains("connected to PulseAudio") }
            _ = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
        }
    }

    @Test("CI-04: a missing session manager is named")
    func noSessionManager() async throws {
        var options = HeadlessOptions(server: .pipewire)
        options.sessionManager = false
        try await onDesktop(.pipewire, daemon: true, options: options) { desktop in
            try await desktop.waitForStatus("a warning that names it") { status in
                status.warnings.contains { $0.contains("session manager") }
            }
        }
    }
}
