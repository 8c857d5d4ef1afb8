import CSystemd
import Glibc

/// One-line sentences on the standard error, with the journal's priorities where the journal reads them.
public struct DaemonLog: Sendable {
    public enum Level: Int, Sendable {
        case error = 3
        case warning, notice, info, debug
    }

    private let forJournal: Bool

    /// `JOURNAL_STREAM` names the journal's end of the standard error; a shell inside of a service may have inherited the
    /// variable without that end.
    public init(environment: [String: String]) {
        var facts = stat()
        forJournal =
            fstat(STDERR_FILENO, &facts) == 0
            && environment["JOURNAL_STREAM"] == "\(facts.st_dev):\(facts.st_ino)"
    }

    public func callAsFunction(_ level: Level, _ sentence: String) {
        let line = (forJournal ? "<\(level.rawValue)>" : "sordino: ") + sentence + "\n"
        try? writeAll(line, to: STDERR_FILENO)
    }
}

/// What the service manager is told, if one started us.
enum ServiceManager {
    static func ready() { sd_notify(0, "READY=1") }
    static func status(_ status: String) { sd_notify(0, "STATUS=\(status)") }
    static func stopping() { sd_notify(0, "STOPPING=1") }

    static func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        sd_notify(0, "RELOADING=1\nMONOTONIC_USEC=\(time.tv_sec * 1_000_000 + time.tv_nsec / 1000)")
    }
}
