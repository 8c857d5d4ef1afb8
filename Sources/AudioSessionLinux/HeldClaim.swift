import AudioSession

/// Where a claim is held now.
enum Seat: Hashable {
    /// The object's path on the bus.
    case daemon(path: String)
    case embedded(ClaimID)
}

/// A claim as the program has it, wherever it is held.
struct HeldClaim {
    let claim: AudioSessionClaim
    var output: AudioSessionOutput
    /// Whether the holder of a `.call` has let it take route and profile.
    var isActivated = false
    /// `nil`: nowhere; it is on its way, or has been refused and waits.
    var seat: Seat?
    /// The daemon has been asked for it and has not answered.
    var isAsked = false
    /// It is to be asked for once more should the answer be a refusal: something has changed since.
    var isAskedAgain = false
    /// Its holder has been told so and not yet that it is over.
    var isInterrupted = false
    /// Its holder was told so last, as far as it is known.
    var isSubordinated = false

    init(_ claim: AudioSessionClaim, output: AudioSessionOutput, seat: Seat) {
        self.claim = claim
        self.output = output
        self.seat = seat
    }

    /// In this order the claims of one program are acquired anew, the winner among them last: the lower ranks first,
    /// and the older ones among equals.
    static func isBefore(_ a: HeldClaim, _ b: HeldClaim) -> Bool {
        (a.claim.kind.traits.rank ?? -1, a.claim.id) < (b.claim.kind.traits.rank ?? -1, b.claim.id)
    }
}
