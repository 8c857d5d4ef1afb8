import AudioSession
import EventLoop

/// One or two plain sentences on a stream: what it is and by what, what is done to it, because of whom, since when, and
/// how to leave it alone. Names are the programs' own, escaped where they are printed; a sandboxed program gets none.
extension SoundServerDriver {
    func explain(_ asked: String, isConfined: Bool) throws(SessionControlError) -> String {
        let matches = streams(matching: asked, byName: !isConfined)
        guard !matches.isEmpty else {
            let known = graph.streams.keys.sorted().compactMap { id in
                classifier[id].flatMap { $0.isPlumbing ? nil : "\(id) (\(name(of: $0, isConfined)))" }
            }
            throw .unknownStream(asked, known: known)
        }
        return matches.compactMap { explain($0, isConfined) }.joined(separator: "\n")
    }

    private func name(of classification: StreamClassification, _ isConfined: Bool) -> String {
        isConfined ? ConfinedView.name : classification.owner.name.shown()
    }

    private func streams(matching asked: String, byName: Bool) -> [StreamID] {
        let ids = graph.streams.keys.sorted()
        if let serial = UInt64(asked) { return ids.filter { $0.serial == serial } }
        let wanted = asked.lowercased()
        guard byName, !wanted.isEmpty else { return [] }
        return ids.filter { id in
            guard let stream = graph.streams[id], let owner = classifier[id]?.owner else { return false }
            let binary = stream.properties["application.process.binary"] ?? ""
            return [owner.name, binary].contains { $0.lowercased().contains(wanted) }
        }
    }

    private func explain(_ id: StreamID, _ isConfined: Bool) -> String? {
        guard let stream = graph.streams[id], let classification = classifier[id] else { return nil }
        let subject = "Stream \(id) (\(name(of: classification, isConfined)))"
        if classification.isPlumbing {
            return "\(subject) is plumbing of the sound server (a filter, loopback or meter); it is never touched."
        }
        if classification.capture == .meter || classification.capture == .monitor {
            return "\(subject) records what the speakers play or only shows a level; it is never touched."
        }
        if let rule = classification.actions.ignoredBy ?? (classification.actions.ignore ? "a rule" : nil) {
            return isConfined
                ? "\(subject) is left alone by a rule."
                : "\(subject) is left alone by \(rule). Take that rule away to change this."
        }
        let kind = classification.kind?.rawValue ?? "nothing known"
        let isTagVoid =
            classification.claim == nil && stream.properties[AudioSessionClientKind.streamTagProperty] != nil
        return "\(subject) is taken for \(kind) \(reason(classification, stream, isConfined))"
            + (isTagVoid ? "; the tag that it carries names no claim of its program’s. " : ". ")
            + effectSentence(id, classification, isConfined)
    }

    private func reason(
        _ classification: StreamClassification, _ stream: ServerStream, _ isConfined: Bool
    ) -> String {
        switch classification.source {
        case .tag: "because it carries the tag of a claim"
        case .rule where isConfined: "by a rule of the user's"
        case .table where isConfined: "by the application table"
        case .rule(let place): "by your rule (\(place))"
        case .table(let name): "by the application table (\(name))"
        case .role: "by its role “\((stream.properties["media.role"] ?? "").shown())”"
        case .event: "by its event “\((stream.properties["event.id"] ?? "").shown())”"
        case .capturePlayback: "because its program plays and records at once"
        case .ownersSpeech: "because its program speaks too"
        case .fallback: "because nothing says otherwise"
        case .server: "by what the sound server says of it"
        }
    }

    private func effectSentence(
        _ id: StreamID, _ classification: StreamClassification, _ isConfined: Bool
    ) -> String {
        let alone = isConfined ? "" : "; `sordino ignore \(classification.owner.name.shown())` leaves it alone"
        guard isEnabled else { return "Nothing is done to it: Sordino is off." }
        let untouched = routeSentence(id, subject: "It").map { "\($0)." } ?? "Nothing is done to it."
        guard let record = records[id] else { return untouched }
        let isDone = record.plan.effect != .none
        let responsible =
            isDone ? record.plan.because : record.plan.holders.sorted().filter { planner.holders[$0]?.isSilent == true }
        guard !responsible.isEmpty else { return untouched }
        let holders = responsible.compactMap { claims[$0]?.claim }
            .map { "\(isConfined ? ConfinedView.name : $0.owner.name.shown()) (\($0.kind.rawValue), \($0.id))" }
            .joined(separator: " and ")
        if reconciler?.isOverridden(id) == true {
            return
                "It would give way to \(holders), but somebody has changed it since: it is left as it is until they are gone."
        }
        guard isDone else {
            return "Nothing is done to it now: it gives way to \(holders) while somebody speaks\(alone)."
        }
        let action =
            switch record.plan.effect {
            case .duck(let level): "turned down by \(oneDecimal(-level.value)) dB"
            case .pause: pausing(id, isConfined)
            case .mute: "muted"
            case .none: "left alone"
            }
        let seconds = record.effectSince.map { Int(max(0, loop.wallClock - $0)) } ?? 0
        return "It is \(action) because of \(holders), since \(duration(seconds))\(alone)."
    }

    private func pausing(_ id: StreamID, _ isConfined: Bool) -> String {
        let prefix = "org.mpris.MediaPlayer2."
        let names = playerPauses.playerNames(of: id)
        if names.isEmpty { return "paused" }
        if isConfined { return "paused through its player" }
        let shown = names.map { $0.dropFirst($0.hasPrefix(prefix) ? prefix.count : 0).shown() }
        return "paused through its player (\(shown.joined(separator: " and ")))"
    }

    private func oneDecimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    private func duration(_ seconds: Int) -> String {
        switch seconds {
        case ..<1: "a moment ago"
        case ..<120: "\(seconds) s ago"
        case ..<7200: "\(seconds / 60) min ago"
        default: "\(seconds / 3600) h ago"
        }
    }
}
