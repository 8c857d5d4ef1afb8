/// Which nodes are linked to which: the links of two ports each, by the links' global ids.
struct LinkTable {
    private struct Link {
        let output: UInt32
        let input: UInt32
    }

    private var links: [UInt32: Link] = [:]
    /// The links of each node, oldest first.
    private var byNode: [UInt32: [UInt32]] = [:]

    mutating func add(_ id: UInt32, output: UInt32, input: UInt32) {
        links[id] = Link(output: output, input: input)
        byNode[output, default: []].append(id)
        if input != output { byNode[input, default: []].append(id) }
    }

    /// Returns the nodes at both ends, or `nil` where there is no such link.
    mutating func remove(_ id: UInt32) -> [UInt32]? {
        guard let link = links.removeValue(forKey: id) else { return nil }
        for node in Set([link.output, link.input]) {
            byNode[node]?.removeAll { $0 == id }
            if byNode[node]?.isEmpty == true { byNode[node] = nil }
        }
        return [link.output, link.input]
    }

    /// The nodes at the other ends of a node's links, oldest link first; a node for each of the links.
    func peers(of node: UInt32) -> [UInt32] {
        (byNode[node] ?? []).compactMap { id in
            links[id].map { $0.output == node ? $0.input : $0.output }
        }
    }
}
