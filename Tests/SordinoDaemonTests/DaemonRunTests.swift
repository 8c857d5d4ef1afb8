import AudioPolicy
import DaemonTestSupport
import Foundation
import Glibc
import HeadlessAudio
import SoundRig
import Testing

@testable import SordinoDaemon

/// The daemon itself on real servers.
@Suite struct DaemonRunTests {
    private func connected(_ server: HeadlessServer, _ arguments: [String] = []) async throws -> RunningDaemon {
        let daemon = try RunningDaemon(in: server, arguments)
        try await daemon.says("connected to")
        return daemon
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `SIGTERM undoes everything before the daemon ends with 0`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
            let daemon = try await connected(server)
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await daemon.end() == 0)
            #expect(try await server.shown("mus") == "100%")
            #expect(server.ledger == "")
            withExtendedLifetime(players) {}
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `CRA-04 What a killed daemon left is undone by sordino restore without a daemon`(kind: HeadlessServerKind)
        async throws
    {
        try await withServer(kind) { server in
            let daemon = try await connected(server)
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            daemon.process.kill()
            if kind == .pulseaudio { #expect(try await server.shown("mus") != "100%") }
            let restored = try await server.sordino("restore")
            #expect(restored.code == 0, "\(restored)")
            #expect(restored.text.hasSuffix(" undone"), "\(restored)")
            #expect(try await server.shown("mus") == "100%")
            #expect(server.ledger == "")
            #expect(try await server.sordino("restore").text == "nothing had to be undone")
            withExtendedLifetime(players) {}
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `CRA-04 What a killed daemon left is undone by the next one`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
            let first = try await connected(server)
            var (music, call): (CommandPlayer, CommandPlayer?) = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            first.process.kill()
            call?.kill()
            call = nil
            let next = try RunningDaemon(in: server, name: "next")
            try await next.says("connected to")
            let isBack = try await eventually { try await server.shown("mus") == "100%" && server.ledger == "" }
            #expect(isBack, "\(server.ledger)")
            #expect(try await next.end() == 0)
            withExtendedLifetime(music) {}
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `PER-05 A second daemon is refused with one line, and --replace takes the first one's place`(
        kind: HeadlessServerKind
    ) async throws {
        try await withServer(kind) { server in
            let first = try await connected(server)
            let second = try RunningDaemon(in: server, name: "second")
            #expect(try await second.exitCode() == 69)
            #expect(
                second.log == "sordino: a Sordino daemon is already running (process \(first.process.id)); "
                    + "--replace takes its place\n")
            let third = try RunningDaemon(in: server, ["--replace"], name: "third")
            #expect(try await first.exitCode() == 0)
            try await third.says("connected to")
            #expect(try await third.end() == 0)
        }
    }

    @Test func `CI-05 A daemon that starts first waits, and is ready when the server comes`() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.startsServer = false
        try await withServer(options) { server in
            let daemon = try RunningDaemon(in: server)
            try await daemon.says("waiting for a sound server: neither PulseAudio nor PipeWire answers")
            #expect(try await server.status().server == .init(kind: nil, version: nil, connected: false))
            try await onThread { try server.restartServer() }
            try await daemon.says("connected to PulseAudio", within: .seconds(2))
            #expect(try await daemon.end() == 0)
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `CRA-02 A server that was killed is found again within 2 s, and music is ducked again`(
        kind: HeadlessServerKind
    )
        async throws
    {
        try await withServer(kind) { server in
            let daemon = try await connected(server)
            let before = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            server.killServer()
            try await daemon.says("the sound server is gone")
            before.music.kill()
            before.call.kill()
            try await onThread { try server.restartServer() }
            try await daemon.says("connected to", times: 2, within: .seconds(2))
            let after = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await daemon.end() == 0)
            #expect(try await server.shown("mus") == "100%")
            withExtendedLifetime(after) {}
        }
    }

    @Test func `CRA-02 While the server is away the daemon rests`() async throws {
        try await withServer(.pulseaudio) { server in
            let daemon = try await connected(server)
            server.killServer()
            try await daemon.says("waiting for a sound server")
            func ticks() throws -> Int {
                let stat = try String(contentsOfFile: "/proc/\(daemon.process.id)/stat", encoding: .utf8)
                let fields = stat.split(separator: " ")
                return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
            }
            let start = try ticks()
            let end = ContinuousClock.now + .seconds(3)
            _ = await eventually(within: .seconds(4), every: .milliseconds(100)) { ContinuousClock.now > end }
            // A tick is 10 ms: 1 % of 3 s is three.
            #expect(try ticks() - start <= 3)
            #expect(try await daemon.end() == 0)
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `libpulse is loaded beside PulseAudio alone`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
            let daemon = try await connected(server)
            // In pieces: its size is not known before.
            let maps = try FileHandle(forReadingAtPath: "/proc/\(daemon.process.id)/maps")?.readToEnd()
            #expect(String(decoding: maps ?? Data(), as: UTF8.self).contains("/libpulse.so") == (kind == .pulseaudio))
        }
    }

    @Test func `Another kind of server that appears instead is taken`() async throws {
        try await withServer(.pulseaudio) { server in
            let daemon = try await connected(server)
            try await onThread { try server.restartServer(as: .pipewire) }
            try await daemon.says("connected to PipeWire")
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await daemon.end() == 0)
            withExtendedLifetime(players) {}
        }
    }

    @Test func `PulseAudio asked for where pipewire-pulse answers is refused with a hint`() async throws {
        try await withServer(.pipewire) { server in
            let daemon = try RunningDaemon(in: server, ["--server", "pulseaudio"])
            #expect(try await daemon.exitCode() == 69)
            #expect(daemon.log.contains("PipeWire"), "\(daemon.log)")
            #expect(daemon.log.split(separator: "\n").count == 1, "\(daemon.log)")
        }
    }

    @Test func `CI-04 Without a session bus streams are looked after all the same, and it is said`() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.bus = false
        try await withServer(options) { server in
            let daemon = try await connected(server)
            #expect(daemon.log.contains("no session bus"))
            let players = try await server.musicAndCall()
            #expect(try await eventually { try await server.shown("mus") != "100%" })
            #expect(try await server.sordino("status").code == 69)
            #expect(try await daemon.end() == 0)
            #expect(try await server.shown("mus") == "100%")
            withExtendedLifetime(players) {}
        }
    }

    @Test func `ignore writes a rule, and the running daemon leaves the program alone at once`() async throws {
        try await withServer(.pulseaudio) { server in
            let daemon = try await connected(server)
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            let ignored = try await server.sordino("ignore", "mus")
            #expect(ignored.code == 0, "\(ignored)")
            try await server.waitForEffect(nil, on: "mus")
            #expect(try await eventually { try await server.shown("mus") == "100%" })
            #expect(try await server.sordino("explain", "mus").text.contains("ignore"))
            #expect(try await daemon.end() == 0)
            withExtendedLifetime(players) {}
        }
    }

    @Test func `off undoes all effects and on brings them back`() async throws {
        try await withServer(.pulseaudio) { server in
            let daemon = try await connected(server)
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await server.sordino("off").code == 0)
            #expect(try await eventually { try await server.shown("mus") == "100%" })
            #expect(try await server.status().claims.count == 2)
            #expect(try await server.sordino("on").code == 0)
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await daemon.end() == 0)
            withExtendedLifetime(players) {}
        }
    }

    @Test func `A bad configuration keeps the daemon from starting, and a running one with its last good one`()
        async throws
    {
        try await withServer(.pulseaudio) { server in
            let file = server.directory + "/own.conf"
            try "levls = { minimum = -6 }\n".write(toFile: file, atomically: true, encoding: .utf8)
            let refused = try RunningDaemon(in: server, ["--config", file], name: "refused")
            #expect(try await refused.exitCode() == 78)
            #expect(refused.log.hasPrefix("sordino: \(file):1: "), "\(refused.log)")
            #expect(refused.log.contains("did you mean levels?"), "\(refused.log)")

            try "levels = { medium = -10 }\n".write(toFile: file, atomically: true, encoding: .utf8)
            let daemon = try await connected(server, ["--config", file])
            try "levels = { medium = loud }\n".write(toFile: file, atomically: true, encoding: .utf8)
            daemon.process.signal(SIGHUP)
            try await daemon.says("the configuration stays as it was: \(file):1: ")
            #expect(try await server.sordino("config", "reload").code == 78)
            let players = try await server.musicAndCall()
            try await server.waitForEffect("duck", on: "mus")
            #expect(try await server.status().streams.first { $0.application == "mus" }?.effect?.decibels == -10)
            try "levels = { medium = -30 }\n".write(toFile: file, atomically: true, encoding: .utf8)
            daemon.process.signal(SIGHUP)
            try await daemon.says("the configuration was read again")
            #expect(
                try await eventually {
                    try await server.status().streams.first { $0.application == "mus" }?.effect?.decibels == -30
                })
            #expect(try await daemon.end() == 0)
            withExtendedLifetime(players) {}
        }
    }

    @Test func `The service manager is told of the start, of a reload and of the end`() async throws {
        try await withServer(.pulseaudio) { server in
            let manager = try NotifySocket(server.directory + "/notify")
            let daemon = try RunningDaemon(in: server, environment: ["NOTIFY_SOCKET": manager.path])
            #expect(await manager.hears("READY=1"))
            daemon.process.signal(SIGHUP)
            #expect(await manager.hears("RELOADING=1"))
            #expect(try await daemon.end() == 0)
            #expect(await manager.hears("STOPPING=1"))
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `CI-02 A server that is another user's is told from none, by exit 77`(kind: HeadlessServerKind) async throws {
        try await withServer(kind) { server in
            let own = try TemporaryDirectory()
            let socket = server.runtimeDirectory + (kind == .pulseaudio ? "/pulse/native" : "/pipewire-0")
            let places = ["PULSE_SERVER": kind == .pulseaudio ? socket : "/nowhere/native", "PIPEWIRE_REMOTE": socket]
            let environment = places.merging([
                "XDG_RUNTIME_DIR": own.path, "HOME": own.path, "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            ]) { $1 }
            var command = [try product("sordino"), "restore"]
            if geteuid() == 0 {
                // Root may connect to anything: the command has to be somebody else, from where anybody may read it.
                let copy = own.path + "/program"
                try FileManager.default.copyItem(atPath: command[0], toPath: copy)
                chown(own.path, 65534, 65534)
                command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "restore"]
            } else {
                chmod(socket, 0)
            }
            let output = try await server.run(command, environment: environment)
            #expect(output.code == 77, "\(output)")
            #expect(output.lines.count == 1 && output.text.contains("is not for this user"), "\(output)")
        }
    }

    @Test func `Without a server a one-shot command ends with 69 and one line`() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.startsServer = false
        try await withServer(options) { server in
            let output = try await server.sordino("restore")
            #expect(output.code == 69)
            #expect(output.lines == ["sordino: neither PulseAudio nor PipeWire answers"])
        }
    }
}

/// What a service manager hears.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let heard = Shared("")

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result == 0 else { throw TestFailure("bind: \(errno)") }
    }

    deinit { close(descriptor) }

    func hears(_ text: String) async -> Bool {
        await eventually {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                heard.value += String(decoding: buffer[..<count], as: UTF8.self) + "\n"
            }
            return heard.value.contains(text)
        }
    }
}
