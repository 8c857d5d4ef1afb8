import Foundation
public import SystemEventLoop
import Synchronization

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

/// A message bus of the test's own; ends, by its process, with this object.
public final class PrivateBus {
    public let address: String
    private let directory: TemporaryDirectory
    private let process = Process()

    public init() throws {
        directory = try TemporaryDirectory()
        let socket = directory.path + "/bus"
        address = "unix:path=\(socket)"
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
        process.arguments = ["--session", "--nofork", "--nopidfile", "--address=\(address)"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        let deadline = ContinuousClock().now + .seconds(10)
        while !FileManager.default.fileExists(atPath: socket) {
            guard ContinuousClock().now < deadline else { throw TestFailure("dbus-daemon has made no socket") }
            usleep(2000)
        }
    }

    public func end() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    deinit { end() }
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
