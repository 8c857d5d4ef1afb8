import CSupervisor
import Glibc
import Synchronization

/// A keeper process with a directory of its own, and the processes it runs. Whatever ends the owner, all of them end
/// and the directory goes.
public final class Supervisor: Sendable {
    /// Mode 0700, removed at the end.
    public let directory: String
    private let process: Int32
    /// The owner's end; `nil` once it has been finished. Locked, since one request is answered before the next.
    private let socket: Mutex<Int32?>

    /// `prefix` names the directory, below `$TMPDIR` or `/tmp`.
    public init(prefix: String) throws(HeadlessError) {
        var template = Array("\(temporaryDirectory())/\(prefix)-XXXXXX".utf8CString)
        var process: Int32 = 0
        let socket = supervisor_start(&template, &process)
        guard socket >= 0 else { throw HeadlessError("a private directory and its keeper: \(errorText(-socket))") }
        directory = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        self.process = process
        self.socket = Mutex(socket)
    }

    deinit { finish() }

    /// Ends everything it started, newest first, each with a second to end by itself; returns when all is gone.
    public func finish() {
        let open = socket.withLock { socket in
            defer { socket = nil }
            return socket
        }
        if let open { supervisor_finish(open, process, directory) }
    }

    /// Where a process's standard descriptors come from. They are only lent.
    public struct Standard: Sendable {
        public var input: Int32
        public var output: Int32
        public var error: Int32

        public init(input: Int32 = 0, output: Int32 = 1, error: Int32 = 2) {
            self.input = input
            self.output = output
            self.error = error
        }
    }

    /// Starts a program, which is looked up in the given environment's `PATH`. `group` 0 is a process group of its own.
    public func spawn(
        _ command: [String], environment: [String: String], standard: Standard, group: Int32 = 0
    ) throws(HeadlessError) -> SupervisedProcess {
        guard let name = command.first else { throw HeadlessError("no command") }
        guard let path = executable(name, path: environment["PATH"]) else {
            throw HeadlessError(code: .commandNotFound, "\(name): command not found")
        }
        let variables = environment.map { "\($0.key)=\($0.value)" }.sorted()
        var process: Int32 = 0
        let descriptors = [standard.input, standard.output, standard.error]
        let result = withCStrings(command) { arguments in
            withCStrings(variables) { variables in
                socket.withLock { socket in
                    guard let socket else { return -EPIPE }
                    return supervisor_spawn(socket, path, arguments, variables, descriptors, group, &process)
                }
            }
        }
        guard result >= 0 else {
            throw HeadlessError(code: .commandNotExecutable, "\(name): \(errorText(-result))")
        }
        return SupervisedProcess(supervisor: self, name: name, id: process, exit: result)
    }

    /// Whether the process was still there to get it.
    fileprivate func send(_ signal: Int32, to process: Int32) -> Bool {
        socket.withLock { socket in
            guard let socket else { return false }
            return supervisor_signal(socket, process, signal) == 0
        }
    }
}

/// A process that a supervisor started. Dropping it neither ends the process nor waits for it.
public final class SupervisedProcess: Sendable {
    public let name: String
    public let id: Int32
    private let supervisor: Supervisor
    /// Yields the wait status at the process's end.
    private let exit: Int32
    private let status = Mutex<ExitStatus?>(nil)

    fileprivate init(supervisor: Supervisor, name: String, id: Int32, exit: Int32) {
        self.supervisor = supervisor
        self.name = name
        self.id = id
        self.exit = exit
    }

    deinit { close(exit) }

    /// Readable once the process has ended, for a poll beside other descriptors.
    public var exitDescriptor: Int32 { exit }

    /// Sends a signal; false if the process has ended. Never reaches another process that got the same number.
    @discardableResult
    public func signal(_ number: Int32) -> Bool { supervisor.send(number, to: id) }

    /// Waits for the end, at most `timeout` (`nil`: for ever). `nil` if it still runs then.
    public func wait(timeout: Duration? = nil) -> ExitStatus? {
        if let known = status.withLock({ $0 }) { return known }
        // Not under the lock: another thread may want to know whether it runs.
        guard waitReadable([exit], timeout: timeout).contains(exit) else { return nil }
        return status.withLock { status in
            if let status { return status }
            var raw: Int32 = 0
            // Without a status the supervisor itself is gone, and the kernel has killed the process.
            let count = read(exit, &raw, MemoryLayout<Int32>.size)
            status = count > 0 ? ExitStatus(waitStatus: raw) : .signalled(SIGKILL)
            return status
        }
    }

    public var isRunning: Bool { wait(timeout: .zero) == nil }

    /// Asks it to end with SIGTERM, then forces it.
    public func end(grace: Duration = .seconds(1)) {
        signal(SIGTERM)
        if wait(timeout: grace) == nil { kill() }
    }

    /// SIGKILL, and waits until it is gone.
    public func kill() {
        signal(SIGKILL)
        _ = wait()
    }
}

public enum ExitStatus: Equatable, Sendable {
    case exited(Int32)
    case signalled(Int32)

    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7f
        self = signal == 0 ? .exited((waitStatus >> 8) & 0xff) : .signalled(signal)
    }

    /// As a shell gives it: 128 + n for a signal.
    public var code: Int32 {
        switch self {
        case .exited(let code): code
        case .signalled(let signal): 128 + signal
        }
    }
}
