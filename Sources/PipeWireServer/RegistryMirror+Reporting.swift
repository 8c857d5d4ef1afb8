import AudioPolicy

/// What the objects are to the policy, and which of them are to be told of again.
extension RegistryMirror {
    /// What has changed since the last call, in the server's order.
    func takeChanges() -> [GraphChange] {
        var changes: [GraphChange] = []
        let queue = self.queue
        self.queue = []
        for change in queue {
            switch change {
            case .removed(let change): changes.append(change)
            case .node(let node): report(node, to: &changes)
            case .client(let client):
                client.isQueued = false
                if clients[client.id] === client { report(client, to: &changes) }
            case .card(let card):
                card.isQueued = false
                if cards[card.id] === card { report(card, to: &changes) }
            }
        }
        reportDefaults(to: &changes)
        reportPolicies(to: &changes)
        return changes
    }

    private func report(_ node: NodeObject, to changes: inout [GraphChange]) {
        node.isQueued = false
        guard nodes[node.id] === node else { return }
        if let id = node.streamID {
            let client = node.clientID.flatMap { clients[$0] }
            if let client, client.reported == nil { report(client, to: &changes) }
            let stream = stream(node, id: id, client: client)
            // Both within one wake-up are told all the same.
            if node.hasRestarted, node.reportedStream?.isCorked == false {
                var stopped = stream
                stopped.isCorked = true
                node.reportedStream = stopped
                changes.append(.stream(stopped))
            }
            node.hasRestarted = false
            guard stream != node.reportedStream else { return }
            node.reportedStream = stream
            node.wasReported = true
            changes.append(.stream(stream))
        } else if node.hasInfo {
            let devices = devices(node)
            for device in devices where !node.reportedDevices.contains(device) { changes.append(.device(device)) }
            if node.reportedDevices.isEmpty { areDefaultsQueued = true }
            node.reportedDevices = devices
            roleSinks[node.id] = RoleSink(node)
        }
    }

    private func report(_ client: ClientObject, to changes: inout [GraphChange]) {
        let state = ServerClient(id: client.serial, properties: client.properties)
        guard client.reported != state else { return }
        client.reported = state
        changes.append(.client(state))
    }

    private func report(_ card: CardObject, to changes: inout [GraphChange]) {
        let state = card.card
        guard card.reported != state else { return }
        card.reported = state
        changes.append(.card(state))
    }

    private func reportDefaults(to changes: inout [GraphChange]) {
        guard areDefaultsQueued else { return }
        areDefaultsQueued = false
        let output = device(named: metadata?.defaultSink, .output)
        let input = device(named: metadata?.defaultSource, .input)
        guard (output, input) != reportedDefaults else { return }
        reportedDefaults = (output, input)
        changes.append(.defaults(output: output, input: input))
    }

    private func reportPolicies(to changes: inout [GraphChange]) {
        let policies = roleSinks.values.sorted { $0.serial < $1.serial }.compactMap {
            $0.policy(among: roleSinks.values)
        }
        guard policies != reportedPolicies else { return }
        reportedPolicies = policies
        changes.append(.foreignPolicies(policies))
    }

    // MARK: Making what is reported

    private func stream(_ node: NodeObject, id: StreamID, client: ClientObject?) -> ServerStream {
        let merged: [String: String]
        if let known = node.mergedProperties {
            merged = known
        } else {
            merged = (client?.inherited ?? [:]).merging(node.ownProperties) { $1 }
            node.mergedProperties = merged
        }
        let props = node.soft.last
        var stream = ServerStream(
            id: id, properties: merged, volume: (props?.volumes ?? []).map(Double.init),
            isMuted: props?.isMuted ?? false, isCorked: node.isCorked)
        stream.client = client?.serial
        stream.device = device(of: node, id: id)
        stream.preferred = preferred(of: node, id.direction)
        stream.linkGroup = merged["node.link-group"]
        stream.hasVolume = node.hasVolume
        stream.isMovable = merged["node.dont-reconnect"] != "true"
        stream.softGain = node.soft.inForce
        stream.hiddenGain = Double(props?.gain ?? 1)
        stream.includesBatch = includedBatch(node)
        return stream
    }

    private func includedBatch(_ node: NodeObject) -> UInt64 {
        let open = [node.soft.oldestPendingBatch, node.waiting?.batch].compactMap { $0 }.min()
        if let open { return max(open, 1) - 1 }
        return max(answeredBatch, node.soft.seenBatch)
    }

    private func preferred(of node: NodeObject, _ direction: AudioDirection) -> DeviceID? {
        let device: NodeObject?
        switch metadata?.target(of: node.id) {
        case .serial(let serial)?: device = self.node(serial: serial)
        case .name(let name)?: return self.device(named: name, direction)
        case .node(let id)?: device = nodes[id]
        case nil: return nil
        }
        return device.flatMap { $0.isStream ? nil : DeviceID(direction, $0.serial) }
    }

    /// The first device that the stream is linked to. A sink's monitor is the sink.
    func device(of node: NodeObject, id: StreamID) -> DeviceID? {
        for peer in links.peers(of: node.id) {
            guard let device = nodes[peer], case .device(let directions) = device.shape else { continue }
            let isMonitor =
                id.direction == .input && (!directions.contains(.input) || node["stream.capture.sink"] == "true")
            return DeviceID(isMonitor ? .output : id.direction, device.serial)
        }
        return nil
    }

    private func devices(_ node: NodeObject) -> [ServerDevice] {
        guard case .device(let directions) = node.shape else { return [] }
        let properties = node.ownProperties
        let card = node["device.id"].flatMap { UInt32($0) }.flatMap { cards[$0] }
        return directions.map { direction in
            var device = ServerDevice(
                id: DeviceID(direction, node.serial), name: node.name,
                description: node["node.description"] ?? node.name,
                properties: properties, volume: (node.soft.last?.volumes ?? []).map(Double.init),
                isMuted: node.soft.last?.isMuted ?? false)
            device.linkGroup = properties["node.link-group"]
            device.card = card?.serial
            device.activePort = node["card.profile.device"].flatMap { Int($0) }.flatMap {
                card?.activePort(profileDevice: $0, direction: direction)
            }
            return device
        }
    }

    private func device(named name: String?, _ direction: AudioDirection) -> DeviceID? {
        guard let name else { return nil }
        let candidates = nodes.values.filter { node in
            node.name == name && node.reportedDevices.contains { $0.id.direction == direction }
        }
        return candidates.max { $0.serial < $1.serial }.map { DeviceID(direction, $0.serial) }
    }

    /// Everything as it was last reported.
    var reported: ServerGraph {
        var graph = ServerGraph()
        for stream in nodes.values.compactMap(\.reportedStream) { graph.apply(.stream(stream)) }
        for device in nodes.values.flatMap(\.reportedDevices) { graph.apply(.device(device)) }
        for client in clients.values.compactMap(\.reported) { graph.apply(.client(client)) }
        for card in cards.values.compactMap(\.reported) { graph.apply(.card(card)) }
        graph.apply(.defaults(output: reportedDefaults.output, input: reportedDefaults.input))
        graph.apply(.foreignPolicies(reportedPolicies))
        return graph
    }
}
