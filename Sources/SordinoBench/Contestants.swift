import Glibc
import HeadlessAudio
import SoundRig

/// Whoever turns the music down.
protocol Contestant: AnyObject {
    var name: String { get }
    /// Returns when it would react.
    func begin(in server: HeadlessServer) async throws
    func end() async throws
    /// Microseconds from the server's event to the last write queued, where it tells them.
    var times: (down: [Double], back: [Double]) { get }
}

/// A program that says `ready`, and `duck COUNT MICROSECONDS` or `restore …` each time.
final class TellingContestant: Contestant {
    let name: String
    private let command: [String]
    private var process: LineProcess?
    private(set) var times: (down: [Double], back: [Double]) = ([], [])

    init(_ name: String, _ command: [String]) {
        self.name = name
        self.command = command
    }

    func begin(in server: HeadlessServer) async throws {
        let process = try LineProcess(command, in: server)
        self.process = process
        _ = try await process.line { $0 == "ready" }
    }

    func end() async throws {
        guard let process else { return }
        self.process = nil
        // The first of each is the one that warms up.
        times.down += values("duck", process).dropFirst()
        times.back += values("restore", process).dropFirst()
        let supervised = process.process
        try await onThread { supervised.end() }
    }

    private func values(_ word: String, _ process: LineProcess) -> [Double] {
        process.lines.compactMap { line in
            let fields = line.split(separator: " ")
            return fields.count == 3 && fields[0] == word ? Double(fields[2]) : nil
        }
    }
}

/// PulseAudio's own module, in the server.
final class RoleDucking: Contestant {
    let name = "module-role-ducking"
    let times: (down: [Double], back: [Double]) = ([], [])
    private var server: HeadlessServer?

    func begin(in server: HeadlessServer) async throws {
        self.server = server
        try await pactl(
            "load-module", "module-role-ducking", "trigger_roles=phone", "ducking_roles=music", "volume=-20dB",
            in: server)
    }

    func end() async throws {
        guard let server else { return }
        self.server = nil
        try await pactl("unload-module", "module-role-ducking", in: server)
    }

    private func pactl(_ arguments: String..., in server: HeadlessServer) async throws {
        let process = try server.spawn(["pactl"] + arguments)
        let status = try await onThread { process.wait(timeout: .seconds(10)) }
        guard status == .exited(0) else { throw SoundRigError("pactl \(arguments): \(String(describing: status))") }
    }
}

/// `sordino run`, as it is shipped.
final class SordinoRun: Contestant {
    let name = "Sordino"
    let times: (down: [Double], back: [Double]) = ([], [])
    private(set) var process: SupervisedProcess?

    func begin(in server: HeadlessServer) async throws { _ = try await start(in: server) }

    /// Returns the milliseconds from its start until it says that it is ready, and connected to the sound server.
    func start(in server: HeadlessServer) async throws -> Double {
        let notice = try ReadyNotice(in: server.directory)
        let command = [try product("sordino"), "run"]
        let began = monotonic()
        let process = try server.spawn(command, environment: ["NOTIFY_SOCKET": notice.path])
        self.process = process
        guard let ready = try await onThread({ notice.wait(for: ["READY=1", "STATUS=connected"]) }) else {
            throw SoundRigError("sordino run does not get ready")
        }
        return ready - began
    }

    func end() async throws {
        guard let process else { return }
        self.process = nil
        try await onThread { process.end(grace: .seconds(3)) }
    }
}

/// The socket on which a service says how it is.
final class ReadyNotice: Sendable {
    let path: String
    private let descriptor: Int32

    init(in directory: String) throws {
        path = directory + "/notify-\(UInt32.random(in: 0 ... .max))"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard descriptor >= 0, path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SoundRigError("no socket for READY=1")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SoundRigError("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// The moment when all of these have been said, at most 10 s from now.
    func wait(for words: [String]) -> Double? {
        var open = Set(words)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let deadline = monotonic() + 10_000
        while !open.isEmpty {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = Int32(deadline - monotonic())
            guard left > 0, poll(&entry, 1, left) > 0 else { return nil }
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            let said = String(decoding: bytes[..<count], as: UTF8.self)
            open = open.filter { !said.contains($0) }
        }
        return monotonic()
    }
}
