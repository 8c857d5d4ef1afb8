/// What the command ends with, from `sysexits.h`.
public enum ExitCode {
    public static let ok: Int32 = 0
    public static let usage: Int32 = 64
    /// A file's contents are not what they should be.
    public static let dataFormat: Int32 = 65
    /// A file cannot be read.
    public static let noInput: Int32 = 66
    /// No sound server, or no daemon.
    public static let unavailable: Int32 = 69
    public static let software: Int32 = 70
    public static let cannotCreate: Int32 = 73
    /// A call has the microphone.
    public static let busy: Int32 = 75
    public static let notPermitted: Int32 = 77
    public static let configuration: Int32 = 78
}

/// Why a command ends early: one line for people, and the exit code.
public struct CommandFailure: Error, Equatable, Sendable {
    public var code: Int32
    public var message: String

    public init(_ code: Int32, _ message: String) {
        self.code = code
        self.message = message
    }
}
