public import AudioPolicy
public import AudioSession
public import EventLoop

/// A desktop made up for a test: a simulated sound server, its users and programs, and a daemon that can be killed and
/// started again over a ledger that stays.
public final class SimulatedSession {
    public let loop = ManualEventLoop()
    public let server: SimulatedServer
    public let processes = SimulatedProcesses()
    public let players: SimulatedPlayers
    public let ledger = MemoryLedger()
    public var settings: PolicySettings
    /// Between the loss of a server and the next attempt to connect.
    public var reconnectDelay: Duration = .milliseconds(100)
    public private(set) var policy: PolicySession?
    public private(set) var connection: SimulatedSoundServer?
    public private(set) var playerBus: SimulatedPlayerBus?
    /// What holders were told.
    public private(set) var deliveries: [(claim: ClaimID, event: AudioSessionEvent)] = []
    public private(set) var events: [SessionEvent] = []

    public init(_ kind: ServerKind, settings: PolicySettings = PolicySettings()) {
        self.settings = settings
        server = SimulatedServer(kind, loop: loop)
        players = SimulatedPlayers(server)
    }

    // MARK: The daemon

    public func startDaemon() {
        let policy = PolicySession(
            loop: loop, settings: settings, processes: processes, store: MemoryLedgerStore(ledger),
            loadSettings: { [settings] in settings })
        policy.core.onDelivery = { [weak self] claim, event in self?.deliveries.append((claim, event)) }
        policy.onEvent = { [weak self] event in self?.events.append(event) }
        policy.driver.onServerLost = { [weak self] _ in
            guard let self else { return }
            connection = nil
            loop.schedule(after: reconnectDelay) { [weak self] in self?.connect() }
        }
        self.policy = policy
        let playerBus = SimulatedPlayerBus(players)
        self.playerBus = playerBus
        policy.driver.attach(playerBus)
        connect()
    }

    private func connect() {
        guard let policy, connection == nil else { return }
        let connection = SimulatedSoundServer(server)
        self.connection = connection
        policy.driver.attach(connection)
    }

    /// As by SIGKILL: what was sent arrives, and nothing else happens.
    public func killDaemon() {
        policy?.driver.onServerLost = nil
        connection?.stop()
        connection = nil
        playerBus?.close()
        playerBus = nil
        policy = nil
    }

    /// As by SIGTERM. Returns whether everything was undone in time.
    public func endDaemon(within limit: Duration = .seconds(3)) -> Bool {
        var isDone = false
        policy?.driver.end { isDone = true }
        let end = loop.now + limit
        while !isDone, loop.now < end { loop.advance(by: .milliseconds(10)) }
        killDaemon()
        return isDone
    }

    // MARK: Time

    public func pass(_ duration: Duration) { loop.advance(by: duration) }

    /// Lets fades, holds and healing come to their ends.
    public func settle() { loop.advance(by: .seconds(2)) }

    // MARK: Read-outs

    public func status() -> SessionStatus? { policy?.status() }

    public func isOverridden(_ id: StreamID) -> Bool {
        status()?.streams.first { $0.id == id.description && $0.direction == id.direction.rawValue }?.overridden
            ?? false
    }
}
