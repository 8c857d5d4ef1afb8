public import AudioPolicy
import EventLoop
import Glibc
import LinuxProcesses
import SessionBus
import SoundServerFinder
import SystemEventLoop

/// What `sordino run` is: the session, the sound server it is on, the bus, the ledger and the signals, on one loop.
public final class Daemon {
    public struct Options: Sendable {
        /// Instead of the configuration's.
        public var server: PolicySettings.ServerChoice?
        public var settings: SettingsSource
        /// End the daemon that is running and take its place.
        public var replace: Bool

        public init(server: PolicySettings.ServerChoice?, settings: SettingsSource, replace: Bool) {
            self.server = server
            self.settings = settings
            self.replace = replace
        }
    }

    private let environment: [String: String]
    private let log: DaemonLog
    private let loop: SystemEventLoop
    private let store: FileLedgerStore
    private let processes = ProcessDirectory()
    private let session: PolicySession
    private let finder: ServerFinder
    private var bus: SessionBusService?
    private let login: LoginWatch
    private var players: BusMediaPlayers?
    private var isConnected = false
    private var isEnding = false
    /// What must have its first answer, good or bad, before the session is ready.
    private var unsettled: Set<Part> = [.bus, .server]

    private enum Part { case bus, server }

    /// Runs until a signal ends it. Returns the exit code; throws with what keeps it from running at all.
    public static func run(_ options: Options, environment: [String: String]) throws(CommandFailure) -> Int32 {
        let log = DaemonLog(environment: environment)
        // The configuration first: a bad one must not end the daemon that is to be replaced.
        let (settings, warnings) = try options.settings.load()
        let paths = try SessionPaths(environment: environment)
        let lock = try options.replace ? SessionLock.replacing(paths) : SessionLock(paths)
        for warning in warnings { log(.warning, warning) }
        let store = try FileLedgerStore(paths)
        store.onFailure = { log(.error, $0) }
        let daemon: Daemon
        do {
            daemon = try Daemon(options, settings, store: store, environment: environment, log: log)
            try daemon.takeSignals()
        } catch {
            throw CommandFailure(ExitCode.software, "\(error)")
        }
        daemon.begin()
        let code = (try? daemon.loop.run()) ?? ExitCode.software
        // The loop's callbacks hold neither; the lock is held until everything is undone.
        extendLifetime(daemon)
        extendLifetime(lock)
        return code
    }

    private init(
        _ options: Options, _ settings: PolicySettings, store: FileLedgerStore, environment: [String: String],
        log: DaemonLog
    ) throws {
        self.environment = environment
        self.log = log
        self.store = store
        let loop = try SystemEventLoop()
        self.loop = loop
        session = PolicySession(
            loop: loop, settings: settings, processes: processes, store: store
        ) { () throws(SessionControlError) in try Self.reload(options.settings, log) }
        login = LoginWatch(loop: loop, sessionID: environment["XDG_SESSION_ID"])
        finder = ServerFinder(
            loop: loop, choice: options.server ?? settings.server, places: ServerPlaces(environment: environment)
        ) { kind in makeSoundServer(kind, loop) }
    }

    private static func reload(_ source: SettingsSource, _ log: DaemonLog) throws(SessionControlError) -> PolicySettings
    {
        ServiceManager.reloading()
        defer { ServiceManager.ready() }
        do throws(CommandFailure) {
            let (settings, warnings) = try source.load()
            for warning in warnings { log(.warning, warning) }
            log(.notice, "the configuration was read again")
            return settings
        } catch {
            log(.error, "the configuration stays as it was: \(error.message)")
            throw .badConfiguration(error.message)
        }
    }

    // MARK: Beginning

    private func begin() {
        session.onEvent = { [unowned self] event in self.announce(event) }
        finder.onConnected = { [unowned self] server, info, graph in
            isConnected = true
            log(.notice, "connected to \(info.kind.shownName) \(info.version.shown())")
            session.driver.attach(connected: server, info, graph)
            ServiceManager.status("connected to \(info.kind.shownName)")
            settle(.server)
        }
        finder.onEvent = { [unowned self] event in session.driver.receive(event) }
        finder.onLost = { [unowned self] failure in self.lost(failure) }
        finder.onNone = { [unowned self] failure in
            log(.notice, "waiting for a sound server: \(failure.message.shown(limit: 300))")
            ServiceManager.status("waiting for a sound server")
            settle(.server)
        }
        finder.onRefused = { [unowned self] failure in
            self.fail(ExitCode.unavailable, failure.message.shown(limit: 300))
        }
        beginBus()
        beginPlayers()
        finder.start()
        login.onChange = { [unowned self] reason, isInForce in session.setInterrupted(reason, isInForce) }
        // Without logind nobody sleeps and no seat is switched.
        try? login.start(address: LoginWatch.address(in: environment))
    }

    private func settle(_ part: Part) {
        guard unsettled.remove(part) != nil, unsettled.isEmpty else { return }
        ServiceManager.ready()
    }

    private func announce(_ event: SessionEvent) {
        if event.event == .warning, let message = event.message { log(.warning, message.shown(limit: 400)) }
        bus?.emit(event)
    }

    private func lost(_ failure: ServerFailure) {
        isConnected = false
        log(.warning, "the sound server is gone: \(failure.message.shown(limit: 300))")
        ServiceManager.status("waiting for a sound server")
        session.driver.receive(.lost(failure))
        if isEnding { finish(ExitCode.ok) }
    }

    // MARK: The bus

    private func beginBus() {
        guard let address = BusContract.address(in: environment) else { return withoutBus("there is none") }
        let service = SessionBusService(
            loop: loop, control: session, processes: processes, address: address)
        service.onChange = { [unowned self] change in
            switch change {
            case .running: settle(.bus)
            case .failed(let error) where error.code == .nameTaken: fail(ExitCode.unavailable, error.message)
            case .failed(let error): withoutBus(error.message)
            }
        }
        do throws(BusError) {
            try service.start()
            bus = service
        } catch {
            withoutBus(error.message)
        }
    }

    private func withoutBus(_ reason: String) {
        log(
            .warning,
            "no session bus: \(reason.shown(limit: 300)); streams are looked after, programs and commands cannot ask")
        settle(.bus)
    }

    /// Without them the sound server's own pause does it.
    private func beginPlayers() {
        guard let address = BusContract.address(in: environment) else { return }
        let players = BusMediaPlayers(loop: loop, address: address)
        do throws(BusError) {
            try players.start()
            session.driver.attach(players)
            self.players = players
        } catch {
            log(.warning, "media players cannot be asked to pause: \(error.message.shown(limit: 300))")
        }
    }

    // MARK: Ending

    private func takeSignals() throws {
        for signal in [SIGTERM, SIGINT] { try loop.addSignal(signal) { [unowned self] in self.end() } }
        try loop.addSignal(SIGHUP) { [unowned self] in try? session.reload() }
    }

    /// Undoes everything, and ends when the server has confirmed it: after a second even if it has not, since what is
    /// still in the ledger is undone by the next run.
    private func end() {
        guard !isEnding else { return }
        isEnding = true
        ServiceManager.stopping()
        guard isConnected else { return finish(ExitCode.ok) }
        loop.schedule(after: .seconds(1)) { [unowned self] in
            log(.warning, "the sound server has not confirmed that everything is undone")
            finish(ExitCode.ok)
        }
        session.driver.end { [unowned self] in self.finish(ExitCode.ok) }
    }

    private func fail(_ code: Int32, _ message: String) {
        log(.error, message)
        finish(code)
    }

    private func finish(_ code: Int32) {
        bus?.stop()
        login.stop()
        players?.stop()
        // Not in the middle of the event that brought us here.
        loop.schedule(after: .zero) { [self] in
            finder.stop()
            store.finish()
            loop.exit(code: code)
        }
    }
}
