/// Ranks the claims: who wins, who is subordinate, who is refused, and what each is told. Says nothing of effects.
///
/// Acquiring and releasing cost the same among ten claims and among ten thousand.
public struct Arbiter: Sendable {
    /// What one request came to. The state is `nil` where arbitration is as it was.
    public struct Outcome: Equatable, Sendable {
        public var state: SessionState?
        public var events: [Delivery]

        public struct Delivery: Equatable, Sendable {
            public var claim: ClaimID
            public var event: AudioSessionEvent
        }
    }

    private struct Held: Sendable {
        var claim: Claim
        var observed: ObservedClaim.Key?
    }

    private var held: [ClaimID: Held] = [:]
    private var observedIDs: [ObservedClaim.Key: ClaimID] = [:]
    /// The contest: claims that count and have a rank, by place, the best place last.
    private var contest = Contest()
    /// Calls and group calls that count, explicit and observed.
    private var calls: Set<ClaimID> = []
    private var interruptions = Interruptions()
    private var lastNumber: UInt64 = 0
    public private(set) var winner: ClaimID?

    public init() {}

    public var isEmpty: Bool { held.isEmpty }

    /// Every claim with its standing, in the order of acquisition.
    public var entries: [SessionState.Entry] { held.keys.sorted().compactMap(entry) }

    public subscript(id: ClaimID) -> SessionState.Entry? { entry(id) }

    /// Whether the session as a whole is interrupted.
    public var isInterrupted: Bool { !interruptions.session.isEmpty }

    /// Whether the claim's holder has been told so and not yet that it is over.
    public func isInterrupted(_ id: ClaimID) -> Bool { interruptions.isInterrupted(id) }

    // MARK: Requests

    /// Grants a claim, possibly as a subordinate.
    /// - Throws: `busyWithCall` for `.recording` while a call or group call that counts is held.
    public mutating func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system, owner: ClaimOwner,
        options: ClaimOptions = ClaimOptions()
    ) throws(AudioSessionError) -> (ClaimID, Outcome) {
        guard !kind.traits.mayBeRefused || calls.isEmpty else { throw .busyWithCall }
        let claim = Claim(
            id: nextID(), kind: kind, origin: .explicit, owner: owner, output: output, isActivated: kind != .call,
            options: options)
        insert(Held(claim: claim))
        return (claim.id, settle(changed: [claim.id]))
    }

    /// Records another output wish; of a subordinate, for when it becomes the winner.
    public mutating func update(_ id: ClaimID, output: AudioSessionOutput) -> Outcome {
        // A wish of a claim that does not win changes nothing that a driver could apply.
        change(id, isApplied: id == winner) { $0.output = output }
    }

    /// Lets a `.call` take route and profile, or takes that back.
    public mutating func setActivated(_ id: ClaimID, _ activated: Bool) -> Outcome {
        change(id, isApplied: id == winner) { if $0.kind == .call { $0.isActivated = activated } }
    }

    /// Says how strongly the claim turns others down.
    public mutating func setDucking(_ id: ClaimID, _ ducking: AudioSessionDucking) -> Outcome {
        change(id, isApplied: true) { $0.options.ducking = ducking }
    }

    /// Interrupts the session as a whole, for a reason that is not in force yet.
    public mutating func interrupt(_ reason: AudioSessionInterruption) -> Outcome {
        guard interruptions.begin(reason) else { return Outcome(state: nil, events: []) }
        return settle(sessionChanged: true)
    }

    /// Ends one reason of the session's interruption, and the interruption with the last of them. Where `mayResume` is
    /// false, nobody is to start again by itself.
    public mutating func endInterruption(_ reason: AudioSessionInterruption, mayResume: Bool = true) -> Outcome {
        guard interruptions.end(reason) else { return Outcome(state: nil, events: []) }
        return settle(sessionChanged: true, mayResume: mayResume)
    }

    /// The winner's state once more, for a driver that must assert it again; `nil` without a winner.
    public var reassertion: SessionState? {
        winner.flatMap(entry).map { SessionState(winner: $0.claim.id, changed: [$0]) }
    }

    /// Does nothing for a claim that is unknown or released.
    public mutating func release(_ id: ClaimID) -> Outcome {
        guard remove(id) else { return Outcome(state: nil, events: []) }
        return settle(released: [id])
    }

    /// Takes over what the driver sees of programs that hold no claim themselves.
    public mutating func observe(changed: [ObservedClaim], gone: [ObservedClaim.Key]) -> Outcome {
        var touched: [ClaimID] = []
        var released: [ClaimID] = []
        for key in gone {
            guard let id = observedIDs[key], remove(id) else { continue }
            released.append(id)
        }
        for claim in changed {
            if let id = observedIDs[claim.key] {
                guard var entry = held[id], entry.claim.counts != claim.counts || entry.claim.owner != claim.owner
                else { continue }
                withdraw(entry.claim)
                entry.claim.counts = claim.counts
                entry.claim.owner = claim.owner
                held[id] = entry
                enter(entry.claim)
                touched.append(id)
            } else {
                let id = nextID()
                let new = Claim(
                    id: id, kind: claim.key.kind, origin: .observed, owner: claim.owner, counts: claim.counts)
                observedIDs[claim.key] = id
                insert(Held(claim: new, observed: claim.key))
                touched.append(id)
            }
        }
        return settle(changed: touched, released: released)
    }

    // MARK: Bookkeeping

    private mutating func nextID() -> ClaimID {
        lastNumber += 1
        return ClaimID(number: lastNumber)
    }

    private mutating func insert(_ entry: Held) {
        held[entry.claim.id] = entry
        enter(entry.claim)
        if entry.claim.origin == .explicit { interruptions.set(entry.claim) }
    }

    private mutating func enter(_ claim: Claim) {
        guard claim.counts else { return }
        if claim.kind.isCall { calls.insert(claim.id) }
        contest.enter(claim)
    }

    private mutating func withdraw(_ claim: Claim) {
        guard claim.counts else { return }
        if claim.kind.isCall { calls.remove(claim.id) }
        contest.withdraw(claim)
    }

    private mutating func remove(_ id: ClaimID) -> Bool {
        guard let entry = held.removeValue(forKey: id) else { return false }
        if let key = entry.observed { observedIDs[key] = nil }
        withdraw(entry.claim)
        interruptions.remove(id)
        return true
    }

    private mutating func change(_ id: ClaimID, isApplied: Bool, _ body: (inout Claim) -> Void) -> Outcome {
        guard var entry = held[id] else { return Outcome(state: nil, events: []) }
        let before = entry.claim
        body(&entry.claim)
        guard entry.claim != before else { return Outcome(state: nil, events: []) }
        held[id] = entry
        if entry.claim.origin == .explicit { interruptions.set(entry.claim) }
        return settle(changed: isApplied ? [id] : [])
    }

    /// Finds the winner anew, and says what has changed with it and who is to be told.
    private mutating func settle(
        changed: [ClaimID] = [], released: [ClaimID] = [], sessionChanged: Bool = false, mayResume: Bool = true
    ) -> Outcome {
        let before = winner
        winner = contest.best
        var ids = changed
        var events: [Outcome.Delivery] = []
        if before != winner {
            for id in [before, winner] { if let id, held[id] != nil, !ids.contains(id) { ids.append(id) } }
            if let before, held[before] != nil { events.append(.init(claim: before, event: .subordinated)) }
        }
        let (begun, ended) = interruptions.settle(changed, sessionChanged: sessionChanged)
        for claim in begun { events.append(.init(claim: claim.id, event: .interrupted)) }
        for claim in ended {
            let shouldResume = mayResume && !hasNewerCall(than: claim)
            events.append(.init(claim: claim.id, event: .interruptionEnded(shouldResume: shouldResume)))
        }
        // Whoever is told that an interruption is over finds the winner's state in force.
        if !ended.isEmpty, let winner, !ids.contains(winner) { ids.append(winner) }
        guard !ids.isEmpty || !released.isEmpty else { return Outcome(state: nil, events: events) }
        let state = SessionState(winner: winner, changed: ids.compactMap(entry), released: released)
        return Outcome(state: state, events: events)
    }

    private func hasNewerCall(than claim: Claim) -> Bool {
        calls.contains { id in
            guard id > claim.id, let other = held[id]?.claim else { return false }
            return !other.owner.isSame(as: claim.owner)
        }
    }

    private func entry(_ id: ClaimID) -> SessionState.Entry? {
        guard let entry = held[id] else { return nil }
        let standing: ClaimStanding =
            if entry.claim.kind.traits.rank == nil || !entry.claim.counts { .unranked } else if id == winner {
                .winner
            } else { .subordinate }
        return SessionState.Entry(claim: entry.claim, standing: standing, observed: entry.observed)
    }
}

/// The claims that compete, best last within each place. A place is a rank and an origin: an observed claim outranks an
/// explicit one only by a higher rank, never by being newer.
private struct Contest: Sendable {
    /// Ids in rising order. Withdrawn ones stay until they surface or outnumber the others.
    private struct Place: Sendable {
        var ids: [ClaimID] = []
        var members: Set<ClaimID> = []
    }

    private var places = [Place](repeating: Place(), count: 8)

    private static func index(_ claim: Claim) -> Int? {
        claim.kind.traits.rank.map { $0 * 2 + (claim.origin == .explicit ? 1 : 0) }
    }

    mutating func enter(_ claim: Claim) {
        guard let index = Self.index(claim), places[index].members.insert(claim.id).inserted else { return }
        if let last = places[index].ids.last, last >= claim.id {
            // One that counts again goes back to its old place among its equals.
            let position = places[index].ids.firstIndex { $0 >= claim.id } ?? places[index].ids.endIndex
            if places[index].ids[position] != claim.id { places[index].ids.insert(claim.id, at: position) }
        } else {
            places[index].ids.append(claim.id)
        }
    }

    mutating func withdraw(_ claim: Claim) {
        guard let index = Self.index(claim), places[index].members.remove(claim.id) != nil else { return }
        while let last = places[index].ids.last, !places[index].members.contains(last) {
            places[index].ids.removeLast()
        }
        if places[index].ids.count > 2 * places[index].members.count + 16 {
            let members = places[index].members
            places[index].ids.removeAll { !members.contains($0) }
        }
    }

    var best: ClaimID? {
        for place in places.reversed() { if let last = place.ids.last { return last } }
        return nil
    }
}
