/// The name of a claim while its session lives: `c1`, `c2`, … in order of appearance, never reused.
public struct ClaimID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let number: UInt64

    public init(number: UInt64) { self.number = number }

    public var description: String { "c\(number)" }

    public static func < (a: ClaimID, b: ClaimID) -> Bool { a.number < b.number }
}

/// Where a claim wants its voice to come out.
public enum AudioSessionOutput: String, CaseIterable, Hashable, Sendable {
    /// Whatever the system selects.
    case system
    case speaker
    /// The earpiece.
    case receiver
}

/// Whose a claim is, as far as it can be told to a person.
public struct ClaimOwner: Hashable, Sendable {
    /// The program's own name for itself; untrusted text, escape it where it is shown.
    public var name: String
    /// The process, where it is known and believed.
    public var pid: Int32?
    /// The sandbox's application id (Flatpak, Snap), where there is one.
    public var sandbox: String?
    /// Where its claims come from: the unique name of a bus connection. What the tags of its streams begin with.
    public var connection: String?

    public init(name: String, pid: Int32? = nil, sandbox: String? = nil, connection: String? = nil) {
        self.name = name
        self.pid = pid
        self.sandbox = sandbox
        self.connection = connection
    }

    /// Whether both are one program's, by the first that is known of both: connection, sandbox, process, name.
    public func isSame(as other: ClaimOwner) -> Bool {
        if let connection, connection == other.connection { return true }
        if sandbox != nil || other.sandbox != nil { return sandbox == other.sandbox }
        if let pid, let otherPid = other.pid { return pid == otherPid }
        return name == other.name
    }
}

/// What a claim asks for beside its kind and output.
public struct ClaimOptions: Hashable, Sendable {
    /// While it holds, calls and recordings of other owners are interrupted. Always so for an activated explicit `.call`.
    public var isInterrupting: Bool
    public var ducking: AudioSessionDucking

    public init(isInterrupting: Bool = false, ducking: AudioSessionDucking = AudioSessionDucking()) {
        self.isInterrupting = isInterrupting
        self.ducking = ducking
    }
}

/// How a claim turns others down, where it says so itself.
public struct AudioSessionDucking: Hashable, Sendable {
    public enum Level: String, CaseIterable, Hashable, Sendable {
        /// What the table of effects says for each kind.
        case standard = "default"
        case minimum, medium, maximum
    }

    public var level: Level
    /// Turn down only while somebody speaks: in the claim's own playback, or into a microphone that its holder captures.
    /// Between, others come back up, 1.5 s after the last sound where nobody has configured it. Everything else about the
    /// claim is as without it, and so is a claim whose holder has had no stream yet that could be listened to.
    public var isAdvanced: Bool

    public init(level: Level = .standard, isAdvanced: Bool = false) {
        self.level = level
        self.isAdvanced = isAdvanced
    }
}

public enum ClaimOrigin: String, Hashable, Sendable {
    /// A program acquired it.
    case explicit
    /// Made for the streams of a program that knows nothing of Sordino.
    case observed
}

/// Where a claim stands in the contest.
public enum ClaimStanding: String, Hashable, Sendable {
    /// Highest rank, the newest among equals: configures route and profile.
    case winner
    /// Held, and not the winner.
    case subordinate
    /// Takes no part: an alarm, or an observed claim that does not count.
    case unranked
}

/// One holder's standing request.
public struct Claim: Hashable, Sendable, Identifiable {
    public let id: ClaimID
    public let kind: AudioSessionClientKind
    public let origin: ClaimOrigin
    public var owner: ClaimOwner
    public var output: AudioSessionOutput
    /// Whether it may take route and profile. Only `.call` is held without being active.
    public var isActivated: Bool
    /// Whether it has effects, outranks and refuses (an observed voice that has fallen silent does not).
    public var counts: Bool
    public var options: ClaimOptions

    public init(
        id: ClaimID, kind: AudioSessionClientKind, origin: ClaimOrigin, owner: ClaimOwner,
        output: AudioSessionOutput = .system, isActivated: Bool = true, counts: Bool = true,
        options: ClaimOptions = ClaimOptions()
    ) {
        self.id = id
        self.kind = kind
        self.origin = origin
        self.owner = owner
        self.output = output
        self.isActivated = isActivated
        self.counts = counts
        self.options = options
    }

    /// Whether it interrupts calls and recordings of others while it is held.
    var interrupts: Bool { origin == .explicit && (options.isInterrupting || kind == .call && isActivated) }

    /// Whether an interrupting claim of another owner interrupts it.
    var isInterruptible: Bool { origin == .explicit && (kind.isCall || kind == .recording) }
}

/// What a driver sees of the programs that know nothing of Sordino: one per owner and kind.
public struct ObservedClaim: Hashable, Sendable {
    /// The driver's own name for it, stable while it lives.
    public struct Key: Hashable, Sendable {
        public let owner: String
        public let kind: AudioSessionClientKind

        public init(owner: String, kind: AudioSessionClientKind) {
            self.owner = owner
            self.kind = kind
        }
    }

    public let key: Key
    public var owner: ClaimOwner
    public var counts: Bool

    public init(key: Key, owner: ClaimOwner, counts: Bool) {
        self.key = key
        self.owner = owner
        self.counts = counts
    }
}
