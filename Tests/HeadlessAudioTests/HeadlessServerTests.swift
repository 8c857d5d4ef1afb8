import Foundation
import HeadlessAudio
import Testing

/// The output of a program that runs in a server to its end.
private func output(_ command: [String], in server: HeadlessServer) throws -> String {
    let path = server.directory + "/output-\(UUID().uuidString)"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let process = try server.spawn(command, standard: .init(input: 0, output: descriptor, error: descriptor))
    #expect(process.wait(timeout: .seconds(10)) == .exited(0), "\(command)")
    return try String(contentsOfFile: path, encoding: .utf8)
}

@Suite struct HeadlessServerTests {
    @Test(arguments: HeadlessServerKind.allCases)
    func `a started server has its devices, and the first of each is the default`(kind: HeadlessServerKind) throws {
        let server = try HeadlessServer.start(
            HeadlessOptions(
                server: kind, sinks: [.init("front"), .init("six", channels: 6)], sources: [.init("in", channels: 1)]))
        defer { server.stop() }
        let info = try output(["pactl", "info"], in: server)
        #expect(info.contains("Default Sink: front"))
        #expect(info.contains("Default Source: in"))
        #expect(info.contains("PipeWire") == (kind == .pipewire))
        let sinks = try output(["pactl", "list", "short", "sinks"], in: server)
        #expect(sinks.split(separator: "\n").map { $0.split(separator: "\t")[1] } == ["front", "six"])
        #expect(sinks.contains("6ch 48000Hz"))
        let bus = [
            "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
            "org.freedesktop.DBus.GetId",
        ]
        #expect(try output(bus, in: server).contains("string"))
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `everything is private and goes with the server`(kind: HeadlessServerKind) throws {
        let server = try HeadlessServer.start(HeadlessOptions(server: kind))
        let directory = server.directory
        let attributes = try FileManager.default.attributesOfItem(atPath: directory)
        #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o700)
        for (name, value) in server.variables where value.contains("/") {
            #expect(value.contains(directory), "\(name)=\(value)")
        }
        let processes = server.processIDs
        #expect(processes.count == (kind == .pipewire ? 4 : 2))
        server.stop()
        #expect(!FileManager.default.fileExists(atPath: directory))
        #expect(processes.allSatisfy { kill($0, 0) == -1 })
        #expect(throws: HeadlessError.self) { try server.spawn(["true"]) }
    }

    @Test func `four servers start at a time and are apart`() async throws {
        let kinds: [HeadlessServerKind] = [.pulseaudio, .pipewire, .pulseaudio, .pipewire]
        try await withThrowingTaskGroup(of: HeadlessServer.self) { group in
            for (index, kind) in kinds.enumerated() {
                group.addTask {
                    try HeadlessServer.start(HeadlessOptions(server: kind, sinks: [.init("sink\(index)")]))
                }
            }
            var servers: [HeadlessServer] = []
            for try await server in group { servers.append(server) }
            defer { for server in servers { server.stop() } }
            #expect(Set(servers.map(\.runtimeDirectory)).count == 4)
            for server in servers {
                let sinks = try output(["pactl", "list", "short", "sinks"], in: server).split(separator: "\n")
                #expect(sinks.count == 1)
                #expect(sinks.first?.contains(server.options.sinks[0].name) == true)
            }
        }
    }

    @Test(arguments: HeadlessServerKind.allCases, HeadlessServerKind.allCases)
    func `a killed server comes back in the same place, as either kind`(
        first: HeadlessServerKind, second: HeadlessServerKind
    ) throws {
        let server = try HeadlessServer.start(HeadlessOptions(server: first))
        defer { server.stop() }
        let old = server.processID(.server)
        server.killServer()
        #expect(server.process(.server)?.wait() == .signalled(SIGKILL))
        try server.restartServer(as: second)
        #expect(server.kind == second)
        #expect(server.processID(.server) != old)
        let info = try output(["pactl", "info"], in: server)
        #expect(info.contains("Default Sink: spk"))
        #expect(info.contains("PipeWire") == (second == .pipewire))
    }

    @Test func `CRA-03 a session manager can be killed and come back alone`() throws {
        let server = try HeadlessServer.start(HeadlessOptions(server: .pipewire))
        defer { server.stop() }
        let pipewire = server.processID(.server)
        server.killSessionManager()
        #expect(server.process(.sessionManager)?.isRunning == false)
        try server.restartSessionManager()
        #expect(server.process(.sessionManager)?.isRunning == true)
        #expect(server.processID(.server) == pipewire)
        #expect(try output(["pactl", "info"], in: server).contains("Default Sink: spk"))
    }

    @Test func `CI-05 the surroundings may be there before the server`() throws {
        var options = HeadlessOptions(server: .pipewire)
        options.startsServer = false
        let server = try HeadlessServer.start(options)
        defer { server.stop() }
        #expect(server.process(.server) == nil)
        #expect(server.process(.bus)?.isRunning == true)
        try server.restartServer()
        #expect(try output(["pactl", "info"], in: server).contains("Default Sink: spk"))
    }

    @Test func `PipeWire may be without session manager, pulse server and bus`() throws {
        var options = HeadlessOptions(server: .pipewire)
        options.sessionManager = false
        options.pulse = false
        options.bus = false
        let server = try HeadlessServer.start(options)
        defer { server.stop() }
        #expect(server.processIDs.count == 1)
        #expect(try output(["pw-cli", "info", "0"], in: server).contains("pipewire-0"))
    }

    @Test func `more modules of PulseAudio are loaded before the first client`() throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.modules = ["module-role-ducking trigger_roles=phone ducking_roles=music volume=-20dB"]
        options.flatVolumes = true
        options.streamRestore = false
        let server = try HeadlessServer.start(options)
        defer { server.stop() }
        let modules = try output(["pactl", "list", "short", "modules"], in: server)
        #expect(modules.contains("module-role-ducking"))
        #expect(!modules.contains("module-stream-restore"))
        // Flat: raising a stream above its sink raises the sink.
        _ = try output(["pactl", "set-sink-volume", "spk", "50%"], in: server)
        let player = try server.spawn(["pacat", "--raw", "/dev/zero"])
        defer { player.kill() }
        let isPlaying = { try output(["pactl", "list", "short", "sink-inputs"], in: server).isEmpty == false }
        #expect(try eventually(isPlaying))
        _ = try output(["pactl", "set-sink-input-volume", "0", "80%"], in: server)
        #expect(try output(["pactl", "get-sink-volume", "spk"], in: server).contains("80%"))
    }

    @Test func `a server that cannot start says why and leaves nothing`() throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.modules = ["module-that-is-not"]
        let error = #expect(throws: HeadlessError.self) { try HeadlessServer.start(options) }
        #expect(error?.description.contains("module-that-is-not") == true)
        #expect(throws: HeadlessError.self) {
            try HeadlessServer.start(HeadlessOptions(server: .pulseaudio, sinks: [.init("a b")]))
        }
    }

    @Test func `a client that finds no server starts none`() throws {
        let server = try HeadlessServer.start(HeadlessOptions(server: .pulseaudio))
        defer { server.stop() }
        server.killServer()
        #expect(try server.spawn(["pactl", "info"]).wait(timeout: .seconds(10)) == .exited(1))
    }
}
