/// Who is interrupted: everybody while the session itself is (no sound server, sleep, another user's seat), and calls and
/// recordings while an interrupting claim of another owner is held that began later.
struct Interruptions: Sendable {
    /// A claim's place in time: of its acquisition, or of its activation if that came later.
    private typealias Moment = UInt64

    private struct Party: Sendable {
        var claim: Claim
        var since: Moment
    }

    private(set) var session: Set<AudioSessionInterruption> = []
    private var parties: [ClaimID: Party] = [:]
    private var interrupters: Set<ClaimID> = []
    private var interruptible: Set<ClaimID> = []
    private var interrupted: Set<ClaimID> = []
    private var lastMoment: Moment = 0
    /// Calls and recordings must be looked at again.
    private var isStale = false

    func isInterrupted(_ id: ClaimID) -> Bool { interrupted.contains(id) }

    /// Takes in an explicit claim that is new or different.
    mutating func set(_ claim: Claim) {
        var since = parties[claim.id]?.since
        if since == nil || claim.isActivated && parties[claim.id]?.claim.isActivated == false {
            lastMoment += 1
            since = lastMoment
        }
        parties[claim.id] = Party(claim: claim, since: since ?? lastMoment)
        if claim.isInterruptible { interruptible.insert(claim.id) }
        let wasInterrupter = interrupters.contains(claim.id)
        if claim.interrupts { interrupters.insert(claim.id) } else { interrupters.remove(claim.id) }
        if wasInterrupter || claim.interrupts { isStale = true }
    }

    mutating func remove(_ id: ClaimID) {
        parties[id] = nil
        interruptible.remove(id)
        interrupted.remove(id)
        if interrupters.remove(id) != nil { isStale = true }
    }

    /// Returns whether anything is another now.
    mutating func begin(_ reason: AudioSessionInterruption) -> Bool { session.insert(reason).inserted }

    mutating func end(_ reason: AudioSessionInterruption) -> Bool { session.remove(reason) != nil }

    /// Claims that are interrupted from now on, and those that are no longer. `candidates`: claims that are new.
    mutating func settle(_ candidates: [ClaimID], sessionChanged: Bool) -> (begun: [Claim], ended: [Claim]) {
        // A claim that is new began later than whatever interrupts.
        guard sessionChanged || isStale || !session.isEmpty else { return ([], []) }
        var ids = Set(candidates)
        if sessionChanged { ids.formUnion(parties.keys) }
        if isStale { ids.formUnion(interruptible) }
        isStale = false
        var begun: [Claim] = []
        var ended: [Claim] = []
        for id in ids.sorted() {
            guard let party = parties[id] else { continue }
            let isNow = !session.isEmpty || isInterruptedByOthers(party)
            if isNow, interrupted.insert(id).inserted { begun.append(party.claim) }
            if !isNow, interrupted.remove(id) != nil { ended.append(party.claim) }
        }
        return (begun, ended)
    }

    private func isInterruptedByOthers(_ party: Party) -> Bool {
        party.claim.isInterruptible
            && interrupters.contains { id in
                guard let other = parties[id], other.since > party.since else { return false }
                return !other.claim.owner.isSame(as: party.claim.owner)
            }
    }
}

/// What interrupts the whole session.
public enum AudioSessionInterruption: String, CaseIterable, Hashable, Sendable {
    /// There is no sound server. Planned anew when one is back.
    case server
    /// The machine sleeps. Effects are kept.
    case sleep
    /// The seat is another user's. Effects are kept, undoing is allowed, nothing new begins.
    case seat
}
