/// The outcome of arbitration as a driver is told it: the winner, and each claim whose standing is new.
///
/// What is not named is as it was, so that telling costs what has changed and not how many claims there are.
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

    /// The claim that configures route and profile; `nil`: the session is passive.
    public var winner: ClaimID?
    /// Claims that are new, or whose claim or standing is another than before.
    public var changed: [Entry]
    public var released: [ClaimID]

    public init(winner: ClaimID? = nil, changed: [Entry] = [], released: [ClaimID] = []) {
        self.winner = winner
        self.changed = changed
        self.released = released
    }
}
