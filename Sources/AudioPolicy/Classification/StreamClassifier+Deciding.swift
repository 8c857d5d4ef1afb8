import AudioSession

extension StreamClassifier {
    /// Completes an update. Returns the streams that changed.
    func finish(_ work: Work) -> Set<StreamID> {
        var work = work
        for id in work.settle { settle(id, &work) }
        for id in work.decide { note(id, &work) }
        var decide = work.decide
        for key in work.owners {
            guard let group = owners[key], group.isCapturing != group.decidedCapturing else { continue }
            owners[key]?.decidedCapturing = group.isCapturing
            decide.formUnion(group.streams)
        }
        for id in decide { self.decide(id) }
        var conclude = decide
        for key in work.owners {
            guard let group = owners[key] else { continue }
            let pairing = group.pairing
            guard pairing != group.concludedPairing else { continue }
            owners[key]?.concludedPairing = pairing
            conclude.formUnion(group.streams)
        }
        var changed = work.changed
        for id in conclude where self.conclude(id) { changed.insert(id) }
        return changed
    }

    // MARK: Whose

    /// Finds a stream's owner and puts it among that owner's others.
    private func settle(_ id: StreamID, _ work: inout Work) {
        guard let entry = entries[id] else { return }
        let owner = self.owner(of: entry)
        work.decide.insert(id)
        let former = entry.owner
        guard owner != former else { return }
        entry.owner = owner
        guard owner.key != former.key else { return }
        leave(former.key, id, &work)
        owners[owner.key, default: OwnerStreams()].streams.insert(id)
    }

    func leave(_ key: String, _ id: StreamID, _ work: inout Work) {
        owners[key]?.remove(id)
        if owners[key]?.streams.isEmpty == true { owners[key] = nil }
        work.owners.insert(key)
    }

    private func owner(of entry: Entry) -> StreamOwner {
        let identity = entry.identity
        return StreamOwner(
            key: key(of: entry), name: Self.name(entry.properties), pid: identity.process?.pid,
            sandbox: identity.sandbox?.application)
    }

    /// An unknown owner is nobody's. One connection to the server is one program's, whoever that is.
    private func key(of entry: Entry) -> String {
        if !entry.nature.isPlumbing {
            if let key = entry.identity.certainKey { return key }
            if let head = families.head(of: entry.identity) {
                return head == entry.identity.root ? entry.identity.siblings ?? "process:\(head)" : "process:\(head)"
            }
            if let client = entry.stream.client { return "client:\(client)" }
        }
        return "stream:\(entry.stream.id.direction.rawValue)/\(entry.stream.id.serial)"
    }

    private static func name(_ properties: StreamProperties) -> String {
        for property in ["application.name", "application.process.binary", "node.name", "media.name"] {
            if let name = properties[property] { return name }
        }
        return ""
    }

    // MARK: What

    private func note(_ id: StreamID, _ work: inout Work) {
        guard let entry = entries[id] else { return }
        owners[entry.owner.key]?.note(id, entry.nature)
        work.owners.insert(entry.owner.key)
    }

    /// What the stream is by its own evidence.
    private func decide(_ id: StreamID) {
        guard let entry = entries[id] else { return }
        let decision = entry.nature.isPlumbing ? Decision(source: .server) : self.decision(on: entry)
        entry.decision = decision
        owners[entry.owner.key]?.note(
            id, entry.nature, kind: decision.kind, isPlumbing: entry.nature.isPlumbing || decision.actions.isPlumbing,
            name: entry.properties.own("media.name") ?? "")
    }

    /// The first that answers: tag, the user's rules, the application table, role, event.
    private func decision(on entry: Entry) -> Decision {
        let values = rules.propertyNames.map { value(of: $0, entry) }
        let verdict = RuleVerdict(rules.matching(values))
        var decision = Decision(source: .fallback, actions: verdict.actions)
        if verdict.actions.isPlumbing {
            decision.source = verdict.plumbingFrom ?? .server
            return decision
        }
        let tag = entry.properties.own(PropertyName.claim)
        if let tag, let holder = holders.claim(tagged: tag, on: entry.identity) {
            decision.claim = holder.claim
            decision.kind = holder.kind
            decision.source = .tag
        } else if let kind = verdict.actions.kind, let source = verdict.kindFrom {
            decision.kind = kind
            decision.source = source
        } else if let (kind, source) = Self.kindBySelfDescription(entry.properties, entry.stream.id.direction) {
            decision.kind = kind
            decision.source = source
        }
        decision.kind = decision.kind.map { Self.fit($0, to: entry.stream.id.direction) }
        if entry.nature.capture == .monitor {
            decision.kind = nil
            decision.source = .server
        }
        return decision
    }

    /// A kind that a rule gives to a whole program, as it applies to one direction: a recording workstation's playback is
    /// media, and what anything but a call does with a microphone is recording.
    private static func fit(_ kind: AudioSessionClientKind, to direction: AudioDirection) -> AudioSessionClientKind {
        switch direction {
        case .output: kind == .recording ? .mediaPlayback : kind
        case .input: kind.isCall ? kind : .recording
        }
    }

    private static func kindBySelfDescription(
        _ properties: StreamProperties, _ direction: AudioDirection
    ) -> (AudioSessionClientKind, StreamClassification.Source)? {
        let role = MediaRole(properties.own("media.role"))
        guard direction == .output else { return role?.captureKind.map { ($0, .role) } }
        // The role of an event says no more than that; its id says which.
        let event = properties.own("event.id")
        if let event, role == nil || role == .event, alarms.contains(event) { return (.alarm, .event) }
        if let kind = role?.playbackKind { return (kind, .role) }
        return event == nil ? nil : (.ambient, .event)
    }

    /// Names of the freedesktop sound naming specification for sounds that ask for somebody.
    private static let alarms: Set<String> = ["alarm-clock-elapsed", "phone-incoming-call", "phone-outgoing-calling"]

    /// A property as rules see it: the stream's, its client's, or one that is found out here.
    private func value(of property: String, _ entry: Entry) -> String? {
        switch property {
        case RuleProperty.direction: entry.stream.id.direction.rawValue
        case RuleProperty.capture: entry.nature.capture?.rawValue
        case RuleProperty.ownerCaptures: owners[entry.owner.key]?.isCapturing == true ? "true" : "false"
        case RuleProperty.processes: entry.identity.lineage
        case RuleProperty.executable: entry.identity.process.flatMap { $0.executable.isEmpty ? nil : $0.executable }
        default: entry.properties[property]
        }
    }

    /// Returns whether the classification is another now.
    private func conclude(_ id: StreamID) -> Bool {
        guard let entry = entries[id] else { return false }
        let decision = entry.decision
        var result = StreamClassification(kind: decision.kind, source: decision.source, owner: entry.owner)
        result.isPlumbing = entry.nature.isPlumbing || decision.actions.isPlumbing
        result.capture = result.isPlumbing && entry.nature.capture != .meter ? nil : entry.nature.capture
        result.actions = decision.actions
        result.claim = decision.claim
        if !result.isPlumbing { result.ownersClaims = holders.claims(covering: entry.identity) }
        if !result.isPlumbing, decision.kind == nil, result.capture != .monitor {
            let pairing = owners[entry.owner.key]?.concludedPairing ?? OwnerStreams.Pairing()
            (result.kind, result.source) = Self.paired(entry, pairing)
        }
        guard result != entry.classification else { return false }
        entry.classification = result
        return true
    }

    /// What nothing says anything of: one side of a call where its owner has both, speech where its owner speaks, else a
    /// recording or media.
    private static func paired(
        _ entry: Entry, _ pairing: OwnerStreams.Pairing
    ) -> (AudioSessionClientKind, StreamClassification.Source) {
        guard entry.stream.id.direction == .output else {
            return pairing.hasPlayback ? (pairing.kind, .capturePlayback) : (.recording, .fallback)
        }
        let name = entry.properties.own("media.name") ?? ""
        let isVoice = pairing.hasVoice && (pairing.sharedNames.isEmpty || pairing.sharedNames.contains(name))
        if isVoice { return (pairing.kind, .capturePlayback) }
        return pairing.speaks ? (.speech, .ownersSpeech) : (.mediaPlayback, .fallback)
    }

    /// The streams that a claim's holder covers.
    func streams(coveredBy holder: OwnerIdentity) -> Set<StreamID> {
        var found: Set<StreamID> = []
        if let key = holder.certainKey { found.formUnion(owners[key]?.streams ?? []) }
        if let pid = holder.process?.pid { found.formUnion(families.streams(under: pid)) }
        if let root = holder.root { found.formUnion(families.streams(under: root)) }
        for pid in holder.family { found.formUnion(families.streams(ofRoot: pid)) }
        return found
    }
}

/// Properties that rules may use besides the server's: what is found out about a stream.
public enum RuleProperty {
    /// `output`, `input`.
    public static let direction = "sordino.direction"
    /// `microphone`, `monitor`, `meter`; absent for playback.
    public static let capture = "sordino.capture"
    /// Whether the stream's owner also captures a microphone: `true`, `false`.
    public static let ownerCaptures = "sordino.owner-captures"
    /// The file names of the stream's process and its ancestors, nearest first, with blanks between.
    public static let processes = "sordino.processes"

    /// The path of the stream's process's executable.
    public static let executable = "sordino.executable"
}
