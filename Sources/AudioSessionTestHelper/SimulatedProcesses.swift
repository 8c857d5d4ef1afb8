public import AudioPolicy

/// Processes made up for a test: each program has an executable of its own and is nobody's child.
public final class SimulatedProcesses: ProcessInspector {
    public let userID: UInt32 = 1000
    private var known: [Int32: ProcessFacts] = [:]
    private var next: Int32 = 1000

    public init() {}

    public func facts(of pid: Int32) -> ProcessFacts? { known[pid] }

    /// Starts a process and returns its pid.
    @discardableResult
    public func start(_ name: String, parent: Int32 = 1, executable: String? = nil) -> Int32 {
        next += 1
        known[next] = ProcessFacts(
            pid: next, parent: parent, userID: userID, started: 0, executable: executable ?? "/usr/bin/\(name)",
            name: name, sessionID: next)
        return next
    }

    public func end(_ pid: Int32) { known[pid] = nil }
}
