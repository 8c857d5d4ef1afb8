import AudioPolicy
import AudioSession
import EventLoop
import LinuxProcesses
import SoundServerFinder
import SystemEventLoop

/// The session of a program that has no daemon: arbitrates and routes this program's claims, and acts on nobody else's
/// streams. Works without a sound server too, and takes one up when it comes. Confined to the loop.
final class EmbeddedSession {
    let core: AudioSessionCore
    private let loop: SystemEventLoop
    private let driver: SoundServerDriver
    private let finder: ServerFinder
    private var isConnected = false
    private var isSettled = false
    private var waiting: [() -> Void] = []
    private var onEnded: (() -> Void)?

    init(_ surroundings: Surroundings, loop: SystemEventLoop) {
        self.loop = loop
        driver = SoundServerDriver(
            loop: loop, settings: .withoutEffects, processes: ProcessDirectory(), store: UnkeptLedger())
        core = AudioSessionCore(driver: driver)
        finder = ServerFinder(loop: loop, choice: .auto, places: ServerPlaces(environment: surroundings.environment)) {
            kind in try surroundings.makeServer(kind, loop)
        }
    }

    func start() {
        finder.onConnected = { [unowned self] server, info, graph in
            isConnected = true
            driver.attach(connected: server, info, graph)
            settle()
        }
        finder.onEvent = { [unowned self] event in driver.receive(event) }
        finder.onLost = { [unowned self] failure in
            isConnected = false
            driver.receive(.lost(failure))
        }
        finder.onNone = { [unowned self] _ in settle() }
        finder.start()
    }

    /// Calls `body` once a sound server answers, or it is certain that none does yet.
    func whenSettled(_ body: @escaping () -> Void) {
        if isSettled { body() } else { waiting.append(body) }
    }

    private func settle() {
        isSettled = true
        let waiting = waiting
        self.waiting = []
        for body in waiting { body() }
    }

    /// Undoes what was done for the claims, and calls `done` when the sound server has confirmed it, or after `limit`.
    func end(within limit: Duration, _ done: @escaping () -> Void) {
        core.onDelivery = nil
        waiting = []
        onEnded = done
        guard isConnected else { return ended() }
        loop.schedule(after: limit) { [weak self] in self?.ended() }
        // Not in the middle of the server's event that confirms it.
        driver.end { [loop, weak self] in loop.defer { self?.ended() } }
    }

    private func ended() {
        let done = onEnded
        onEnded = nil
        stop()
        done?()
    }

    /// Leaves the sound server as it is.
    func stop() { finder.stop() }
}

extension PolicySettings {
    /// Turns nobody down and takes nobody's streams for a claim: that is the daemon's, and two would do it twice.
    fileprivate static var withoutEffects: PolicySettings {
        var settings = PolicySettings()
        settings.effects.cells = [:]
        settings.observedEnabled = false
        settings.takeOverRoleModules = false
        return settings
    }
}

/// The ledger of a session whose changes end with its process: there is no next run to read it.
private final class UnkeptLedger: LedgerStore {
    func read() -> String { "" }
    func append(_ lines: String) {}
    func replace(with lines: String) {}
}
