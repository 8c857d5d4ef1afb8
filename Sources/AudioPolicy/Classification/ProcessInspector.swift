/// What the system itself says of a process; nothing here is a process's own claim about itself.
public struct ProcessFacts: Equatable, Sendable {
    public var pid: Int32
    public var parent: Int32
    public var userID: UInt32
    /// Seconds since 1970.
    public var started: Double
    /// The executable's path; empty where it cannot be read.
    public var executable: String
    /// The short name (`comm`).
    public var name: String
    /// Its session's leader has pid == sessionID.
    public var sessionID: Int32
    /// The leaf cgroup, if it is an application's own (`app-*.scope`, `app-*.service`).
    public var applicationUnit: String?
    /// The sandbox's application id and instance, as the system knows them.
    public var sandbox: Sandbox?

    public struct Sandbox: Hashable, Sendable {
        public var application: String
        public var instance: String

        public init(application: String, instance: String) {
            self.application = application
            self.instance = instance
        }
    }

    public init(
        pid: Int32, parent: Int32, userID: UInt32, started: Double, executable: String, name: String,
        sessionID: Int32, applicationUnit: String? = nil, sandbox: Sandbox? = nil
    ) {
        self.pid = pid
        self.parent = parent
        self.userID = userID
        self.started = started
        self.executable = executable
        self.name = name
        self.sessionID = sessionID
        self.applicationUnit = applicationUnit
        self.sandbox = sandbox
    }
}

public protocol ProcessInspector {
    /// `nil` where there is no such process.
    func facts(of pid: Int32) -> ProcessFacts?
    /// The user whose session this is.
    var userID: UInt32 { get }
    /// Seconds since 1970; no process that a new stream belongs to started later.
    var now: Double { get }
    /// The process that calls itself `pid` in a PID namespace of its own and runs an executable of that file name, if
    /// exactly one of ours does.
    func process(namespaced pid: Int32, executable: String) -> ProcessFacts?
}

extension ProcessInspector {
    public var now: Double { .infinity }
    public func process(namespaced pid: Int32, executable: String) -> ProcessFacts? { nil }
}
