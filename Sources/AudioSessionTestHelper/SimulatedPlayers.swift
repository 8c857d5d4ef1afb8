public import AudioPolicy
import EventLoop

/// The media players on a simulated session bus, with the streams that they play and the manners that players have.
/// They outlive the daemons that ask them.
public final class SimulatedPlayers {
    /// How a player behaves.
    public enum Manners: Equatable, Sendable {
        /// Does what it is told, says so, and says what has come of it.
        case honest
        /// Never says by itself that its status has changed.
        case wordless
        /// Takes `Pause` and `Play` for "the other way round".
        case toggling
        /// Answers `Pause` never and does not pause.
        case silent
        /// Answers nothing at all.
        case hanging
        /// Answers at once and does what it is told only after this.
        case slow(Duration)
        /// Is gone as soon as it is told to pause.
        case crashing
        /// Answers `Pause` and goes on, saying so.
        case stubborn
        /// Says that it has paused and goes on.
        case lying
        /// Its user pauses it between its answer to the question and the request.
        case overtaken
        /// Closes its stream when it pauses and opens another when it plays.
        case closing
    }

    public struct Player {
        public let name: String
        /// Its executable.
        let program: String
        public let pid: Int32
        public internal(set) var manners: Manners
        public internal(set) var status: PlaybackStatus
        /// What it plays.
        public internal(set) var stream: StreamID?
        /// The methods that were called, in their order.
        public internal(set) var calls: [String] = []
    }

    public private(set) var players: [PlayerID: Player] = [:]
    let server: SimulatedServer
    var connection: SimulatedPlayerBus?
    private var nextName = 1

    init(_ server: SimulatedServer) { self.server = server }

    public subscript(id: PlayerID) -> Player? { players[id] }

    // MARK: What players and their users do

    /// A player appears on the bus: `org.mpris.MediaPlayer2.` and the name.
    public func start(
        _ name: String, pid: Int32, playing stream: StreamID?, _ manners: Manners = .honest,
        status: PlaybackStatus = .playing
    ) -> PlayerID {
        let id = PlayerID(":1.\(nextName)")
        nextName += 1
        players[id] = Player(
            name: "org.mpris.MediaPlayer2." + name, program: name, pid: pid, manners: manners, status: status,
            stream: stream)
        if let player = media(id) { connection?.tell(.present(player)) }
        return id
    }

    /// It leaves the bus, and its stream ends.
    public func quit(_ id: PlayerID) {
        guard let player = players.removeValue(forKey: id) else { return }
        if let stream = player.stream { server.stop(stream) }
        connection?.tell(.gone(id))
    }

    /// Its user presses a button.
    public func press(_ id: PlayerID, _ status: PlaybackStatus) { enter(id, status) }

    func media(_ id: PlayerID) -> MediaPlayer? {
        players[id].map { MediaPlayer(id: id, names: [$0.name], pid: $0.pid) }
    }

    private func enter(_ id: PlayerID, _ status: PlaybackStatus) {
        guard let player = players[id], player.status != status else { return }
        players[id]?.status = status
        if player.manners != .wordless { connection?.changed(id, status) }
        guard player.manners != .lying else { return }
        if player.manners == .closing { return changeStream(id, player, status) }
        if let stream = player.stream { server.cork(stream, status != .playing) }
    }

    private func changeStream(_ id: PlayerID, _ player: Player, _ status: PlaybackStatus) {
        if let stream = player.stream { server.stop(stream) }
        guard status == .playing else {
            players[id]?.stream = nil
            return
        }
        players[id]?.stream = server.start(player.program, role: "music", pid: player.pid) {
            $0.obeysCorkRequests = false
        }
    }

    // MARK: What they are asked

    /// `nil`: no answer.
    func status(of id: PlayerID) -> PlaybackStatus? {
        guard let player = players[id], player.manners != .hanging else { return nil }
        players[id]?.calls.append("Get")
        let status = player.status
        if player.manners == .overtaken, status == .playing {
            server.loop.schedule(after: .microseconds(1)) { [weak self] in self?.enter(id, .paused) }
        }
        return status
    }

    /// Returns whether it answers.
    func tell(_ id: PlayerID, _ method: String, _ status: PlaybackStatus) -> Bool {
        guard let player = players[id], player.manners != .hanging else { return false }
        players[id]?.calls.append(method)
        switch player.manners {
        case .silent where status == .paused: return false
        case .stubborn where status == .paused: break
        case .crashing where status == .paused:
            quit(id)
            return false
        case .toggling: enter(id, player.status == .playing ? .paused : .playing)
        case .slow(let delay):
            server.loop.schedule(after: delay) { [weak self] in self?.enter(id, status) }
        default: enter(id, status)
        }
        return true
    }
}

/// One daemon's connection to the players. Messages keep their order and take their time.
public final class SimulatedPlayerBus: MediaPlayers {
    public var onEvent: ((PlayerEvent) -> Void)?

    private let players: SimulatedPlayers
    private let toPlayers: MessagePipe
    private let toDaemon: MessagePipe
    private var watched: Set<PlayerID> = []
    private var isClosed = false

    public init(_ players: SimulatedPlayers) {
        self.players = players
        let latency = { players.server.latency() }
        toPlayers = MessagePipe(loop: players.server.loop, latency: latency)
        toDaemon = MessagePipe(loop: players.server.loop, latency: latency)
        players.connection = self
        toPlayers.send { [self] in
            for id in players.players.keys.sorted() { if let player = players.media(id) { tell(.present(player)) } }
            tell(.listed)
        }
    }

    func close() {
        isClosed = true
        if players.connection === self { players.connection = nil }
    }

    /// As a bus that ends.
    public func lose() {
        tell(.lost)
        close()
    }

    func tell(_ event: PlayerEvent) {
        guard !isClosed else { return }
        toDaemon.send { [self] in if !isClosed || event == .lost { onEvent?(event) } }
    }

    func changed(_ id: PlayerID, _ status: PlaybackStatus) {
        if watched.contains(id) { tell(.changed(id, status)) }
    }

    public func perform(_ requests: [PlayerRequest]) {
        for request in requests { toPlayers.send { [self] in carryOut(request) } }
    }

    private func carryOut(_ request: PlayerRequest) {
        switch request {
        case .watch(let id): watched.insert(id)
        case .unwatch(let id): watched.remove(id)
        case .readStatus(let id, let round):
            if let status = players.status(of: id) { tell(.status(id, round: round, status)) }
        case .pause(let id, let round):
            tell(.passedOn(id, round: round))
            if players.tell(id, "Pause", .paused) { tell(.answered(id, round: round)) }
        case .play(let id, let round):
            if players.tell(id, "Play", .playing) { tell(.answered(id, round: round)) }
        }
    }
}
