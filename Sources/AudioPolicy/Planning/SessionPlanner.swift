public import AudioSession

/// What one stream is to have now, and because of whom.
public struct StreamPlan: Equatable, Sendable {
    public var effect: Effect
    /// The claims that ask for exactly this effect.
    public var because: [ClaimID]
    /// Every claim that has some effect on the stream: the holders that an override outlasts.
    public var holders: Set<ClaimID>

    public static let untouched = StreamPlan(effect: .none, because: [], holders: [])

    /// Goes no further than what is in force already.
    mutating func holdBack(to present: StreamPlan) {
        guard effect.isStronger(than: present.effect) else { return }
        effect = present.effect
        because = present.because
    }
}

/// A claim that counts, as the planner needs it.
struct EffectHolder: Equatable, Sendable {
    var id: ClaimID
    var kind: AudioSessionClientKind
    var origin: ClaimOrigin
    /// Streams with this owner key are its own.
    var ownerKey: String
    /// When it began to count, on the session's own counter of such moments.
    var since: UInt64
    /// Physical outputs of its voice; `nil`: everywhere.
    var outputs: Set<DeviceID>?
    /// What each duck of the claim's is instead of the table's, where its holder says so.
    var level: Decibels?
    /// Nobody speaks: it turns nobody down for the time being. What it pauses or mutes stays so.
    var isSilent = false
}

/// A playback or capture stream, as the planner needs it.
struct PlannedStream {
    var stream: ServerStream
    var classification: StreamClassification
    /// When it last began to play of its own accord, on the same counter as `EffectHolder.since`; `nil`: not playing.
    var playingSince: UInt64?
    var outputs: Set<DeviceID>
    /// Whether some of its outputs are loudspeakers that a microphone nearby hears.
    var isHeardByMicrophones: Bool
}

/// Effects × scope × exemptions → the plan of each stream. Pure: the same state gives the same plan.
struct SessionPlanner {
    var settings: PolicySettings
    /// The claims that count and have effects.
    private(set) var holders: [ClaimID: EffectHolder] = [:]
    var foreignPolicies: [RolePolicy] = []

    init(settings: PolicySettings) { self.settings = settings }

    /// Returns whether anything is another now.
    mutating func setHolder(_ holder: EffectHolder) -> Bool {
        guard hasEffects(holder) else { return removeHolder(holder.id) }
        guard holders[holder.id] != holder else { return false }
        holders[holder.id] = holder
        return true
    }

    mutating func removeHolder(_ id: ClaimID) -> Bool { holders.removeValue(forKey: id) != nil }

    func hasEffects(_ holder: EffectHolder) -> Bool {
        if holder.kind == .recording && holder.origin == .observed { return settings.observedRecordingEffects }
        // A kind without a row of its own may still be named by somebody's rule; without either it never has effects.
        return !(settings.effects.cells[holder.kind] ?? [:]).isEmpty || settings.rulesNameHolder(holder.kind)
    }

    func plan(for victim: PlannedStream) -> StreamPlan {
        guard !victim.classification.isPlumbing, !victim.classification.actions.ignore,
            let kind = victim.classification.kind
        else { return .untouched }
        var plan = StreamPlan.untouched
        for holder in holders.values {
            let effect = effect(of: holder, on: victim, kind: kind)
            guard effect != .none else { continue }
            plan.holders.insert(holder.id)
            if holder.isSilent, case .duck = effect { continue }
            if effect == plan.effect {
                plan.because.append(holder.id)
            } else if effect.isStronger(than: plan.effect) {
                plan.effect = effect
                plan.because = [holder.id]
            }
        }
        plan.because.sort()
        return plan
    }

    private func effect(of holder: EffectHolder, on victim: PlannedStream, kind: AudioSessionClientKind) -> Effect {
        guard holder.ownerKey != victim.classification.owner.key, victim.classification.claim != holder.id,
            !victim.classification.ownersClaims.contains(holder.id),
            !victim.classification.actions.exemptFrom.contains(holder.kind)
        else { return .none }
        if victim.stream.id.direction == .input { return refusal(by: holder, of: victim) }
        guard isInScope(holder, victim), !foreignPolicies.contains(where: { $0.acts(for: holder.kind, on: victim) })
        else { return .none }
        let actions = victim.classification.actions
        var effect = actions.effects[holder.kind] ?? settings.effects.effect(of: holder.kind, on: kind)
        if case .duck = effect, let level = actions.level ?? holder.level { effect = .duck(level) }
        if effect == .pause || effect == .mute {
            if let since = victim.playingSince, since < holder.since { return effect }
            let level = actions.level ?? holder.level
            effect = .duck(level ?? settings.effects.duckInstead(of: holder.kind, on: kind))
        }
        // The server accepts a volume for a compressed stream and ignores it: pause, or nothing.
        return victim.stream.hasVolume ? effect : .none
    }

    /// Recordings are muted under a call only where the configuration says so.
    private func refusal(by holder: EffectHolder, of victim: PlannedStream) -> Effect {
        guard settings.observedRecordingRefusal == .mute, holder.kind.isCall, victim.classification.kind == .recording,
            victim.classification.capture == .microphone
        else { return .none }
        return .mute
    }

    private func isInScope(_ holder: EffectHolder, _ victim: PlannedStream) -> Bool {
        if holder.kind == .recording && !victim.isHeardByMicrophones { return false }
        guard settings.scope == .sameOutput, holder.kind != .recording, let outputs = holder.outputs else {
            return true
        }
        // A stream that is connected to nothing is heard nowhere; it gets its effect when it is connected.
        return !outputs.isDisjoint(with: victim.outputs)
    }
}

extension PolicySettings {
    fileprivate func rulesNameHolder(_ kind: AudioSessionClientKind) -> Bool {
        rules.contains { $0.actions.effects[kind] != nil } || applications.contains { $0.actions.effects[kind] != nil }
    }
}
