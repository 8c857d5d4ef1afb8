/// Which players there are, and whose sound each may be.
struct PlayerIndex {
    private struct Item {
        var player: MediaPlayer
        var sandbox: ProcessFacts.Sandbox?
    }

    private var items: [PlayerID: Item] = [:]
    private var ofProcess: [Int32: Set<PlayerID>] = [:]

    subscript(id: PlayerID) -> MediaPlayer? { items[id]?.player }

    mutating func set(_ player: MediaPlayer, sandbox: ProcessFacts.Sandbox?) {
        remove(player.id)
        items[player.id] = Item(player: player, sandbox: sandbox)
        if let pid = player.pid { ofProcess[pid, default: []].insert(player.id) }
    }

    mutating func remove(_ id: PlayerID) {
        if let pid = items.removeValue(forKey: id)?.player.pid { ofProcess.remove(id, from: pid) }
    }

    /// The players of the process that a stream belongs to, or of its nearest ancestor that has any, or of its sandbox;
    /// empty where nobody knows.
    func players(of identity: OwnerIdentity) -> Set<PlayerID> {
        guard !items.isEmpty else { return [] }
        if let process = identity.process {
            for pid in [process.pid] + identity.ancestors {
                if let found = ofProcess[pid] { return found }
            }
        }
        guard let sandbox = identity.sandbox else { return [] }
        return Set(items.filter { $0.value.sandbox.map { Self.isSame($0, sandbox) } ?? false }.keys)
    }

    /// An instance that is not known on one side says nothing.
    private static func isSame(_ a: ProcessFacts.Sandbox, _ b: ProcessFacts.Sandbox) -> Bool {
        guard a.application == b.application else { return false }
        return a.instance == b.instance || a.instance.isEmpty || b.instance.isEmpty
    }
}
