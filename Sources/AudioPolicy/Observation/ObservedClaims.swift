import AudioSession
import EventLoop

/// Makes claims on behalf of programs that know nothing of Sordino, one per owner and kind, and decides when each counts.
///
/// A voice client holds its streams open for hours and a speech service for days, so presence alone says little: a claim
/// of such a kind counts while it is heard. Pure: time comes in with each call, and `nextDeadline` says when to call again.
struct ObservedClaims {
    typealias Key = ObservedClaim.Key

    /// One stream as it bears on its claim.
    struct Member: Equatable {
        var owner: ClaimOwner
        var key: Key
        /// Playing (or recording, for an input), uncorked and not muted by its user.
        var isActive: Bool
        var direction: AudioDirection
        /// Taken for a call by capture and playback alone: presence proves nothing, sound must.
        var needsSound: Bool
    }

    private enum Phase: Equatable {
        case idle
        /// Active, not for long enough yet.
        case attack(until: LoopInstant)
        /// Active, and not heard yet, or silent for so long that it stopped counting.
        case unheard
        case counting
        /// No longer active; its effects outlive it for a moment.
        case holding(until: LoopInstant)
    }

    private struct Watched {
        var owner: ClaimOwner
        var streams: Set<StreamID> = []
        var active: Set<StreamID> = []
        var phase = Phase.idle
        var ear = Ear()
        var silenceDeadline: LoopInstant?

        var counts: Bool {
            switch phase {
            case .counting, .holding: true
            case .idle, .attack, .unheard: false
            }
        }

        var deadline: LoopInstant? {
            switch phase {
            case .attack(let until), .holding(let until): until
            case .counting: silenceDeadline
            case .idle, .unheard: nil
            }
        }
    }

    private var timing = PolicySettings.Timing()
    /// Kinds that act on others: only these wait, hold and are listened to.
    private var actingKinds: Set<AudioSessionClientKind> = []
    private var members: [StreamID: Member] = [:]
    private var watched: [Key: Watched] = [:]
    private var deadlines: [Key: LoopInstant] = [:]
    /// Claims that are new, different or gone since `takeChanges`.
    private var touched: Set<Key> = []
    private var announced: [Key: ObservedClaim] = [:]
    /// Set while everything that is there at the start is taken in: what has been playing for who knows how long waits
    /// for no attack.
    var isStarting = false
    /// The streams that are to be metered.
    private(set) var metered: Set<StreamID> = []

    init(settings: PolicySettings) { setSettings(settings) }

    /// What counts now goes on counting; the new figures hold from the next change of each claim.
    mutating func setSettings(_ settings: PolicySettings) {
        timing = settings.timing
        actingKinds = Set(
            AudioSessionClientKind.allCases.filter {
                $0.traits.silenceGroup != nil || !(settings.effects.cells[$0] ?? [:]).isEmpty && $0 != .recording
                    || $0 == .recording && settings.observedRecordingEffects
            })
    }

    var nextDeadline: LoopInstant? { deadlines.values.min() }

    func key(of stream: StreamID) -> Key? { members[stream]?.key }
    func streams(of key: Key) -> Set<StreamID> { watched[key]?.streams ?? [] }
    /// Those that make it count now.
    func activeStreams(of key: Key) -> Set<StreamID> { watched[key]?.active ?? [] }

    // MARK: Input

    /// Takes a stream as it is now; `nil`: it is gone, or makes no claim.
    mutating func setMember(_ id: StreamID, _ member: Member?, now: LoopInstant) {
        let old = members[id]
        guard old != member else { return }
        members[id] = member
        if let old, old.key != member?.key {
            watched[old.key]?.streams.remove(id)
            watched[old.key]?.active.remove(id)
            metered.remove(id)
            review(old.key, now: now)
        }
        guard let member else { return }
        watched[member.key, default: Watched(owner: member.owner)].streams.insert(id)
        watched[member.key]?.owner = member.owner
        // A voice is what is heard of it; a recording is what is recorded.
        let direction: AudioDirection = member.key.kind == .recording ? .input : .output
        if member.isActive && member.direction == direction {
            watched[member.key]?.active.insert(id)
        } else {
            watched[member.key]?.active.remove(id)
        }
        review(member.key, now: now)
    }

    /// A meter's report.
    mutating func level(_ id: StreamID, peak: Double, now: LoopInstant) {
        guard let key = members[id]?.key, var entry = watched[key], entry.active.contains(id) else { return }
        if entry.ear.hear(peak, now: now), entry.phase == .unheard { entry.phase = .counting }
        watched[key] = entry
        settle(key, now: now)
    }

    /// Lets everything happen that was due by now.
    mutating func advance(to now: LoopInstant) {
        for (key, deadline) in deadlines where deadline <= now { expire(key, now: now) }
    }

    /// The server is gone, and all streams with it.
    mutating func removeAll() {
        touched.formUnion(watched.keys)
        members.removeAll()
        watched.removeAll()
        deadlines.removeAll()
        metered.removeAll()
    }

    // MARK: Output

    mutating func takeChanges() -> (changed: [ObservedClaim], gone: [Key]) {
        guard !touched.isEmpty else { return ([], []) }
        var changed: [ObservedClaim] = []
        var gone: [Key] = []
        for key in touched.sorted(by: { ($0.owner, $0.kind.rawValue) < ($1.owner, $1.kind.rawValue) }) {
            guard let entry = watched[key] else {
                if announced.removeValue(forKey: key) != nil { gone.append(key) }
                continue
            }
            let claim = ObservedClaim(key: key, owner: entry.owner, counts: entry.counts)
            if announced[key] != claim {
                announced[key] = claim
                changed.append(claim)
            }
        }
        touched.removeAll()
        return (changed, gone)
    }

    // MARK: The phases

    private func isListenedTo(_ key: Key) -> Bool { key.kind.traits.silenceGroup != nil }

    /// After a change of who is active.
    private mutating func review(_ key: Key, now: LoopInstant) {
        guard var entry = watched[key] else { return }
        if entry.active.isEmpty { deactivate(&entry, key, now: now) } else { activate(&entry, key, now: now) }
        watched[key] = entry
        settle(key, now: now)
    }

    private func activate(_ entry: inout Watched, _ key: Key, now: LoopInstant) {
        let proven = entry.active.contains { members[$0]?.needsSound == false }
        switch entry.phase {
        case .idle:
            if !actingKinds.contains(key.kind) {
                entry.phase = .counting
            } else if isListenedTo(key) && !proven {
                entry.phase = .unheard
            } else {
                begin(&entry, now: now)
            }
        case .holding: entry.phase = .counting
        case .attack, .unheard, .counting: break
        }
    }

    private func begin(_ entry: inout Watched, now: LoopInstant) {
        if timing.attack > .zero && !isStarting {
            entry.phase = .attack(until: now + timing.attack)
        } else {
            entry.phase = .counting
            entry.ear.begin(now: now)
        }
    }

    private func deactivate(_ entry: inout Watched, _ key: Key, now: LoopInstant) {
        switch entry.phase {
        case .counting where actingKinds.contains(key.kind) && timing.hold > .zero:
            entry.phase = .holding(until: now + timing.hold)
        case .counting, .attack, .unheard: entry.phase = .idle
        case .idle, .holding: break
        }
    }

    private mutating func expire(_ key: Key, now: LoopInstant) {
        guard var entry = watched[key] else { return }
        switch entry.phase {
        case .attack:
            entry.phase = .counting
            entry.ear.begin(now: now)
        case .holding: entry.phase = .idle
        case .counting:
            if let silence = silence(key), entry.ear.hasBeenSilent(for: silence, now: now) { entry.phase = .unheard }
        case .idle, .unheard: break
        }
        watched[key] = entry
        settle(key, now: now)
    }

    private func silence(_ key: Key) -> Duration? { key.kind.traits.silenceGroup.flatMap { timing.silence[$0] } }

    /// Brings deadlines, meters and the list of changes up to date with a claim.
    private mutating func settle(_ key: Key, now: LoopInstant) {
        guard var entry = watched[key] else { return }
        if entry.phase == .counting, isListenedTo(key), let silence = silence(key) {
            let end = entry.ear.deadline(after: silence, now: now)
            // Sound comes 25 times a second: the deadline follows it lazily, when it is reached.
            if entry.silenceDeadline.map({ $0 <= now }) ?? true { entry.silenceDeadline = end }
        } else {
            entry.silenceDeadline = nil
        }
        watched[key] = entry
        deadlines[key] = entry.deadline
        if isListenedTo(key) { updateMeters(of: entry) }
        if entry.phase == .idle && entry.streams.isEmpty {
            watched[key] = nil
            deadlines[key] = nil
        }
        if announced[key]?.counts != entry.counts || announced[key]?.owner != entry.owner || watched[key] == nil {
            touched.insert(key)
        }
    }

    private mutating func updateMeters(of entry: Watched) {
        for id in entry.streams {
            if entry.active.contains(id) { metered.insert(id) } else { metered.remove(id) }
        }
        metered = metered.filter { members[$0] != nil }
    }
}
