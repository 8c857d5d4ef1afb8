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
        // Whoever does not read any more is told nothing more.
        Context(
            environment: ProcessInfo.processInfo.environment,
            out: { try? writeAll($0, to: STDOUT_FILENO) }, err: { try? writeAll($0, to: STDERR_FILENO) })
    }
}
