public import AudioSession
public import EventLoop

/// The daemon's session: the arbiter over the sound server's driver, with what the bus and the command ask of it.
public final class PolicySession: SessionControl {
    public let driver: SoundServerDriver
    public let core: AudioSessionCore
    public var onEvent: ((SessionEvent) -> Void)?

    private let loadSettings: () throws(SessionControlError) -> PolicySettings

    /// - Parameter loadSettings: reads the configuration anew, for `reload`.
    public init(
        loop: any EventLoop, settings: PolicySettings, processes: any ProcessInspector, store: any LedgerStore,
        loadSettings: @escaping () throws(SessionControlError) -> PolicySettings
    ) {
        driver = SoundServerDriver(loop: loop, settings: settings, processes: processes, store: store)
        core = AudioSessionCore(driver: driver)
        self.loadSettings = loadSettings
        driver.onSessionEvent = { [unowned self] event in self.onEvent?(event) }
        core.onChange = { [unowned self] state in
            guard onEvent != nil else { return }
            driver.whenSent { [weak self] in self?.announce(state) }
        }
        core.onInterruption = { [unowned self] isInterrupted in
            self.send(isInterrupted ? .interrupted : .interruptionEnded, claim: nil)
        }
    }

    public var isEnabled: Bool { driver.isEnabled }

    public func status() -> SessionStatus { driver.status(arbiter: core.arbiter) }

    public func explain(_ stream: String, isConfined: Bool) throws(SessionControlError) -> String {
        try driver.explain(stream, isConfined: isConfined)
    }

    public func setEnabled(_ enabled: Bool) { driver.setEnabled(enabled) }

    public func reload() throws(SessionControlError) { driver.setSettings(try loadSettings()) }

    public func restore() { driver.restore() }

    /// The machine sleeps or the seat is another user's, or no longer. What is in force is kept meanwhile.
    public func setInterrupted(_ reason: AudioSessionInterruption, _ isInterrupted: Bool) {
        if reason == .seat { driver.setHeldBack(isInterrupted) }
        if isInterrupted { core.interrupt(reason) } else { core.endInterruption(reason) }
    }

    // MARK: Claims

    public func claim(_ id: ClaimID) -> SessionStatus.Claim? { core.arbiter[id].map(driver.claimStatus) }

    public func route() -> AudioRoute { driver.route() }

    public func selectDevice(_ name: String?) throws(SessionControlError) { try driver.selectDevice(name) }

    // MARK: Events

    private var known: [ClaimID: SessionStatus.Claim] = [:]
    private var lastWinner: ClaimID?

    private func announce(_ state: SessionState) {
        for id in state.released {
            guard let claim = known.removeValue(forKey: id) else { continue }
            send(.claimReleased, claim: claim)
        }
        for entry in state.changed {
            let claim = driver.claimStatus(entry)
            let old = known.updateValue(claim, forKey: entry.claim.id)
            if old == nil {
                send(.claimAcquired, claim: claim)
            } else if old?.standing != claim.standing || old?.counts != claim.counts {
                send(.standingChanged, claim: claim)
            }
        }
        if state.winner != lastWinner {
            lastWinner = state.winner
            driver.announce(
                .init(
                    time: driver.loop.wallClock, event: .winnerChanged, claim: state.winner.flatMap { known[$0] },
                    winner: state.winner?.description))
        }
    }

    private func send(_ name: SessionEvent.Name, claim: SessionStatus.Claim?) {
        driver.announce(.init(time: driver.loop.wallClock, event: name, claim: claim))
    }
}
