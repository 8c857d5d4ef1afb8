public import AudioPolicy
import EventLoop
import Glibc
import LinuxProcesses
import SessionBus
import SoundServerFinder
import SystemEventLoop

/// Undoing without a daemon: connects, lets the session heal what the ledger says, and leaves.
public final class LedgerRestore {
    private let loop: SystemEventLoop
    private let finder: ServerFinder
    private var failure: ServerFailure?
    private var onConnected: ((any SoundServer, ServerInfo, ServerGraph) -> Void)?

    private init(_ places: ServerPlaces, _ choice: PolicySettings.ServerChoice) throws(CommandFailure) {
        do throws(SystemEventLoopError) {
            let loop = try SystemEventLoop()
            self.loop = loop
            finder = ServerFinder(loop: loop, choice: choice, places: places, waits: false) { kind in
                makeSoundServer(kind, loop)
            }
        } catch {
            throw CommandFailure(ExitCode.software, "\(error)")
        }
    }

    /// Undoes everything in the ledger. Returns how many entries there were, and how many are left.
    ///
    /// Throws where a daemon is running, since it alone may write the ledger; where no server answers; and where the
    /// server lets nobody in.
    public static func run(environment: [String: String]) throws(CommandFailure) -> (before: Int, left: Int) {
        let paths = try SessionPaths(environment: environment)
        let lock = try SessionLock(paths, hint: "everything is undone when it ends")
        let store = try FileLedgerStore(paths)
        let one = try LedgerRestore(ServerPlaces(environment: environment), .auto)
        var settings = PolicySettings()
        // Only undo: no claim is made for anybody and no module is touched.
        settings.observedEnabled = false
        settings.takeOverRoleModules = false
        let session = PolicySession(loop: one.loop, settings: settings, processes: ProcessDirectory(), store: store) {
            settings
        }
        let before = session.status().ledger.entries
        let players = BusContract.address(in: environment).map { BusMediaPlayers(loop: one.loop, address: $0) }
        // Without a bus its players are left as they are, and counted among what is left.
        if let players, (try? players.start()) != nil { session.driver.attach(players) }
        var isDone = false
        one.finder.onEvent = { event in session.driver.receive(event) }
        one.onConnected = { server, info, graph in
            session.driver.attach(connected: server, info, graph)
            session.driver.end { isDone = true }
        }
        try one.work(atMost: .seconds(3)) { isDone }
        let left = session.status().ledger.entries
        one.finder.stop()
        players?.stop()
        store.finish()
        extendLifetime(lock)
        return (before, left)
    }

    /// Sets the gain that no mixer shows back to 1 on every PipeWire stream that has one. Needs no lock: no ledger is
    /// about it. Returns the names of the streams' programs.
    public static func clearHiddenGains(environment: [String: String]) throws(CommandFailure) -> [String] {
        let one = try LedgerRestore(ServerPlaces(environment: environment), .pipewire)
        var waiting: [StreamID: String] = [:]
        var cleared: [String] = []
        var isConnected = false
        one.finder.onEvent = { event in
            guard case .changed(let changes) = event else { return }
            for change in changes {
                switch change {
                case .stream(let stream) where stream.hiddenGain == 1: waiting[stream.id] = nil
                case .streamRemoved(let id): waiting[id] = nil
                default: break
                }
            }
        }
        one.onConnected = { server, _, graph in
            isConnected = true
            for stream in graph.streams.values where stream.hiddenGain != 1 {
                waiting[stream.id] = stream.properties["application.name"] ?? "stream \(stream.id)"
            }
            cleared = waiting.values.sorted()
            server.perform(waiting.keys.sorted().map { .setHiddenGain($0, 1) })
        }
        try one.work(atMost: .seconds(2)) { isConnected && waiting.isEmpty }
        one.finder.stop()
        return cleared
    }

    /// Connects and turns the loop until it is done, or so long after the connection.
    private func work(atMost duration: Duration, until isDone: () -> Bool) throws(CommandFailure) {
        var isConnected = false
        finder.onConnected = { [unowned self] server, info, graph in
            isConnected = true
            onConnected?(server, info, graph)
        }
        finder.onNone = { [unowned self] in failure = $0 }
        finder.onRefused = { [unowned self] in failure = $0 }
        finder.onLost = { [unowned self] in failure = $0 }
        finder.start()
        var end = loop.now + .seconds(10)
        var wasConnected = false
        while !isDone(), failure == nil, loop.now < end {
            do throws(SystemEventLoopError) {
                try loop.turn(timeout: end - loop.now)
            } catch {
                throw CommandFailure(ExitCode.software, "\(error)")
            }
            if isConnected, !wasConnected {
                wasConnected = true
                end = loop.now + duration
            }
        }
        if let failure { throw CommandFailure(failure) }
    }
}

extension CommandFailure {
    /// What kept a one-shot command from its sound server.
    public init(_ failure: ServerFailure) {
        let code = failure.code == .accessDenied ? ExitCode.notPermitted : ExitCode.unavailable
        self.init(code, failure.message.shown(limit: 300))
    }
}

extension FileLedgerStore {
    /// The session's ledger, with its lasting copy where there is a home for one.
    convenience init(_ paths: SessionPaths) throws(CommandFailure) {
        let copy = paths.state.map { state in
            LastingCopy(of: paths.ledger, at: state + "/ledger", lasting: lastingPart(ofLedger:))
        }
        try self.init(paths.ledger, copy: copy)
    }
}
