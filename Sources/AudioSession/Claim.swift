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

    public init(name: String, pid: Int32? = nil, sandbox: String? = nil) {
        self.name = name
        self.pid = pid
        self.sandbox = sandbox
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

    public init(
        id: ClaimID, kind: AudioSessionClientKind, origin: ClaimOrigin, owner: ClaimOwner,
        output: AudioSessionOutput = .system, isActivated: Bool = true, counts: Bool = true
    ) {
        self.id = id
        self.kind = kind
        self.origin = origin
        self.owner = owner
        self.output = output
        self.isActivated = isActivated
        self.counts = counts
    }
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
