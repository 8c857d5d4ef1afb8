import AudioSession
import EventLoop

/// Listens to the claims with advanced ducking that have something to be listened to, and tells which of them are silent:
/// their holders' own playback and their microphones alike, for the hang time.
///
/// A claim begins as if somebody had just spoken, so that it acts at once and until its silence is known. Pure, as
/// `ObservedClaims`.
struct AdvancedClaims {
    private struct Listened {
        /// The streams that can be heard now. Without one there is silence, and no meter needed to prove it.
        var open: Set<StreamID>
        var ear = Ear()
        var isSilent = false
        var deadline: LoopInstant
    }

    private var hang: Duration
    private var listened: [ClaimID: Listened] = [:]
    /// Claims that have fallen silent or have been heard since `takeChanges`.
    private var touched: Set<ClaimID> = []
    /// The streams that are to be metered.
    private(set) var metered: Set<StreamID> = []

    init(settings: PolicySettings) { hang = settings.timing.hang }

    /// The new figure holds from the next sound of each claim.
    mutating func setSettings(_ settings: PolicySettings) { hang = settings.timing.hang }

    var claims: Set<ClaimID> { Set(listened.keys) }

    func isListening(to claim: ClaimID) -> Bool { listened[claim] != nil }

    func isSilent(_ claim: ClaimID) -> Bool { listened[claim]?.isSilent ?? false }

    var nextDeadline: LoopInstant? { listened.values.lazy.filter { !$0.isSilent }.map(\.deadline).min() }

    // MARK: Input

    /// Takes the streams under a claim that can be heard now; `nil`: it is not to be listened to, and never silent.
    mutating func set(_ claim: ClaimID, open: Set<StreamID>?, now: LoopInstant) {
        guard open != listened[claim]?.open else { return }
        if let open {
            if listened[claim] == nil {
                listened[claim] = Listened(open: open, deadline: now + hang)
                listened[claim]?.ear.begin(now: now)
            }
            listened[claim]?.open = open
        } else {
            listened[claim] = nil
        }
        metered = listened.values.reduce(into: []) { $0.formUnion($1.open) }
    }

    /// A meter's report.
    mutating func level(_ id: StreamID, peak: Double, now: LoopInstant) {
        guard metered.contains(id) else { return }
        for (claim, entry) in listened where entry.open.contains(id) {
            guard listened[claim]?.ear.hear(peak, now: now) == true, entry.isSilent else { continue }
            listened[claim]?.isSilent = false
            listened[claim]?.deadline = now + hang
            touched.insert(claim)
        }
    }

    /// Lets everything happen that was due by now.
    mutating func advance(to now: LoopInstant) {
        // Sound comes 25 times a second: the deadline follows it lazily, when it is reached.
        for (claim, entry) in listened where !entry.isSilent && entry.deadline <= now {
            var entry = entry
            let end = entry.ear.deadline(after: hang, now: now)
            entry.isSilent = entry.open.isEmpty ? end <= now : entry.ear.hasBeenSilent(for: hang, now: now)
            if entry.isSilent {
                touched.insert(claim)
            } else {
                entry.deadline = entry.ear.deadline(after: hang, now: now)
            }
            listened[claim] = entry
        }
    }

    /// The server is gone, and all streams with it.
    mutating func removeAll() {
        touched.formUnion(listened.keys)
        listened.removeAll()
        metered.removeAll()
    }

    // MARK: Output

    mutating func takeChanges() -> Set<ClaimID> {
        defer { touched.removeAll() }
        return touched
    }
}
