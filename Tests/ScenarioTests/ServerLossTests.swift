import AudioPolicy
import Foundation
import Glibc
import HeadlessAudio
import SoundRig
import Testing

/// The server, or what belongs to it, dies below the daemon.
@Suite struct ServerLossTests {
    /// CPU time of a process so far, in seconds.
    private func cpuTime(_ process: Int32) throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // The name may have blanks in it; what follows it has not.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw SoundRigError("no CPU time in \(stat)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func expectDuck(_ desktop: Desktop) async throws {
        let ear = try await desktop.ear()
        let music = try await desktop.music()
        try await ear.waitFor(music.frequency, at: Desktop.baseline)
        let before = try await desktop.volume(of: music.stream)
        let call = try await desktop.call()
        try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
        call.kill()
        try await ear.waitFor(music.frequency, at: Desktop.baseline)
        // What PulseAudio had stored stays in the ledger until PulseAudio is back.
        try await desktop.waitForStatus("no effect") { status in status.streams.allSatisfy { $0.effect == nil } }
        #expect(try await desktop.volume(of: music.stream) == before)
    }

    @Test(
        "CRA-02: after a server that was killed and 5 s away the daemon is back within 2 s, idle meanwhile, and music gives way again",
        arguments: HeadlessServerKind.allCases)
    func killedServer(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            guard let daemon = desktop.daemon else { return }
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            desktop.server.killServer()
            try await daemon.says("waiting for a sound server")
            #expect(try await !desktop.status().server.connected)

            let start = try cpuTime(daemon.process.process.id)
            let end = ContinuousClock.now + .seconds(5)
            _ = await eventually(within: .seconds(6), every: .milliseconds(100)) { ContinuousClock.now >= end }
            let used = try cpuTime(daemon.process.process.id) - start
            #expect(used < 0.05, "\(used) s of CPU time in 5 s")

            try await onThread { try desktop.server.restartServer() }
            try await daemon.says("connected to", times: 2, within: .seconds(2))
            try await expectDuck(desktop)
            withExtendedLifetime((music, call)) {}
        }
    }

    @Test("CRA-02: another kind of server that appears instead is taken", arguments: HeadlessServerKind.allCases)
    func anotherKind(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let other: HeadlessServerKind = kind == .pulseaudio ? .pipewire : .pulseaudio
            let music = try await desktop.music()
            let call = try await desktop.call()
            try await desktop.waitForEffect("duck", on: music.stream)
            desktop.server.killServer()
            try await onThread { try desktop.server.restartServer(as: other) }
            try await desktop.waitForStatus("the other server") {
                $0.server.connected && $0.server.kind == other.rawValue
            }
            try await expectDuck(desktop)
            withExtendedLifetime(call) {}
        }
    }

    @Test("CRA-03: when the session manager dies during a call and comes back, nothing is written to wrong streams")
    func killedSessionManager() async throws {
        try await onDesktop(.pipewire, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music(600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.call()
            try await ear.waitFor(600, at: Desktop.baseline - 20)
            desktop.server.killSessionManager()
            // The links go with it: the stream's sink is an index that no sink has, and that is no device.
            let isLost = try await eventually(every: .milliseconds(20)) {
                try await desktop.sinkInput(music.stream).sink == UInt32.max
            }
            #expect(isLost)
            let status = try await desktop.waitForStatus("streams without a device") { status in
                status.streams.contains { $0.id == "\(music.stream.index)" && $0.device == nil }
            }
            #expect(status.claims.contains { $0.kind == "call" })
            #expect(try await desktop.volume(of: music.stream) == before)

            // WirePlumber 0.4 waits for ever for a sink that one before it had in use, and never connects again what was
            // connected before. So the sink comes anew, as hardware's do, and so do the programs.
            _ = try await desktop.run(["pw-cli", "destroy", "spk"])
            _ = try await desktop.pactl(
                "load-module", "module-null-sink", "sink_name=spk", "sink_properties=priority.session=3000")
            for playing in [music, call] { playing.kill() }
            ear.stop()
            try await onThread { try desktop.server.restartSessionManager() }
            let again = try await desktop.ear()
            let next = try await desktop.music(1200)
            let nextCall = try await desktop.call()
            try await desktop.expect([1200: -20, nextCall.frequency: 0], on: again)
            nextCall.kill()
            try await desktop.expect([1200: 0], on: again)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: next.stream) == before)
            #expect(desktop.daemon?.count("the sound server is gone") == 0)
        }
    }
}
