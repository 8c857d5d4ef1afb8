import Foundation
import HeadlessAudio
import Synchronization
public import SystemEventLoop

/// A directory of the test's own, gone with this object.
public final class TemporaryDirectory {
    public let path: String

    public init() throws {
        var template = Array("/tmp/sordino-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
        path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

public struct TestFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Whether somebody listens on a socket in the file system.
public func socketAnswers(_ path: String) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
    }
}

/// A message bus of the test's own; ends with this object, and with it all that it has started.
public final class PrivateBus {
    public let address: String
    /// What is started on the bus keeps its files here.
    public let directory: String
    private let supervisor: Supervisor
    private let process: SupervisedProcess

    /// - Parameters:
    ///   - wanted: a socket's, as `unix:path=…`; without one in a directory of its own.
    ///   - service: the text of a service file that the bus is to know.
    public init(address wanted: String? = nil, service: String? = nil) throws {
        supervisor = try Supervisor(prefix: "sordino-bus")
        directory = supervisor.directory
        let address = wanted ?? "unix:path=\(directory)/bus"
        self.address = address
        let socket = String(address.dropFirst("unix:path=".count))
        var arguments = ["--session"]
        var environment = ProcessInfo.processInfo.environment
        if let service {
            arguments = ["--config-file=\(try Self.write(service, address, directory))"]
            for name in ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME", "PIPEWIRE_RUNTIME_DIR"] {
                environment[name] = directory
            }
            environment["PULSE_SERVER"] = "unix:\(directory)/none"
        }
        process = try supervisor.spawn(
            ["dbus-daemon", "--nofork", "--nopidfile", "--address=\(address)"] + arguments,
            environment: environment, standard: .init())
        let deadline = ContinuousClock().now + .seconds(10)
        while !socketAnswers(socket) {
            guard ContinuousClock().now < deadline else { throw TestFailure("dbus-daemon does not answer") }
            usleep(2000)
        }
    }

    /// The bus's configuration, with a directory for the one service.
    private static func write(_ service: String, _ address: String, _ directory: String) throws -> String {
        let services = directory + "/services"
        try FileManager.default.createDirectory(atPath: services, withIntermediateDirectories: true)
        let name = service.split(separator: "\n").first { $0.hasPrefix("Name=") }?.dropFirst(5) ?? ""
        try service.write(toFile: "\(services)/\(name).service", atomically: true, encoding: .utf8)
        let configuration = """
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <servicedir>\(services)</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow receive_sender="*"/>
                <allow own="*"/>
              </policy>
            </busconfig>
            """
        let path = directory + "/bus.conf"
        try configuration.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    public func end() { process.end() }
}

extension SystemEventLoop {
    /// Turns the loop until `condition` holds; throws after the deadline.
    public func turn(
        for deadline: Duration = .seconds(10), until condition: () -> Bool, _ what: String = "condition"
    ) throws {
        let end = ContinuousClock().now + deadline
        while !condition() {
            guard ContinuousClock().now < end else { throw TestFailure("\(what): not within \(deadline)") }
            try turn(timeout: .milliseconds(20))
        }
    }

    /// Runs blocking work on a thread of its own, and this loop meanwhile.
    public func during<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
        let result = Shared<Result<Value, any Error>?>(nil)
        Thread.detachNewThread { result.value = Result { try work() } }
        try turn(until: { result.value != nil }, "the work beside the loop")
        guard let value = result.value else { throw TestFailure("no result") }
        return try value.get()
    }
}

/// One value for several threads.
public final class Shared<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    public init(_ value: Value) { storage = Mutex(value) }

    public var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
