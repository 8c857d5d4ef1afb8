import AudioPolicy
import DaemonTestSupport
import HeadlessAudio
import SoundRig
import Testing

/// What interrupts the session from outside: sleep, and a seat that is another user's.
@Suite struct InterruptionTests {
    /// A desktop with a logind of its own.
    private func withLogin(
        _ kind: HeadlessServerKind, _ body: @escaping @Sendable (Desktop, FakeLogin) async throws -> Void
    ) async throws {
        try await onDesktop(kind, configuration: Settings.quick, daemon: false) { desktop in
            let address = desktop.server.environment["DBUS_SYSTEM_BUS_ADDRESS", default: ""]
            let bus = try PrivateBus(address: address)
            let login = try await FakeLogin.start(address: bus.address)
            let daemon = try await Daemon(in: desktop.server)
            try await body(desktop, login)
            #expect(try await daemon.end() == 0)
            await login.end()
        }
    }

    @Test(
        "PER-05: while the seat is away what is in force is kept, undoing is allowed, and nothing new begins",
        arguments: HeadlessServerKind.allCases)
    func seat(kind: HeadlessServerKind) async throws {
        try await withLogin(kind) { desktop, login in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await desktop.expect([music.frequency: 0], on: ear)
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: -20], on: ear)
            try await login.setActive(false)
            try await desktop.waitForStatus("an interrupted session") { $0.session.state == "interrupted" }
            // Kept, and a stream that begins meanwhile is left alone.
            let late = try await desktop.play("music", Desktop.Tone.second, name: "late")
            try await desktop.expect(
                [music.frequency: -20, late.frequency: 0], on: ear)
            call.kill()
            try await desktop.expect([music.frequency: 0, late.frequency: 0], on: ear)
            // A call that begins meanwhile has no effects until the seat is back.
            let second = try await desktop.call()
            try await desktop.waitForStatus("the second call's claim") { $0.claims.contains { $0.kind == "call" } }
            try await desktop.expect([music.frequency: 0, late.frequency: 0], on: ear)
            try await login.setActive(true)
            try await desktop.expect(
                [music.frequency: -20, late.frequency: -20], on: ear)
            second.kill()
            try await desktop.expect([music.frequency: 0, late.frequency: 0], on: ear)
            try await desktop.waitForRest()
        }
    }

    @Test("sleep interrupts the session and keeps its effects", arguments: HeadlessServerKind.allCases)
    func sleep(kind: HeadlessServerKind) async throws {
        try await withLogin(kind) { desktop, login in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: -20], on: ear)
            try await login.setSleeping(true)
            try await desktop.waitForStatus("an interrupted session") { $0.session.state == "interrupted" }
            try await desktop.expect([music.frequency: -20], on: ear)
            try await login.setSleeping(false)
            try await desktop.waitForStatus("a session that goes on") { $0.session.state == "active" }
            try await desktop.expect([music.frequency: -20], on: ear)
            call.kill()
            try await desktop.expect([music.frequency: 0], on: ear)
        }
    }
}
