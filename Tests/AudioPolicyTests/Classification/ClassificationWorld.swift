import AudioPolicy
import AudioSession

/// Processes as a test wants them.
final class FakeProcesses: ProcessInspector {
    var known: [Int32: ProcessFacts] = [:]
    let userID: UInt32 = 1000
    var now = 1000.0
    /// How often anybody asked.
    private(set) var questions = 0

    func facts(of pid: Int32) -> ProcessFacts? {
        questions += 1
        return known[pid]
    }

    func add(
        _ pid: Int32, _ executable: String, parent: Int32 = 1, user: UInt32 = 1000, started: Double = 1,
        session: Int32 = 0, unit: String? = nil, sandbox: ProcessFacts.Sandbox? = nil, name: String? = nil
    ) {
        let file = executable.split(separator: "/").last.map(String.init) ?? executable
        known[pid] = ProcessFacts(
            pid: pid, parent: parent, userID: user, started: started, executable: executable,
            name: name ?? String(file.prefix(15)), sessionID: session, applicationUnit: unit, sandbox: sandbox)
    }
}

/// A graph and a classifier kept in step, and short words for making streams.
final class ClassificationWorld {
    let processes = FakeProcesses()
    let kind: ServerKind
    var graph = ServerGraph()
    var classifier: StreamClassifier
    private var serial: UInt64 = 0
    private var held: Set<ClaimID> = []

    init(_ kind: ServerKind = .pulseaudio, settings: PolicySettings = PolicySettings()) {
        self.kind = kind
        classifier = StreamClassifier(settings: settings, processes: processes)
        let speakers = ServerDevice(id: DeviceID(.output, 0), name: "spk")
        let microphone = ServerDevice(id: DeviceID(.input, 1), name: "mic")
        var monitor = ServerDevice(id: DeviceID(.input, 2), name: "spk.monitor")
        monitor.monitorOf = speakers.id
        apply([.device(speakers), .device(microphone), .device(monitor)])
    }

    static let microphone = DeviceID(.input, 1)
    static let monitor = DeviceID(.input, 2)

    /// Exactly these explicit claims are held from now on. Returns the streams that are classified otherwise.
    func setHolders(_ list: [StreamClassifier.Holder]) -> Set<StreamID> {
        var changed: Set<StreamID> = []
        for claim in held.subtracting(list.map(\.claim)) { changed.formUnion(classifier.removeHolder(claim)) }
        for holder in list { changed.formUnion(classifier.setHolder(holder)) }
        held = Set(list.map(\.claim))
        return changed
    }

    @discardableResult
    func apply(_ changes: [GraphChange]) -> Set<StreamID> {
        for change in changes { graph.apply(change) }
        return classifier.update(changes, graph: graph, kind: kind)
    }

    /// A stream of a process that runs `binary` (which is made up if there is none yet), with a client of its own.
    @discardableResult
    func open(
        _ direction: AudioDirection = .output, pid: Int32? = nil, binary: String = "app", name: String? = nil,
        role: String? = nil, media: String? = nil, client: UInt64? = nil, on device: DeviceID? = nil,
        _ more: [String: String] = [:]
    ) -> StreamID {
        serial += 1
        let id = StreamID(direction, serial)
        var properties = more
        properties["application.name"] = name ?? binary
        properties["application.process.binary"] = binary
        properties["media.role"] = role
        properties["media.name"] = media
        if let pid {
            properties["application.process.id"] = String(pid)
            if processes.known[pid] == nil { processes.add(pid, "/usr/bin/" + binary) }
        }
        var stream = ServerStream(id: id, properties: properties)
        stream.client = client ?? 1000 + serial
        stream.driver = kind == .pulseaudio ? "protocol-native.c" : ""
        stream.device = device ?? (direction == .output ? DeviceID(.output, 0) : Self.microphone)
        apply([.stream(stream)])
        return id
    }

    @discardableResult
    func change(_ id: StreamID, _ body: (inout ServerStream) -> Void) -> Set<StreamID> {
        guard var stream = graph.streams[id] else { return [] }
        body(&stream)
        return apply([.stream(stream)])
    }

    @discardableResult
    func close(_ id: StreamID) -> Set<StreamID> { apply([.streamRemoved(id)]) }

    func kind(_ id: StreamID) -> AudioSessionClientKind? { classifier[id]?.kind }

    func source(_ id: StreamID) -> StreamClassification.Source? { classifier[id]?.source }

    func areOneOwner(_ a: StreamID, _ b: StreamID) -> Bool {
        guard let a = classifier[a], let b = classifier[b] else { return false }
        return a.owner.key == b.owner.key
    }
}

extension Rule {
    /// A rule on exact values.
    static func on(_ values: [String: String], _ change: (inout RuleActions) -> Void) -> Rule {
        var actions = RuleActions()
        change(&actions)
        let conditions = values.map { name, text in
            Condition(property: name, pattern: text) { $0 == text }
        }
        return Rule(name: "test.conf:1", matches: [conditions], actions: actions)
    }
}
