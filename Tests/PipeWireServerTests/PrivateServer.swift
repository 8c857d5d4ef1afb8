import Foundation
import Testing

/// A private PipeWire with its session manager and pulse server, in a directory of its own.
final class PrivateServer {
    let directory: URL
    let environment: [String: String]
    private(set) var pipewire: Process
    private(set) var wireplumber: Process?
    private var others: [Process] = []

    var socket: String { directory.appending(path: "pipewire-0").path }

    /// `rejects`: a program, by its first argument, that the server lets do nothing.
    init(sinks: [String] = ["spk", "hs"], hasSessionManager: Bool = true, rejects: String? = nil) throws {
        var template = Array("/tmp/sordino-pw.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("mkdtemp") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        directory = URL(filePath: path)
        // Another build of the server can be tested by naming it as its own programs are told of it.
        let build = ProcessInfo.processInfo.environment.filter { key, _ in
            ["PATH", "LD_LIBRARY_PATH", "PIPEWIRE_MODULE_DIR", "PIPEWIRE_CONFIG_DIR"].contains(key)
                || key.hasPrefix("SPA_") || key.hasPrefix("WIREPLUMBER_")
        }
        environment = build.merging([
            "LANG": "C.UTF-8", "HOME": path, "XDG_RUNTIME_DIR": path,
            "XDG_CONFIG_HOME": path + "/config", "XDG_STATE_HOME": path + "/state", "PIPEWIRE_RUNTIME_DIR": path,
            "PULSE_SERVER": "unix:\(path)/pulse/native", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "PIPEWIRE_DEBUG": "0", "WIREPLUMBER_DEBUG": "0",
        ]) { $1 }
        try Self.configure(directory, sinks: sinks, rejects: rejects)
        pipewire = try Self.spawn(["pipewire", "-c", path + "/pipewire.conf"], environment)
        try wait("the server's socket") { isListening(path + "/pipewire-0") }
        guard hasSessionManager else { return }
        try startSessionManager()
        others.append(try Self.spawn(["pipewire-pulse"], environment))
        try wait("the pulse socket") { FileManager.default.fileExists(atPath: path + "/pulse/native") }
        try wait("a default sink") { try self.output("pactl", "get-default-sink").contains(sinks[0]) }
    }

    deinit {
        for process in others + [wireplumber, pipewire].compactMap({ $0 }) { Self.end(process) }
        try? FileManager.default.removeItem(at: directory)
    }

    func startSessionManager() throws { wireplumber = try Self.spawn(["wireplumber"], environment) }

    func killSessionManager() {
        if let wireplumber { Self.end(wireplumber) }
        wireplumber = nil
    }

    /// What the session manager has stored of streams; 0.5 has another name for the file.
    var store: String {
        ["restore-stream", "stream-properties"].map { name in
            let file = directory.appending(path: "state/wireplumber/\(name)")
            return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        }.joined()
    }

    func killServer() { Self.end(pipewire) }

    // MARK: Programs

    /// A program that runs until `end` or the server's end.
    @discardableResult
    func start(_ command: String..., output: URL? = nil) throws -> Process { try start(command, output: output) }

    @discardableResult
    func start(_ command: [String], output: URL? = nil) throws -> Process {
        let process = try Self.spawn(command, environment, output: output)
        others.append(process)
        return process
    }

    /// What a program prints.
    @discardableResult
    func output(_ command: String...) throws -> String { try output(command) }

    @discardableResult
    func output(_ command: [String]) throws -> String {
        let pipe = Pipe()
        let process = try Self.spawn(command, environment, pipe: pipe)
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    static func end(_ process: Process) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGCONT)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func spawn(
        _ command: [String], _ environment: [String: String], pipe: Pipe? = nil, output: URL? = nil
    ) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.environment = environment
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        if let output {
            _ = FileManager.default.createFile(atPath: output.path, contents: nil)
            process.standardOutput = try FileHandle(forWritingTo: output)
        } else {
            process.standardOutput = pipe ?? FileHandle.nullDevice
        }
        try process.run()
        return process
    }

    private static func configure(_ directory: URL, sinks: [String], rejects: String?) throws {
        let access = rejects.map { "access.legacy = true access.rejected = [ \"\($0)\" ]" } ?? ""
        let objects = sinks.enumerated().map { index, name in
            """
            { factory = adapter args = { factory.name = support.null-audio-sink node.name = \(name)
              node.description = "\(name) sink" media.class = Audio/Sink audio.position = [ FL FR ]
              priority.session = \(1000 - index) } }
            """
        }
        let text = """
            context.properties = { core.daemon = true core.name = pipewire-0 support.dbus = false
              mem.allow-mlock = false default.clock.rate = 48000 default.clock.quantum = 1024
              settings.check-quantum = false }
            context.spa-libs = { audio.convert.* = audioconvert/libspa-audioconvert
              audio.adapt = audioconvert/libspa-audioconvert support.* = support/libspa-support }
            context.modules = [
              { name = libpipewire-module-protocol-native } { name = libpipewire-module-metadata }
              { name = libpipewire-module-spa-node-factory } { name = libpipewire-module-client-node }
              { name = libpipewire-module-client-device } { name = libpipewire-module-access args = { \(access) } }
              { name = libpipewire-module-adapter } { name = libpipewire-module-link-factory }
              { name = libpipewire-module-session-manager } ]
            context.objects = [
              { factory = spa-node-factory args = { factory.name = support.node.driver node.name = Dummy-Driver
                node.group = pipewire.dummy priority.driver = 20000 } }
              \(objects.joined(separator: "\n"))
              { factory = adapter args = { factory.name = support.null-audio-sink node.name = mic
                media.class = Audio/Source/Virtual audio.position = [ MONO ] } } ]
            """
        try text.write(to: directory.appending(path: "pipewire.conf"), atomically: false, encoding: .utf8)
        let lua = [
            "main.lua.d": """
            alsa_monitor.enabled = false
            v4l2_monitor.enabled = false
            if libcamera_monitor then libcamera_monitor.enabled = false end
            default_access.properties["enable-flatpak-portal"] = false
            """,
            "bluetooth.lua.d": """
            bluez_monitor.enabled = false
            if bluez_midi_monitor then bluez_midi_monitor.enabled = false end
            """,
        ]
        for (name, text) in lua {
            let folder = directory.appending(path: "config/wireplumber/\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(to: folder.appending(path: "80-private.lua"), atomically: false, encoding: .utf8)
        }
    }
}

/// A socket's file is there a moment before it can be connected to.
private func isListening(_ path: String) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits for a condition, at most ten seconds.
func wait(_ what: String, for condition: () throws -> Bool) throws {
    let end = Date() + 10
    while try !condition() {
        guard Date() < end else { throw Failure("waited in vain for \(what)") }
        usleep(5000)
    }
}
