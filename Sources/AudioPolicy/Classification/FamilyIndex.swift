/// Which streams' processes descend from which, by pid. Only streams whose owner the process tree decides are in it.
struct FamilyIndex {
    /// Streams of each family root.
    private var streamsOfRoot: [Int32: Set<StreamID>] = [:]
    /// Streams below each process that may be their family.
    private var descendants: [Int32: Set<StreamID>] = [:]
    /// Streams of each process and of all that descends from it, for claims.
    private var streamsUnder: [Int32: Set<StreamID>] = [:]

    /// Returns the streams whose family this changes.
    mutating func add(_ id: StreamID, _ identity: OwnerIdentity) -> Set<StreamID> {
        guard let process = identity.process else { return [] }
        for pid in [process.pid] + identity.ancestors { streamsUnder[pid, default: []].insert(id) }
        guard identity.certainKey == nil, let root = identity.root else { return [] }
        for pid in identity.family { descendants[pid, default: []].insert(id) }
        streamsOfRoot[root, default: []].insert(id)
        return streamsOfRoot[root]?.count == 1 ? descendants[root] ?? [] : []
    }

    /// Returns the streams whose family this changes.
    mutating func remove(_ id: StreamID, _ identity: OwnerIdentity) -> Set<StreamID> {
        guard let process = identity.process else { return [] }
        for pid in [process.pid] + identity.ancestors { streamsUnder.remove(id, from: pid) }
        guard identity.certainKey == nil, let root = identity.root else { return [] }
        for pid in identity.family { descendants.remove(id, from: pid) }
        streamsOfRoot.remove(id, from: root)
        return streamsOfRoot[root] == nil ? descendants[root] ?? [] : []
    }

    /// The topmost process that this one belongs to: an ancestor that has streams of its own, or its own root.
    func head(of identity: OwnerIdentity) -> Int32? {
        identity.family.last { streamsOfRoot[$0] != nil } ?? identity.root
    }

    func streams(under pid: Int32) -> Set<StreamID> { streamsUnder[pid] ?? [] }

    func streams(ofRoot pid: Int32) -> Set<StreamID> { streamsOfRoot[pid] ?? [] }
}
