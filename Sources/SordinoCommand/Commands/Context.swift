import FoundationEssentials
import Glibc
import SordinoDaemon

/// What a command has to do with the world: where its words go, and the variables it was started with.
struct Context {
    var environment: [String: String]
    /// To the standard output.
    var out: @Sendable (String) -> Void
    /// To the standard error.
    var err: @Sendable (String) -> Void

    static func process() -> Context {
        Context(
            environment: ProcessInfo.processInfo.environment,
            out: { write($0, to: STDOUT_FILENO) }, err: { write($0, to: STDERR_FILENO) })
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno != EINTR { return }
                rest = rest.dropFirst(max(0, count))
            }
        }
    }
}
