/// The outcome of arbitration: all that a driver is told.
public struct SessionState: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        public var claim: Claim
        public var standing: ClaimStanding
        /// The key of an observed claim; `nil` for an explicit one.
        public var observed: ObservedClaim.Key?

        public init(claim: Claim, standing: ClaimStanding, observed: ObservedClaim.Key? = nil) {
            self.claim = claim
            self.standing = standing
            self.observed = observed
        }
    }

    /// Every claim that is held, in the order they were acquired.
    public var claims: [Entry]
    public var winner: ClaimID?

    public init(claims: [Entry] = [], winner: ClaimID? = nil) {
        self.claims = claims
        self.winner = winner
    }
}

/// Turns claims into effects. Knows nothing of ranks and refusals, which are the arbiter's.
///
/// A driver is confined to the loop of the session that owns it; all of its calls and events are made there.
public protocol AudioSessionDriver: AnyObject {
    /// Where its events go. Set once, before anything else is called.
    var onEvent: ((AudioSessionDriverEvent) -> Void)? { get set }
    /// Called once per change of arbitration, and not at all when nothing changed.
    func apply(_ state: SessionState)
    /// One line on the live session, for logs.
    func diagnostics() -> String
}

public enum AudioSessionDriverEvent: Sendable {
    /// The whole list of observed claims, whenever it changes.
    case observed([ObservedClaim])
    /// The sound server is gone; claims are kept.
    case interrupted
    /// It is back and the winner's state has been applied again.
    case interruptionEnded(shouldResume: Bool)
}
