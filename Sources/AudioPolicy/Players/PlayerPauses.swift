import AudioSession
import EventLoop

/// Which streams are paused through their players, and how far each of these pauses has come. Pure: requests, records for
/// the ledger and streams to look at again are collected for the caller.
struct PlayerPauses {
    /// How a stream that is to pause is brought to it.
    enum Route: Equatable {
        /// By what the server has.
        case server
        /// Its player has been asked: nothing is done yet.
        case waiting
        /// Its player is paused: there is nothing left to do.
        case player
    }

    /// A stream whose players are asked to pause, are paused, or play again.
    private struct Binding {
        var players: Set<PlayerID>
        /// Its plan is a pause that nobody has undone.
        var isWanted = true
        var isCorked = false
        /// It plays on although its player says that it is paused: the server's own pause as well.
        var needsServer = false
        /// Until when it may go on to play, or (without a player left) to be started again.
        var deadline: LoopInstant?
    }

    /// Browsers' streams stay open for seconds after a pause, most players' for 0.7 s at the most.
    static let settling: Duration = .seconds(1)
    /// How long a stream may take to play again once its player does.
    static let starting: Duration = .seconds(2)

    private(set) var index = PlayerIndex()
    private(set) var pauses: [PlayerID: PlayerPause] = [:]
    private var bindings: [StreamID: Binding] = [:]
    /// Streams whose players could not be paused, or have none: not asked again while the same pause lasts.
    private var inVain: Set<StreamID> = []
    /// Streams that wait for the first list of players, and until when.
    private var unlisted: Set<StreamID> = []
    private var listDeadline: LoopInstant?
    /// Players that an earlier run has paused and that have not shown up yet, by the name they had.
    private var left: [PlayerID: String]
    /// Paused by an earlier run, or before the server was lost: their streams are still to be found.
    private(set) var unbound: Set<PlayerID> = []
    private var rounds: [PlayerID: UInt64] = [:]
    private var round: UInt64 = 0

    private(set) var requests: [PlayerRequest] = []
    private(set) var records: [LedgerRecord] = []
    /// Streams to be planned anew.
    private(set) var dirty: Set<StreamID> = []
    /// Streams that somebody has started again: they began after their holders.
    var startedAgain: Set<StreamID> = []

    init(left: [PlayerID: String] = [:]) { self.left = left }

    /// Whether nothing is left to undo.
    var isDone: Bool { pauses.isEmpty && left.isEmpty }
    /// Whether anything has to be settled.
    var isIdle: Bool { pauses.isEmpty }

    mutating func takeRequests() -> [PlayerRequest] { Self.take(&requests) }
    mutating func takeRecords() -> [LedgerRecord] { Self.take(&records) }
    mutating func takeDirty() -> Set<StreamID> { Self.take(&dirty) }

    private static func take<Items: RangeReplaceableCollection>(_ items: inout Items) -> Items {
        defer { items = Items() }
        return items
    }

    private static func take<Item>(_ items: inout Set<Item>) -> Set<Item> {
        defer { items = [] }
        return items
    }

    // MARK: Streams

    func route(of id: StreamID) -> Route {
        if unlisted.contains(id) { return .waiting }
        guard let binding = bindings[id], !binding.needsServer else { return .server }
        return binding.players.contains { pauses[$0]?.isOpen == true } ? .waiting : .player
    }

    /// Whether the stream counts as playing although it may be corked, since it is so through us.
    func isPaused(_ id: StreamID) -> Bool { bindings[id] != nil }

    /// The names of the players that the stream is paused through.
    func playerNames(of id: StreamID) -> [String] {
        (bindings[id]?.players ?? []).filter { pauses[$0]?.isHeld == true }.sorted()
            .compactMap { index[$0]?.names.first }
    }

    /// Whether the players of a stream that is to pause have to be found and asked.
    func isNew(_ id: StreamID) -> Bool { bindings[id] == nil && !inVain.contains(id) && !unlisted.contains(id) }

    /// A stream's plan: whether it is to pause, and nobody has undone that.
    mutating func plan(_ id: StreamID, isPause: Bool) {
        bindings[id]?.isWanted = isPause
        guard !isPause else { return }
        inVain.remove(id)
        unlisted.remove(id)
    }

    /// Begins to pause a stream that plays. `players`: empty where it has none, or where they play something else besides
    /// that is not to pause.
    mutating func begin(_ id: StreamID, players: Set<PlayerID>, now: LoopInstant) {
        if let listDeadline, now < listDeadline {
            unlisted.insert(id)
            return
        }
        guard !players.isEmpty else {
            inVain.insert(id)
            return
        }
        bindings[id] = Binding(players: players)
        for player in players.sorted() where pauses[player] == nil { begin(player, now: now) }
        settle(id, now: now)
    }

    /// A stream that is found beside a player that an earlier run has paused.
    mutating func bind(_ id: StreamID, to player: PlayerID) {
        bindings[id, default: Binding(players: [])].players.insert(player)
        bindings[id]?.isCorked = true
        dirty.insert(id)
    }

    /// The streams of these players have been looked for; where there are none, `holders` hold it.
    mutating func found(_ player: PlayerID, holders: Set<ClaimID>) {
        unbound.remove(player)
        if !bindings.values.contains(where: { $0.players.contains(player) }) { pauses[player]?.holders = holders }
    }

    /// What the server says of a stream. One that was paused and plays again was started by somebody, whatever its player
    /// says.
    mutating func observe(_ stream: ServerStream, now: LoopInstant, as planned: () -> PlannedStream?) {
        guard let binding = bindings[stream.id], binding.isCorked != stream.isCorked else { return }
        bindings[stream.id]?.isCorked = stream.isCorked
        guard !stream.isCorked, !binding.players.contains(where: { pauses[$0]?.isStarting == true }) else { return }
        guard binding.players.count > 1 else {
            if let player = binding.players.first { return end(player, .startedElsewhere, now: now) }
            return unbind(stream.id)
        }
        // Which of its players it was nobody can tell: they are left as they are until their holders are gone.
        startedAgain.insert(stream.id)
        keep(planned(), for: binding.players)
        unbind(stream.id)
    }

    /// A stream is gone. Players close theirs when they are paused, and open others when they play again.
    mutating func removed(_ id: StreamID, as planned: () -> PlannedStream?) {
        inVain.remove(id)
        unlisted.remove(id)
        startedAgain.remove(id)
        guard let binding = bindings.removeValue(forKey: id) else { return }
        keep(planned(), for: binding.players)
    }

    private mutating func keep(_ stream: PlannedStream?, for players: Set<PlayerID>) {
        guard let stream else { return }
        for player in players { pauses[player]?.absent.append(stream) }
    }

    private mutating func unbind(_ id: StreamID) {
        bindings[id] = nil
        dirty.insert(id)
    }

    /// The sound server is gone, and its streams with it.
    mutating func serverLost() {
        bindings.removeAll()
        inVain.removeAll()
        unlisted.removeAll()
        startedAgain.removeAll()
        for player in pauses.keys.sorted() {
            pauses[player]?.absent.removeAll()
            unbound.insert(player)
        }
    }

    // MARK: Players

    /// Players will be told of, from the first list on.
    mutating func attached(now: LoopInstant) { listDeadline = now + PlayerPause.patience }

    mutating func receive(_ event: PlayerEvent, sandbox: ProcessFacts.Sandbox? = nil, now: LoopInstant) {
        switch event {
        case .present(let player):
            index.set(player, sandbox: sandbox)
            adopt(player, now: now)
        case .gone(let id):
            index.remove(id)
            end(id, .stoppedElsewhere, now: now)
        case .listed: listed()
        case .changed(let id, let status): step(id, now: now) { $0.changed(status, now: now) }
        case .status(let id, let round, let status):
            step(id, round, now: now) { $0.answered(status, now: now) }
        case .passedOn(let id, let round): step(id, round, now: now) { $0.passedOn() }
        case .answered(let id, let round): step(id, round, now: now) { $0.acknowledged() }
        case .lost: lost()
        }
    }

    private mutating func adopt(_ player: MediaPlayer, now: LoopInstant) {
        guard let name = left.removeValue(forKey: player.id) else { return }
        guard player.names.contains(name) else {
            records.append(.playerDone(player.id))
            return
        }
        pauses[player.id] = PlayerPause(adoptedAt: now)
        unbound.insert(player.id)
        requests.append(.watch(player.id))
        ask(player.id) { .readStatus($0, round: $1) }
    }

    private mutating func listed() {
        listDeadline = nil
        dirty.formUnion(Self.take(&unlisted))
        records += left.keys.sorted().map { .playerDone($0) }
        left.removeAll()
    }

    /// What is in the ledger stays there: the players may still be there for the next run.
    private mutating func lost() {
        listDeadline = nil
        dirty.formUnion(Self.take(&unlisted))
        dirty.formUnion(bindings.keys)
        inVain.formUnion(bindings.keys)
        bindings.removeAll()
        pauses.removeAll()
        left.removeAll()
        unbound.removeAll()
        index = PlayerIndex()
    }

    private mutating func begin(_ player: PlayerID, now: LoopInstant) {
        pauses[player] = PlayerPause(now: now)
        // In this order: no change can be missed between the two.
        requests.append(.watch(player))
        ask(player) { .readStatus($0, round: $1) }
    }

    private mutating func ask(_ player: PlayerID, _ request: (PlayerID, UInt64) -> PlayerRequest) {
        round += 1
        rounds[player] = round
        requests.append(request(player, round))
    }

    private mutating func step(
        _ id: PlayerID, _ round: UInt64? = nil, now: LoopInstant, _ event: (inout PlayerPause) -> PlayerPause.Step
    ) {
        guard var pause = pauses[id], round == nil || round == rounds[id] else { return }
        let step = event(&pause)
        pauses[id] = pause
        take(step, of: id, now: now)
    }

    private mutating func take(_ step: PlayerPause.Step, of id: PlayerID, now: LoopInstant) {
        switch step {
        case .none: break
        case .read: ask(id) { .readStatus($0, round: $1) }
        case .pause:
            if let name = index[id]?.names.first { records.append(.playerPaused(id, name: name)) }
            ask(id) { .pause($0, round: $1) }
        case .play: ask(id) { .play($0, round: $1) }
        case .confirmed: for stream in streams(of: id) { settle(stream, now: now) }
        case .over(let ending): end(id, ending, now: now)
        }
    }

    private func streams(of player: PlayerID) -> [StreamID] {
        bindings.filter { $0.value.players.contains(player) }.map(\.key).sorted()
    }

    /// Something has come of the players of a stream: when all of them are paused it may still take its time to stop.
    private mutating func settle(_ id: StreamID, now: LoopInstant) {
        dirty.insert(id)
        guard let binding = bindings[id], !binding.players.contains(where: { pauses[$0]?.isOpen == true }) else {
            return
        }
        bindings[id]?.deadline = now + Self.settling
    }

    // MARK: Endings

    private mutating func end(_ id: PlayerID, _ ending: PlayerPause.Ending, now: LoopInstant) {
        guard let pause = pauses.removeValue(forKey: id) else { return }
        rounds[id] = nil
        unbound.remove(id)
        requests.append(.unwatch(id))
        if pause.phase != .reading { records.append(.playerDone(id)) }
        for stream in streams(of: id) { self.end(id, ending, for: stream, now: now) }
    }

    private mutating func end(_ id: PlayerID, _ ending: PlayerPause.Ending, for stream: StreamID, now: LoopInstant) {
        guard var binding = bindings[stream] else { return }
        binding.players.remove(id)
        if !binding.players.isEmpty {
            // Which of its players is heard on it nobody can tell; one of them could not be paused.
            if ending == .failed, !binding.isCorked { binding.needsServer = true }
            bindings[stream] = binding
            return settle(stream, now: now)
        }
        switch ending {
        case .resumed where binding.isCorked:
            binding.deadline = now + Self.starting
            binding.needsServer = false
            bindings[stream] = binding
            dirty.insert(stream)
            return
        case .resumed: break
        case .startedElsewhere: startedAgain.insert(stream)
        case .unneeded, .failed, .stoppedElsewhere, .left: if binding.isWanted { inVain.insert(stream) }
        }
        unbind(stream)
    }

    // MARK: Time and wishes

    /// What of the players is not wanted any more, and what a deadline makes of them.
    /// - Parameters:
    ///   - delay: from the last holder's end until a player plays again; `nil`: it is left paused.
    ///   - isHeld: whether a pause of a stream that is gone would still be wanted; whether a claim still has effects.
    mutating func settle(
        resumingAfter delay: Duration?, now: LoopInstant, isPaused: (PlannedStream) -> Bool,
        hasEffects: (ClaimID) -> Bool
    ) {
        if let listDeadline, listDeadline <= now { self.listDeadline = nil }
        if listDeadline == nil { dirty.formUnion(Self.take(&unlisted)) }
        for id in pauses.keys.sorted() where !unbound.contains(id) {
            let isWanted =
                bindings.values.contains { $0.isWanted && $0.players.contains(id) }
                || pauses[id]?.absent.contains(where: isPaused) == true
                || pauses[id]?.holders.contains(where: hasEffects) == true
            step(id, now: now) { $0.want(isWanted, resumingAfter: delay, now: now) }
        }
        for id in pauses.keys.sorted() { step(id, now: now) { $0.passed(now) } }
        for (id, binding) in bindings { if let deadline = binding.deadline, deadline <= now { overdue(id, binding) } }
    }

    private mutating func overdue(_ id: StreamID, _ binding: Binding) {
        bindings[id]?.deadline = nil
        if binding.players.isEmpty { return unbind(id) }
        guard !binding.isCorked, binding.isWanted else { return }
        bindings[id]?.needsServer = true
        dirty.insert(id)
    }

    var nextDeadline: LoopInstant? {
        let players = pauses.values.compactMap(\.deadline).min()
        let streams = bindings.values.compactMap(\.deadline).min()
        return [players, streams, unlisted.isEmpty ? nil : listDeadline].compactMap { $0 }.min()
    }

    /// Nobody holds anything any more: everything plays again.
    mutating func letGo() {
        for id in pauses.keys {
            pauses[id]?.absent.removeAll()
            pauses[id]?.holders.removeAll()
        }
        for id in bindings.keys { bindings[id]?.isWanted = false }
    }
}
