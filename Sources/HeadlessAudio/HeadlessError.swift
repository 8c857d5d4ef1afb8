/// Why a private server, or a command in it, could not be started.
public struct HeadlessError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: Sendable {
        case notReady, commandNotFound, commandNotExecutable
    }

    public let code: Code
    /// One sentence, and what the part that failed said last.
    public let description: String

    init(code: Code = .notReady, _ description: String) {
        self.code = code
        self.description = description
    }
}
