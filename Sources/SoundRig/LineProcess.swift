import Glibc
public import HeadlessAudio
import Synchronization

/// A program in a private server that is spoken with in lines.
public final class LineProcess: Sendable {
    public let process: SupervisedProcess
    /// Both directions of the program's standard input and output.
    private let channel: Int32
    private let state = Mutex(State())

    private struct State {
        var lines: [String] = []
        /// Bytes after the last line.
        var rest: [UInt8] = []
        var hasEnded = false
    }

    public init(
        _ command: [String], in server: HeadlessServer, environment: [String: String] = [:]
    ) throws {
        let ends = try makeChannel()
        let log = open(server.directory + "/log/line-process.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer {
            close(ends.other)
            close(log)
        }
        do {
            process = try server.spawn(
                command, environment: environment, standard: .init(input: ends.other, output: ends.other, error: log))
        } catch {
            close(ends.own)
            throw error
        }
        channel = ends.own
        startReading()
    }

    deinit {
        process.signal(SIGKILL)
        // Wakes the reader, which has its own reference and closes it.
        shutdown(channel, Int32(SHUT_RDWR))
        close(channel)
    }

    private func startReading() {
        let descriptor = fcntl(channel, F_DUPFD_CLOEXEC, 0)
        startThread { [weak self] in
            var bytes = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = read(descriptor, &bytes, bytes.count)
                guard let self, count > 0 else { break }
                self.take(bytes[..<count])
            }
            close(descriptor)
            self?.end()
        }
    }

    /// What has no newline after it at the end is a line too.
    private func end() {
        state.withLock { state in
            if !state.rest.isEmpty { state.lines.append(String(decoding: state.rest, as: UTF8.self)) }
            state.rest = []
            state.hasEnded = true
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        state.withLock { state in
            state.rest += bytes
            let parts = state.rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            guard let last = parts.last else { return }
            state.lines += parts.dropLast().map { String(decoding: $0, as: UTF8.self) }
            state.rest = Array(last)
        }
    }

    /// Everything it has said so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// Whether its output has ended.
    public var hasEnded: Bool { state.withLock { $0.hasEnded } }

    public func send(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard Glibc.send(channel, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw SoundRigError("\(process.name) does not listen any more")
        }
    }

    /// The first line, from the given one on, that fits.
    public func line(
        from start: Int = 0, within deadline: Duration = .seconds(10), where fits: (String) -> Bool
    ) async throws -> String {
        var found: String?
        let came = await eventually(within: deadline) {
            found = state.withLock { state in state.lines.dropFirst(start).first(where: fits) }
            return found != nil || hasEnded
        }
        if let found { return found }
        let reason = came ? "has ended" : "did not say it in time"
        throw SoundRigError("\(process.name) \(reason); it said: \(lines.suffix(8).joined(separator: " | "))")
    }
}
