import AudioPolicy
import DaemonTestSupport
import Foundation
import HeadlessAudio
import Testing

@testable import SordinoDaemon

@Suite struct SessionLockTests {
    private let directory: TemporaryDirectory
    private let paths: SessionPaths

    init() throws {
        directory = try TemporaryDirectory()
        paths = try SessionPaths(environment: ["XDG_RUNTIME_DIR": directory.path, "HOME": directory.path])
    }

    /// A process that holds the lock until it is asked to end, and then for good where it ignores that.
    private func holder(_ supervisor: Supervisor, ignoring signal: Bool = false) throws -> SupervisedProcess {
        let trap = signal ? "trap '' TERM" : "trap 'exit 0' TERM"
        try paths.makeRuntimeDirectory()
        let process = try supervisor.spawn(
            [
                "bash", "-c",
                """
                \(trap); exec 9<>'\(paths.lock)'; flock -n 9 || exit 1; echo $$ >&9
                touch '\(directory.path)/held'; while :; do sleep 0.02 9>&-; done
                """,
            ], environment: ProcessInfo.processInfo.environment, standard: .init())
        let deadline = ContinuousClock().now + .seconds(10)
        while access(directory.path + "/held", F_OK) != 0 {
            guard ContinuousClock().now < deadline else { throw TestFailure("the lock is not held") }
            usleep(2000)
        }
        return process
    }

    @Test func `PER-05 A second daemon is refused with one line that names the first`() throws {
        let first = try SessionLock(paths)
        let failure = #expect(throws: CommandFailure.self) { _ = try SessionLock(paths) }
        #expect(failure?.code == 69)
        #expect(
            failure?.message == "a Sordino daemon is already running (process \(getpid())); --replace takes its place")
        withExtendedLifetime(first) {}
    }

    @Test func `The lock goes with its holder, and the directory is its user's alone`() throws {
        do { _ = try SessionLock(paths) }
        _ = try SessionLock(paths)
        let mode = try FileManager.default.attributesOfItem(atPath: paths.runtime)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test func `Replacing asks the holder to end and waits for it`() throws {
        let supervisor = try Supervisor(prefix: "sordino-lock")
        let process = try holder(supervisor)
        #expect(SessionLock.holder(paths) == process.id)
        let lock = try SessionLock.replacing(paths)
        #expect(process.wait(timeout: .seconds(5)) == .exited(0))
        #expect(SessionLock.holder(paths) == getpid())
        withExtendedLifetime(lock) {}
    }

    @Test func `A holder that does not end is not waited for for ever`() throws {
        let supervisor = try Supervisor(prefix: "sordino-lock")
        let process = try holder(supervisor, ignoring: true)
        let failure = #expect(throws: CommandFailure.self) {
            _ = try SessionLock.replacing(paths, timeout: .milliseconds(200))
        }
        #expect(failure?.message.contains("does not end when asked to") == true)
        #expect(process.isRunning)
    }

    @Test func `A number in the file that is somebody else's by now is not believed`() throws {
        try paths.makeRuntimeDirectory()
        let supervisor = try Supervisor(prefix: "sordino-lock")
        let other = try supervisor.spawn(
            ["sleep", "60"], environment: ProcessInfo.processInfo.environment, standard: .init())
        try "\(other.id)\n".write(toFile: paths.lock, atomically: false, encoding: .utf8)
        #expect(SessionLock.holder(paths) == nil)
        _ = try SessionLock.replacing(paths)
        #expect(other.isRunning)
    }

    @Test func `Without a runtime directory there is no session`() {
        #expect(throws: CommandFailure.self) { try SessionPaths(environment: ["HOME": "/h"]) }
    }

    @Test func `A runtime directory that is somebody's link is not used`() throws {
        try FileManager.default.createSymbolicLink(atPath: paths.runtime, withDestinationPath: "/tmp")
        #expect(throws: CommandFailure.self) { _ = try SessionLock(paths) }
    }
}

@Suite struct FileLedgerStoreTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/ledger" }
    private var copyPath: String { directory.path + "/state/sordino/ledger" }

    init() throws { directory = try TemporaryDirectory() }

    private func store(copy: LastingCopy? = nil) throws -> FileLedgerStore { try FileLedgerStore(path, copy: copy) }

    private func copy() -> LastingCopy {
        LastingCopy(of: path, at: copyPath) { text in
            text.split(separator: "\n").filter { $0.hasPrefix("stored") }.map { $0 + "\n" }.joined()
        }
    }

    private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test func `Lines are kept in order, over a restart too`() throws {
        let first = try store()
        first.append("a\nb\n")
        first.append("c\n")
        #expect(try store().read() == "a\nb\nc\n")
    }

    @Test func `Replacing leaves the new lines alone, and appending goes on after them`() throws {
        let store = try store()
        store.append("a\nb\n")
        store.replace(with: "b\n")
        store.append("c\n")
        #expect(store.read() == "b\nc\n")
        store.replace(with: "")
        #expect(store.read() == "")
        store.append("d\n")
        #expect(store.read() == "d\n")
        #expect(text(path + ".new") == nil)
    }

    @Test(arguments: ["half a li", "\n\n", "\u{0}\u{1}garbage"])
    func `CRA-04 A ledger cut off in the middle keeps its other lines, and new ones are whole`(tail: String) throws {
        try Data("whole\n\(tail)".utf8).write(to: URL(fileURLWithPath: path))
        let store = try store()
        store.append("new\n")
        let lines = store.read().split(separator: "\n")
        #expect(lines.first == "whole" && lines.last == "new")
    }

    @Test func `Bytes that are no text are survived`() throws {
        try Data([0x61, 0x0A, 0xFF, 0xFE, 0xC0]).write(to: URL(fileURLWithPath: path))
        let store = try store()
        store.append("new\n")
        #expect(store.read().hasPrefix("a\n") && store.read().hasSuffix("\nnew\n"))
    }

    @Test func `A ledger that cannot be written is said once`() throws {
        // It takes no byte and gives any number of them: reading has to end, too.
        let store = try FileLedgerStore("/dev/full", copy: nil)
        var said: [String] = []
        store.onFailure = { said.append($0) }
        store.append("a\n")
        store.append("b\n")
        #expect(said == ["the ledger /dev/full cannot be written: No space left on device"])
    }

    @Test func `What servers store has a lasting copy within 5 s, without the rest, gone when nothing is left`() throws
    {
        let store = try store(copy: copy())
        store.append("stored 1\nfleeting 2\n")
        store.operationsSent()
        let deadline = ContinuousClock().now + .seconds(5)
        while text(copyPath) == nil, ContinuousClock().now < deadline { usleep(10_000) }
        #expect(text(copyPath) == "stored 1\n")
        store.replace(with: "fleeting 2\n")
        store.finish()
        #expect(text(copyPath) == nil)
    }

    @Test func `CRA-04 After a restart of the machine the ledger begins as the lasting copy`() throws {
        let before = try store(copy: copy())
        before.append("stored 1\nfleeting 2\n")
        before.finish()
        unlink(path)
        let after = try store(copy: copy())
        #expect(after.read() == "stored 1\n")
        after.append("stored 3\n")
        #expect(after.read() == "stored 1\nstored 3\n")
    }

    @Test func `A ledger that is there and empty is believed before an old copy`() throws {
        let before = try store(copy: copy())
        before.append("stored 1\n")
        before.finish()
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try store(copy: copy()).read() == "")
    }
}
