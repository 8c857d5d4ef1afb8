import Glibc

/// Says on standard error how far the measurement is: on a terminal in one line, else in a line now and then.
final class Progress {
    private static let rest = 10_000.0

    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var name = ""
    private var lastLine = 0.0

    func begin(_ name: String) {
        self.name = name
        lastLine = monotonic()
        if isTerminal { put("measuring \(name) …") } else { writeError("measuring \(name) …") }
    }

    func show(_ done: Int, of count: Int) {
        if isTerminal {
            put("\r\u{1B}[Kmeasuring \(name) … \(done)/\(count)")
        } else if monotonic() - lastLine >= Self.rest {
            lastLine = monotonic()
            writeError("measuring \(name) … \(done)/\(count)")
        }
    }

    /// - Parameter seconds: how long it took.
    func end(_ seconds: Double) {
        let line = "measured \(name) in \(Int(seconds.rounded())) s"
        if isTerminal { put("\r\u{1B}[K\(line)\n") } else { writeError(line) }
    }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
