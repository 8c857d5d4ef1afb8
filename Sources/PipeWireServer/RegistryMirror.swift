import AudioPolicy
import CPipeWire
import Glibc

/// Everything on the server that concerns us, by global id, and what of it has changed since it was last asked.
///
/// Global ids are reused at once: what is told of an object is told by its serial.
final class RegistryMirror {
    enum Change {
        case node(NodeObject)
        case client(ClientObject)
        case card(CardObject)
        case removed(GraphChange)
    }

    /// What only the connection and the session can do for the mirror.
    struct Services {
        var bind: (UInt32, UnsafePointer<CChar>, Int32) -> OpaquePointer?
        /// The global id of our own client, whose nodes (meters) are not reported.
        var ownClient: () -> UInt32?
        /// A stream's volumes are known for the first time, and something waits for them.
        var volumesKnown: (NodeObject) -> Void
        var nodeAppeared: (NodeObject) -> Void
        var streamRemoved: (StreamID) -> Void
        /// A node of ours was linked to another one (our node, the other).
        var ownNodeLinked: (UInt32, UInt32) -> Void
    }

    private let services: Services
    private(set) var nodes: [UInt32: NodeObject] = [:]
    private var nodesBySerial: [UInt64: NodeObject] = [:]
    private(set) var clients: [UInt32: ClientObject] = [:]
    private(set) var cards: [UInt32: CardObject] = [:]
    private var ownNodes: Set<UInt32> = []
    private var unbound: [NodeObject] = []
    private(set) var metadata: MetadataObject?
    private(set) var links = LinkTable()
    /// Sinks of the session manager's own role policy, by global id.
    var roleSinks: [UInt32: RoleSink] = [:]

    var queue: [Change] = []
    var areDefaultsQueued = false
    var reportedDefaults: (output: DeviceID?, input: DeviceID?) = (nil, nil)
    var reportedPolicies: [ForeignPolicy] = []
    /// Until the first listing is complete no object is new.
    var isListing = true
    /// Processes that do not carry out what is sent to their nodes, as the server names them.
    var silentProcesses: Set<String> = []
    /// The last batch that the server has answered as a whole.
    var answeredBatch: UInt64 = 0

    init(services: Services) { self.services = services }

    func close() {
        for node in nodes.values { node.close() }
        for client in clients.values { client.close() }
        for card in cards.values { card.close() }
        metadata?.close()
        nodes = [:]
        nodesBySerial = [:]
        clients = [:]
        cards = [:]
        metadata = nil
        unbound = []
        queue = []
    }

    // MARK: Lookup

    func stream(_ id: StreamID) -> NodeObject? {
        guard let node = nodesBySerial[id.serial], node.streamID == id else { return nil }
        return node
    }

    /// What the level of a stream is to be had from: of a playback stream the node itself, of a capture stream the source
    /// that it is linked to.
    func heardNode(of id: StreamID) -> NodeObject? {
        guard let node = stream(id) else { return nil }
        guard id.direction == .input else { return node }
        guard let source = device(of: node, id: id), source.direction == .input else { return nil }
        return nodesBySerial[source.serial]
    }

    func holdsNode(_ id: UInt32) -> Bool { nodes[id] != nil }

    func holds(_ device: DeviceID) -> Bool { globalID(of: device) != nil }

    func globalID(of device: DeviceID) -> UInt32? {
        guard let node = nodesBySerial[device.serial], !node.isStream else { return nil }
        return node.id
    }

    func node(serial: UInt64) -> NodeObject? { nodesBySerial[serial] }

    var streams: some Sequence<NodeObject> { nodes.values.lazy.filter(\.isStream) }

    // MARK: Programs that do not answer

    /// The process of a node: many nodes may be one's (all Pulse clients' are the pulse server's).
    func process(of node: NodeObject) -> String {
        let client = node.clientID.flatMap { clients[$0] }
        return client?.properties["pipewire.sec.pid"] ?? "node \(node.serial)"
    }

    func isSilent(_ node: NodeObject) -> Bool {
        !silentProcesses.isEmpty && silentProcesses.contains(process(of: node))
    }

    /// A program has said something of a node of its own.
    func heard(from node: NodeObject) {
        guard !isListing, !silentProcesses.isEmpty else { return }
        heard(from: process(of: node))
    }

    func heard(from process: String) {
        guard silentProcesses.remove(process) != nil else { return }
        for other in streams where self.process(of: other) == process {
            // Told again, changed or not: what could not be done before can be now.
            other.reportedStream = nil
            changed(other)
        }
    }

    // MARK: What the registry says

    func added(id: UInt32, type: UnsafePointer<CChar>, properties dictionary: UnsafePointer<spa_dict>?) {
        if strcmp(type, cpw_type_node()) == 0 {
            addNode(id, readProperties(dictionary))
        } else if strcmp(type, cpw_type_link()) == 0 {
            addLink(id, dictionary)
        } else if strcmp(type, cpw_type_client()) == 0 {
            let properties = readProperties(dictionary)
            let client = ClientObject(id: id, serial: serial(properties, id), properties: properties, mirror: self)
            clients.updateValue(client, forKey: id)?.close()
            // Told before it has a stream: what can be found out of its process is, while nothing waits for it.
            changed(client)
            services.bind(id, type, PW_VERSION_CLIENT).map(client.attach)
        } else if strcmp(type, cpw_type_device()) == 0 {
            let properties = readProperties(dictionary)
            guard properties["media.class"] == "Audio/Device" else { return }
            let card = CardObject(id: id, serial: serial(properties, id), properties: properties, mirror: self)
            cards.updateValue(card, forKey: id)?.close()
            services.bind(id, type, PW_VERSION_DEVICE).map(card.attach)
        } else if strcmp(type, cpw_type_metadata()) == 0 {
            guard readProperties(dictionary)["metadata.name"] == "default" else { return }
            metadata?.close()
            let metadata = MetadataObject(id: id, mirror: self)
            self.metadata = metadata
            services.bind(id, type, PW_VERSION_METADATA).map(metadata.attach)
        }
    }

    private func addNode(_ id: UInt32, _ properties: [String: String]) {
        let client = properties["client.id"].flatMap { UInt32($0) }
        if let client, client == services.ownClient() {
            ownNodes.insert(id)
            return
        }
        guard let shape = properties["media.class"].flatMap(NodeObject.Shape.init(mediaClass:)) else { return }
        let node = NodeObject(
            id: id, serial: serial(properties, id), shape: shape, properties: properties, isNewborn: !isListing,
            mirror: self)
        if nodes[id] != nil { removed(id: id) }
        nodes[id] = node
        nodesBySerial[node.serial] = node
        if isListing { bind(node) } else { unbound.append(node) }
        changed(node)
    }

    /// Binds what appeared since: after it was reported, since a new stream's effects are not to wait for it.
    func bindNew() {
        guard !unbound.isEmpty else { return }
        let nodes = unbound
        unbound = []
        for node in nodes where self.nodes[node.id] === node {
            bind(node)
            if node.isStream { services.nodeAppeared(node) }
        }
    }

    private func bind(_ node: NodeObject) {
        services.bind(node.id, cpw_type_node(), PW_VERSION_NODE).map(node.attach)
    }

    private func addLink(_ id: UInt32, _ dictionary: UnsafePointer<spa_dict>?) {
        guard let output = number(dictionary, "link.output.node"), let input = number(dictionary, "link.input.node")
        else { return }
        links.add(id, output: output, input: input)
        linksChanged([output, input])
        if ownNodes.contains(input) { services.ownNodeLinked(input, output) }
    }

    private func linksChanged(_ ends: [UInt32]) {
        for case let node? in ends.map({ nodes[$0] }) where node.isStream {
            node.linksChanged()
            changed(node)
        }
    }

    func removed(id: UInt32) {
        if let node = nodes.removeValue(forKey: id) {
            nodesBySerial[node.serial] = nil
            node.close()
            metadata?.forget(id)
            roleSinks[id] = nil
            if let stream = node.streamID { services.streamRemoved(stream) }
            if let stream = node.streamID, node.wasReported { queue.append(.removed(.streamRemoved(stream))) }
            queue += node.reportedDevices.map { .removed(.deviceRemoved($0.id)) }
            if !node.isStream { areDefaultsQueued = true }
        } else if let ends = links.remove(id) {
            linksChanged(ends)
        } else if let client = clients.removeValue(forKey: id) {
            client.close()
            if client.reported != nil { queue.append(.removed(.clientRemoved(client.serial))) }
        } else if let card = cards.removeValue(forKey: id) {
            card.close()
            if card.reported != nil { queue.append(.removed(.cardRemoved(card.serial))) }
        } else if metadata?.id == id {
            metadata?.close()
            metadata = nil
            areDefaultsQueued = true
        } else {
            ownNodes.remove(id)
        }
    }

    // MARK: What the objects say

    func changed(_ node: NodeObject) {
        guard !node.isQueued, nodes[node.id] === node else { return }
        node.isQueued = true
        queue.append(.node(node))
    }

    func changed(_ client: ClientObject) {
        for node in streams where node.clientID == client.id {
            node.mergedProperties = nil
            changed(node)
        }
        guard !client.isQueued, client.reported != nil else { return }
        client.isQueued = true
        queue.append(.client(client))
    }

    func changed(_ card: CardObject) {
        for node in nodes.values where node["device.id"] == String(card.id) { changed(node) }
        guard !card.isQueued, cards[card.id] === card else { return }
        card.isQueued = true
        queue.append(.card(card))
    }

    func defaultsChanged() { areDefaultsQueued = true }

    func targetChanged(_ id: UInt32) { if let node = nodes[id], node.isStream { changed(node) } }

    func volumesKnown(_ node: NodeObject) { services.volumesKnown(node) }
}

/// The serial, or the global id with servers that have no serials.
private func serial(_ properties: [String: String], _ id: UInt32) -> UInt64 {
    properties["object.serial"].flatMap { UInt64($0) } ?? UInt64(id)
}

private func number(_ dictionary: UnsafePointer<spa_dict>?, _ key: String) -> UInt32? {
    guard let dictionary, let text = spa_dict_lookup(dictionary, key) else { return nil }
    return UInt32(String(cString: text))
}
