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
            environment: variables(),
            out: { try? writeAll($0, to: STDOUT_FILENO) }, err: { try? writeAll($0, to: STDERR_FILENO) })
    }

    /// The process's variables; the first of a name is the one that counts.
    private static func variables() -> [String: String] {
        var found: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            next += 1
            let text = String(cString: entry)
            guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(text[..<equals])
            if found[name] == nil { found[name] = String(text[text.utf8.index(after: equals)...]) }
        }
        return found
    }
}
