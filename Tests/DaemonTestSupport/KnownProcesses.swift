public import AudioPolicy
import Glibc

/// Processes as the system would know them: every one is this test's, in the sandbox that it is told.
public final class KnownProcesses: ProcessInspector {
    public var sandbox: ProcessFacts.Sandbox?
    /// Whether the system knows any.
    public var isBlind = false

    /// Whether each look finds another program, as if every connection were another's.
    public var tellsApart = false
    private var looks: Int32 = 0

    public let userID: UInt32 = getuid()

    public init() {}

    public func facts(of pid: Int32) -> ProcessFacts? {
        if isBlind { return nil }
        looks += tellsApart ? 1 : 0
        return ProcessFacts(
            pid: pid + looks, parent: 1, userID: userID, started: 0, executable: "/usr/bin/tester", name: "tester",
            sessionID: 1, sandbox: sandbox)
    }
}
