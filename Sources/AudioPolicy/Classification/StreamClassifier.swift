public import AudioSession

/// Takes each stream for what it is: its kind, whose it is, whether it is plumbing. Keeps an index, so that a change of
/// one stream costs that stream and its owner's others.
public final class StreamClassifier {
    /// An explicit claim, for telling which streams are its owner's.
    public struct Holder: Equatable, Sendable {
        public var claim: ClaimID
        public var kind: AudioSessionClientKind
        /// What a stream's `sordino.claim` says if it belongs to this claim, or to a newer one with the same tag.
        public var tag: String?
        /// The holder's process as the bus, not the program, names it.
        public var pid: Int32?
        public var sandbox: ProcessFacts.Sandbox?

        public init(
            claim: ClaimID, kind: AudioSessionClientKind, tag: String?, pid: Int32?,
            sandbox: ProcessFacts.Sandbox? = nil
        ) {
            self.claim = claim
            self.kind = kind
            self.tag = tag
            self.pid = pid
            self.sandbox = sandbox
        }
    }

    /// What is kept of one stream.
    final class Entry {
        var stream: ServerStream
        var properties = StreamProperties(stream: [:], client: [:])
        var nature = StreamNature.plumbing
        /// On the inspector's clock.
        let firstSeen: Double
        var identity = OwnerIdentity.unknown
        var owner = StreamOwner(key: "", name: "")
        var decision = Decision(source: .fallback)
        var classification: StreamClassification

        init(_ stream: ServerStream, firstSeen: Double) {
            self.stream = stream
            self.firstSeen = firstSeen
            classification = StreamClassification(kind: nil, source: .server, owner: owner)
        }
    }

    /// What a stream is by its own evidence, without its owner's others; `kind` is `nil` where that says nothing.
    struct Decision: Equatable {
        var kind: AudioSessionClientKind?
        var source: StreamClassification.Source
        var actions = RuleActions()
        var claim: ClaimID?
    }

    var rules: RuleMatcher
    let resolver: OwnerResolver
    var serverKind = ServerKind.pulseaudio
    var entries: [StreamID: Entry] = [:]
    var families = FamilyIndex()
    var owners: [String: OwnerStreams] = [:]
    var holders = HolderIndex()
    private var clients: [UInt64: [String: String]] = [:]
    private var streamsOfClient: [UInt64: Set<StreamID>] = [:]
    private var recordersOfDevice: [DeviceID: Set<StreamID>] = [:]
    /// Sources that record what a sink plays.
    private var monitors: Set<DeviceID> = []

    public init(settings: PolicySettings, processes: any ProcessInspector) {
        rules = RuleMatcher(rules: settings.rules, table: settings.applications)
        resolver = OwnerResolver(processes)
    }

    /// `nil` for a stream that is not there.
    public subscript(id: StreamID) -> StreamClassification? { entries[id]?.classification }

    /// Every stream of one owner.
    public func streams(of owner: StreamOwner) -> Set<StreamID> { owners[owner.key]?.streams ?? [] }

    /// Brings the classification up to date with changes that `graph` already contains. Returns the streams that were
    /// added, removed, or whose classification is another now.
    public func update(_ changes: [GraphChange], graph: ServerGraph, kind: ServerKind) -> Set<StreamID> {
        serverKind = kind
        var work = Work()
        for change in changes {
            switch change {
            case .stream(let stream): take(stream, &work)
            case .streamRemoved(let id): drop(id, &work)
            case .client(let client): take(client, &work)
            case .clientRemoved(let id): clients[id] = nil
            case .device(let device): take(device, &work)
            case .deviceRemoved(let id): monitors.remove(id)
            case .card, .cardRemoved, .defaults, .restoreEntry, .restoreEntryRemoved, .foreignPolicies: break
            }
        }
        return finish(work)
    }

    /// Starts over with all that is in `graph`. Returns every stream that is or was there.
    public func reset(graph: ServerGraph, kind: ServerKind) -> Set<StreamID> {
        let gone = Set(entries.keys)
        entries = [:]
        families = FamilyIndex()
        owners = [:]
        clients = [:]
        streamsOfClient = [:]
        recordersOfDevice = [:]
        monitors = []
        let changes =
            graph.clients.values.map(GraphChange.client) + graph.devices.values.map(GraphChange.device)
            + graph.streams.values.sorted { $0.id < $1.id }.map(GraphChange.stream)
        return update(changes, graph: graph, kind: kind).union(gone)
    }

    /// Decides anew by other rules. Returns the streams whose classification is another now.
    public func setSettings(_ settings: PolicySettings) -> Set<StreamID> {
        rules = RuleMatcher(rules: settings.rules, table: settings.applications)
        var work = Work()
        work.decide = Set(entries.keys)
        return finish(work)
    }

    /// Takes in an explicit claim that is new or different. Returns the streams whose classification is another now.
    public func setHolder(_ holder: Holder) -> Set<StreamID> { decide(holders.set(holder, resolver)) }

    /// Returns the streams whose classification is another now.
    public func removeHolder(_ claim: ClaimID) -> Set<StreamID> { decide(holders.remove(claim)) }

    /// The streams that the claim's holder covers, whatever they are.
    public func streams(coveredBy claim: ClaimID) -> Set<StreamID> {
        holders.identity(of: claim).map(streams) ?? []
    }

    private func decide(_ identities: [OwnerIdentity]) -> Set<StreamID> {
        guard !identities.isEmpty else { return [] }
        var work = Work()
        for identity in identities { work.decide.formUnion(streams(coveredBy: identity)) }
        return finish(work)
    }

    // MARK: Taking changes in

    /// What is to be done before an update is complete.
    struct Work {
        /// Streams whose own evidence changed.
        var decide: Set<StreamID> = []
        /// Streams whose owner must be found again, because a relative came or went.
        var settle: Set<StreamID> = []
        /// Owners that got or lost a stream.
        var owners: Set<String> = []
        /// Streams that are new or gone, whatever becomes of their classification.
        var changed: Set<StreamID> = []
    }

    private func take(_ stream: ServerStream, _ work: inout Work) {
        guard let entry = entries[stream.id] else { return add(stream, &work) }
        let known = entry.stream
        let isSame =
            known.client == stream.client && known.device == stream.device && known.driver == stream.driver
            && known.linkGroup == stream.linkGroup && known.resampleMethod == stream.resampleMethod
            && known.properties == stream.properties
        guard !isSame else { return }
        unlink(known)
        link(stream)
        entry.stream = stream
        examine(entry, &work)
    }

    private func add(_ stream: ServerStream, _ work: inout Work) {
        let entry = Entry(stream, firstSeen: resolver.now)
        entries[stream.id] = entry
        work.changed.insert(stream.id)
        link(stream)
        examine(entry, &work)
    }

    private func drop(_ id: StreamID, _ work: inout Work) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        unlink(entry.stream)
        work.settle.formUnion(families.remove(id, entry.identity))
        leave(entry.owner.key, id, &work)
        work.settle.remove(id)
        work.decide.remove(id)
        work.changed.insert(id)
    }

    private func take(_ client: ServerClient, _ work: inout Work) {
        guard clients[client.id] != client.properties else { return }
        clients[client.id] = client.properties
        guard let streams = streamsOfClient[client.id] else {
            return resolver.prepare(for: client.properties, kind: serverKind)
        }
        examine(streams, &work)
    }

    private func take(_ device: ServerDevice, _ work: inout Work) {
        let isMonitor = device.monitorOf != nil || device.properties["device.class"] == "monitor"
        guard isMonitor != monitors.contains(device.id) else { return }
        if isMonitor { monitors.insert(device.id) } else { monitors.remove(device.id) }
        examine(recordersOfDevice[device.id] ?? [], &work)
    }

    private func link(_ stream: ServerStream) {
        if let client = stream.client { streamsOfClient[client, default: []].insert(stream.id) }
        if stream.id.direction == .input, let device = stream.device {
            recordersOfDevice[device, default: []].insert(stream.id)
        }
    }

    private func unlink(_ stream: ServerStream) {
        if let client = stream.client { streamsOfClient.remove(stream.id, from: client) }
        if stream.id.direction == .input, let device = stream.device {
            recordersOfDevice.remove(stream.id, from: device)
        }
    }

    /// Looks at the server's facts and the stream's properties anew.
    private func examine(_ entry: Entry, _ work: inout Work) {
        let stream = entry.stream
        let id = stream.id
        let properties = StreamProperties(
            stream: stream.properties, client: stream.client.flatMap { clients[$0] } ?? [:])
        let recordsSink = stream.device.map { monitors.contains($0) || $0.direction == .output } ?? false
        let nature = StreamNature(of: stream, properties, recordsSink: recordsSink, kind: serverKind)
        let keepsIdentity =
            nature.isPlumbing == entry.nature.isPlumbing && OwnerEvidence(properties) == OwnerEvidence(entry.properties)
            && !entry.owner.key.isEmpty
        entry.properties = properties
        entry.nature = nature
        work.decide.insert(id)
        guard !keepsIdentity else { return }
        work.settle.formUnion(families.remove(id, entry.identity))
        let identity =
            nature.isPlumbing
            ? .unknown : resolver.identity(of: properties, kind: serverKind, firstSeen: entry.firstSeen)
        entry.identity = identity
        work.settle.formUnion(families.add(id, identity))
        work.settle.insert(id)
    }

    private func examine(_ streams: Set<StreamID>, _ work: inout Work) {
        for id in streams { if let entry = entries[id] { examine(entry, &work) } }
    }
}

/// The properties that say whose a stream is. While they stay the same nothing is asked of the system again, so that a
/// program's churn of other properties never changes its owner.
private struct OwnerEvidence: Equatable {
    private var values: [String?]

    init(_ properties: StreamProperties) {
        values = [
            "application.process.id", "application.process.binary", "native-protocol.peer", "client.api",
            "pipewire.sec.pid", "pipewire.sec.app-id", "pipewire.sec.instance-id", "pipewire.access.portal.app_id",
            "pipewire.access.portal.instance_id",
        ].map { properties[$0] }
    }
}

extension Dictionary {
    /// Takes `member` out of the set under `key`, and the set with its last member.
    mutating func remove<Member>(_ member: Member, from key: Key) where Value == Set<Member> {
        self[key]?.remove(member)
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
