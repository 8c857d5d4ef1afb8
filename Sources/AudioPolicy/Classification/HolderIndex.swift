import AudioSession

/// The explicit claims, by what can make a stream theirs.
struct HolderIndex {
    private struct Item {
        var holder: StreamClassifier.Holder
        var identity: OwnerIdentity
    }

    private var items: [ClaimID: Item] = [:]
    private var byTag: [String: Set<ClaimID>] = [:]
    private var byPid: [Int32: Set<ClaimID>] = [:]
    private var byRoot: [Int32: Set<ClaimID>] = [:]
    private var byKey: [String: Set<ClaimID>] = [:]
    private var byFamily: [Int32: Set<ClaimID>] = [:]

    /// Returns the identities whose streams are to be looked at again.
    mutating func set(_ holder: StreamClassifier.Holder, _ resolver: OwnerResolver) -> [OwnerIdentity] {
        guard items[holder.claim]?.holder != holder else { return [] }
        let identity = resolver.identity(ofHolder: holder.pid, sandbox: holder.sandbox)
        defer { add(Item(holder: holder, identity: identity)) }
        return remove(holder.claim) + [identity]
    }

    mutating func remove(_ claim: ClaimID) -> [OwnerIdentity] {
        guard let item = items[claim] else { return [] }
        remove(item)
        return [item.identity]
    }

    func identity(of claim: ClaimID) -> OwnerIdentity? { items[claim]?.identity }

    private mutating func add(_ item: Item) {
        let claim = item.holder.claim
        items[claim] = item
        if let tag = item.holder.tag { byTag[tag, default: []].insert(claim) }
        if let pid = item.identity.process?.pid { byPid[pid, default: []].insert(claim) }
        if let root = item.identity.root { byRoot[root, default: []].insert(claim) }
        if let key = item.identity.certainKey { byKey[key, default: []].insert(claim) }
        for pid in item.identity.family { byFamily[pid, default: []].insert(claim) }
    }

    private mutating func remove(_ item: Item) {
        let claim = item.holder.claim
        items[claim] = nil
        if let tag = item.holder.tag { byTag.remove(claim, from: tag) }
        if let pid = item.identity.process?.pid { byPid.remove(claim, from: pid) }
        if let root = item.identity.root { byRoot.remove(claim, from: root) }
        if let key = item.identity.certainKey { byKey.remove(claim, from: key) }
        for pid in item.identity.family { byFamily.remove(claim, from: pid) }
    }

    /// The newest claim that a tag names, if the stream that bears it may.
    func claim(tagged tag: String, on stream: OwnerIdentity) -> StreamClassifier.Holder? {
        let claim = byTag[tag]?.filter { items[$0]?.identity.covers(stream) == true }.max()
        return claim.flatMap { items[$0]?.holder }
    }

    /// The claims that cover a stream.
    func claims(covering stream: OwnerIdentity) -> Set<ClaimID> {
        guard !items.isEmpty else { return [] }
        var candidates: Set<ClaimID> = []
        if let pid = stream.process?.pid {
            for pid in [pid] + stream.ancestors {
                candidates.formUnion(byPid[pid] ?? [])
                candidates.formUnion(byRoot[pid] ?? [])
            }
        }
        if let root = stream.root {
            candidates.formUnion(byRoot[root] ?? [])
            candidates.formUnion(byFamily[root] ?? [])
        }
        if let key = stream.certainKey { candidates.formUnion(byKey[key] ?? []) }
        return candidates.filter { items[$0]?.identity.covers(stream) == true }
    }
}
