import AudioSession

/// The explicit claims, by what can make a stream theirs.
struct HolderIndex {
    private struct Item {
        var holder: StreamClassifier.Holder
        var identity: OwnerIdentity
    }

    private var items: [ClaimID: Item] = [:]
    private var byTag: [String: ClaimID] = [:]
    private var byPid: [Int32: Set<ClaimID>] = [:]
    private var byRoot: [Int32: Set<ClaimID>] = [:]
    private var byKey: [String: Set<ClaimID>] = [:]
    private var byFamily: [Int32: Set<ClaimID>] = [:]

    /// Returns the identities of the holders that came, went or changed.
    mutating func replace(with list: [StreamClassifier.Holder], _ resolver: OwnerResolver) -> [OwnerIdentity] {
        var touched: [OwnerIdentity] = []
        let wanted = Dictionary(list.map { ($0.claim, $0) }) { first, _ in first }
        for item in items.values where wanted[item.holder.claim] != item.holder {
            touched.append(item.identity)
            remove(item)
        }
        for holder in wanted.values where items[holder.claim] == nil {
            let item = Item(
                holder: holder, identity: resolver.identity(ofHolder: holder.pid, sandbox: holder.sandbox))
            touched.append(item.identity)
            add(item)
        }
        return touched
    }

    private mutating func add(_ item: Item) {
        let claim = item.holder.claim
        items[claim] = item
        byTag[item.holder.tag] = claim
        if let pid = item.identity.process?.pid { byPid[pid, default: []].insert(claim) }
        if let root = item.identity.root { byRoot[root, default: []].insert(claim) }
        if let key = item.identity.certainKey { byKey[key, default: []].insert(claim) }
        for pid in item.identity.family { byFamily[pid, default: []].insert(claim) }
    }

    private mutating func remove(_ item: Item) {
        let claim = item.holder.claim
        items[claim] = nil
        if byTag[item.holder.tag] == claim { byTag[item.holder.tag] = nil }
        if let pid = item.identity.process?.pid { byPid.remove(claim, from: pid) }
        if let root = item.identity.root { byRoot.remove(claim, from: root) }
        if let key = item.identity.certainKey { byKey.remove(claim, from: key) }
        for pid in item.identity.family { byFamily.remove(claim, from: pid) }
    }

    /// The claim that a tag names, if the stream that bears it may.
    func claim(tagged tag: String, on stream: OwnerIdentity) -> StreamClassifier.Holder? {
        guard let claim = byTag[tag], let item = items[claim], item.identity.covers(stream) else { return nil }
        return item.holder
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
