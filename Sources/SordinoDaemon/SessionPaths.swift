import AudioPolicy
import Glibc

/// Where Sordino keeps its files, by the variables of the XDG base directories.
public struct SessionPaths: Equatable, Sendable {
    /// `$XDG_RUNTIME_DIR/sordino`: lock and ledger; gone with the session.
    public var runtime: String
    /// `$XDG_STATE_HOME/sordino`: the ledger's lasting copy; `nil` where there is no home.
    public var state: String?
    /// `$XDG_CONFIG_HOME/sordino`: the user's configuration; `nil` where there is no home.
    public var configuration: String?

    public init(environment: [String: String]) throws(CommandFailure) {
        func base(_ name: String, home: String) -> String? {
            if let path = environment[name], path.hasPrefix("/") { return path + "/sordino" }
            guard let directory = environment["HOME"], directory.hasPrefix("/") else { return nil }
            return "\(directory)/\(home)/sordino"
        }
        state = base("XDG_STATE_HOME", home: ".local/state")
        configuration = base("XDG_CONFIG_HOME", home: ".config")
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
            throw CommandFailure(ExitCode.unavailable, "XDG_RUNTIME_DIR is not set: there is no session to look after")
        }
        runtime = directory + "/sordino"
    }

    public var lock: String { runtime + "/lock" }
    public var ledger: String { runtime + "/ledger" }

    /// Makes the runtime directory, for its user alone. One that belongs to somebody else is not used.
    public func makeRuntimeDirectory() throws(CommandFailure) {
        guard mkdir(runtime, 0o700) == 0 || errno == EEXIST else {
            let code = errno == EACCES || errno == EPERM ? ExitCode.notPermitted : ExitCode.cannotCreate
            throw CommandFailure(code, "cannot make \(runtime.shown(limit: 200)): \(errnoText())")
        }
        var facts = stat()
        guard lstat(runtime, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_uid == geteuid() else {
            throw CommandFailure(
                ExitCode.notPermitted, "\(runtime.shown(limit: 200)) is not a directory of this user's")
        }
        if facts.st_mode & 0o077 != 0 { chmod(runtime, 0o700) }
    }
}

/// The words for the last failed system call.
func errnoText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
