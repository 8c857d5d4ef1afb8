public import AudioPolicy
internal import AudioSession

/// The streams of a saved listing: `pactl -f json list sink-inputs` (or `source-outputs`, or the whole `list`), or a
/// richer one with clients, sources and process chains beside them. Needs no sound server.
public struct StreamDump {
    public var graph: ServerGraph
    public var kind: ServerKind
    /// The streams in the file's order.
    public var order: [StreamID]
    public var processes: any ProcessInspector

    public struct FormatError: Error, Equatable {
        public var line: Int
        public var message: String
    }

    /// Dumps of a whole desktop are some hundred kilobytes.
    private static let largestFile = 64 << 20

    public init(path: String) throws(FormatError) {
        switch FileText.read(path, upTo: Self.largestFile) {
        case .success(let text): try self.init(text: text)
        case .failure(let error): throw FormatError(line: 1, message: error.message)
        }
    }

    public init(text: String) throws(FormatError) {
        let root: SPANode
        do {
            root = try SPAReader.value(of: Self.tolerable(text))
        } catch {
            throw FormatError(line: error.line, message: error.message)
        }
        let lists = try DumpLists(root)
        var reader = DumpGraphReader(kind: lists.kind)
        for client in lists.clients { reader.take(client: client) }
        for source in lists.sources { reader.take(source: source) }
        for (direction, stream) in lists.streams { reader.take(stream, direction) }
        graph = reader.graph
        kind = lists.kind
        order = reader.order
        processes = DumpedProcesses(chains: lists.chains, graph: graph)
    }

    /// libspa refuses control characters in strings, which programs put into their properties.
    private static func tolerable(_ text: String) -> String {
        var bytes = Array(text.utf8)
        var isInString = false
        var isEscaped = false
        for index in bytes.indices {
            let byte = bytes[index]
            if isInString, byte < 32 || byte == 127 { bytes[index] = UInt8(ascii: "?") }
            if isInString, !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = false
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The lists of a dump, by whatever names the file has them.
private struct DumpLists {
    var clients: [SPANode] = []
    var sources: [SPANode] = []
    var chains: [SPANode] = []
    var streams: [(AudioDirection, SPANode)] = []
    var kind = ServerKind.pulseaudio

    init(_ root: SPANode) throws(StreamDump.FormatError) {
        switch root.value {
        case .array(let items):
            for item in items where item["index"] != nil {
                streams.append((item["source"] != nil ? .input : .output, item))
            }
            guard items.isEmpty || !streams.isEmpty else { throw Self.unknown(root) }
        case .object(let members):
            var isKnown = false
            for member in members { isKnown = take(member) || isKnown }
            guard isKnown else { throw Self.unknown(root) }
        case .scalar: throw Self.unknown(root)
        }
        let isPipeWire = streams.contains { $0.1["driver"]?.text == "PipeWire" }
        if root["server"]?.text == "pipewire" || isPipeWire { kind = .pipewire }
    }

    private static func unknown(_ node: SPANode) -> StreamDump.FormatError {
        StreamDump.FormatError(
            line: node.line,
            message: "there are no streams in it: the output of `pactl -f json list sink-inputs` is expected")
    }

    private mutating func take(_ member: SPANode.Member) -> Bool {
        let items = member.node.elements
        switch member.key {
        case "sinkInputs", "sink_inputs": streams += items.map { (.output, $0) }
        case "sourceOutputs", "source_outputs": streams += items.map { (.input, $0) }
        case "clients": clients = items
        case "sources": sources = items
        case "processChains": chains = items
        default: return member.key == "server" || member.key == "scenario"
        }
        return true
    }
}

private struct DumpGraphReader {
    let kind: ServerKind
    var graph = ServerGraph()
    var order: [StreamID] = []

    init(kind: ServerKind) { self.kind = kind }

    mutating func take(client node: SPANode) {
        guard let index = number(node["index"]) else { return }
        graph.clients[index] = ServerClient(id: index, properties: properties(node["properties"]))
    }

    mutating func take(source node: SPANode) {
        guard let index = number(node["index"]) else { return }
        let id = DeviceID(.input, index)
        var device = ServerDevice(id: id, name: node["name"]?.text ?? "", properties: properties(node["properties"]))
        if let sink = number(node["monitorOfSink"]) {
            device.monitorOf = DeviceID(.output, sink)
        } else if kind == .pulseaudio, device.name.hasSuffix(".monitor"), node["monitorOfSink"] == nil {
            // The full list of `pactl` names a source's sink only by its name.
            device.properties["device.class"] = "monitor"
        }
        graph.devices[id] = device
    }

    mutating func take(_ node: SPANode, _ direction: AudioDirection) {
        guard let index = number(node["index"]) else { return }
        let id = StreamID(direction, index)
        var stream = ServerStream(id: id, properties: properties(node["properties"]))
        stream.client = number(node["client"])
        stream.driver = kind == .pipewire ? "" : node["driver"]?.text ?? ""
        stream.isCorked = node["corked"]?.text == "true"
        stream.isMuted = node["mute"]?.text == "true"
        if kind == .pulseaudio { stream.resampleMethod = node["resample_method"]?.text }
        if let device = number(node[direction == .output ? "sink" : "source"]), device != UInt64(UInt32.max) {
            stream.device = DeviceID(direction, device)
        }
        graph.streams[id] = stream
        order.append(id)
    }

    private func number(_ node: SPANode?) -> UInt64? { node?.text.flatMap { UInt64($0) } }

    private func properties(_ node: SPANode?) -> [String: String] {
        var properties: [String: String] = [:]
        for member in node?.members ?? [] { properties[member.key] = member.node.text }
        return properties
    }
}

/// The processes of a dump: its chains where it has them, and else what the streams say, which nobody can check any more.
private struct DumpedProcesses: ProcessInspector {
    let userID: UInt32 = 1000
    private var known: [Int32: ProcessFacts] = [:]

    init(chains: [SPANode], graph: ServerGraph) {
        var binaries: [Int32: String] = [:]
        let lists = graph.clients.values.map(\.properties) + graph.streams.values.map(\.properties)
        for properties in lists {
            guard let pid = properties["application.process.id"].flatMap({ Int32($0) }), pid > 0 else { continue }
            binaries[pid] = properties["application.process.binary"] ?? binaries[pid]
        }
        for chain in chains { add(chain.elements, binaries) }
        for (pid, binary) in binaries where known[pid] == nil { add(pid, parent: 1, executable: binary) }
        for properties in graph.clients.values.map(\.properties) {
            guard let pid = properties["pipewire.sec.pid"].flatMap({ Int32($0) }), pid > 0, known[pid] == nil else {
                continue
            }
            add(pid, parent: 1, executable: properties["application.process.binary"] ?? "")
        }
    }

    private mutating func add(_ chain: [SPANode], _ binaries: [Int32: String]) {
        let items = chain.compactMap { node -> (pid: Int32, name: String)? in
            guard let pid = node["pid"]?.text.flatMap({ Int32($0) }), let name = node["comm"]?.text else { return nil }
            return (pid, name)
        }
        for (index, item) in items.enumerated() {
            let parent = index + 1 < items.count ? items[index + 1].pid : 1
            // Short names end after 15 bytes.
            let full = binaries.values.first {
                $0.utf8.count > 15 && $0.hasPrefix(item.name) && item.name.utf8.count == 15
            }
            add(item.pid, parent: parent, executable: binaries[item.pid] ?? full ?? item.name, name: item.name)
        }
    }

    private mutating func add(_ pid: Int32, parent: Int32, executable: String, name: String? = nil) {
        known[pid] = ProcessFacts(
            pid: pid, parent: parent, userID: userID, started: 0, executable: executable, name: name ?? executable,
            sessionID: 0)
    }

    func facts(of pid: Int32) -> ProcessFacts? { known[pid] }
}
