/// The one owner of a session, over a driver: ranks the claims of one owner, and tells each what becomes of it.
public actor AudioSessionManager: AudioSessionManagerProtocol, CallControlProtocol {
    private let core: AudioSessionCore
    private let owner: ClaimOwner
    private let executor: any SerialExecutor
    private var events = ClaimEvents()

    /// - Parameters:
    ///   - driver: confined to `executor` from now on.
    ///   - owner: whose all claims of this manager are.
    package init(driver: sending any AudioSessionDriver, owner: ClaimOwner, on executor: any SerialExecutor) {
        self.executor = executor
        self.owner = owner
        core = AudioSessionCore(driver: driver)
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    public func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput
    ) async throws(AudioSessionError) -> AudioSessionClaim {
        connect()
        let id = try core.acquire(kind, output: output, owner: owner)
        // The claim's own channel is open before anything can happen to it: nothing else runs here meanwhile.
        events.open(id)
        if core.arbiter.isInterrupted(id) { events.send(.interrupted, to: id) }
        return AudioSessionClaim(id: id, kind: kind, connection: owner.connection ?? "")
    }

    public func update(_ claim: AudioSessionClaim, output: AudioSessionOutput) async {
        core.update(claim.id, output: output)
    }

    public func release(_ claim: AudioSessionClaim) async { release(claim.id) }

    public func events(for claim: AudioSessionClaim) async -> AsyncStream<AudioSessionEvent> {
        events.listen(to: claim.id)
    }

    public func currentRoute() async -> AudioRoute { core.driver.route() }

    public func diagnostics() async -> String { core.driver.diagnostics() }

    public func activate(_ claim: AudioSessionClaim) async { core.setActivated(claim.id, true) }

    public func deactivate(_ claim: AudioSessionClaim) async { core.setActivated(claim.id, false) }

    public func releaseCall() async {
        for entry in core.arbiter.entries where entry.claim.origin == .explicit && entry.claim.kind == .call {
            release(entry.claim.id)
        }
    }

    private func release(_ id: ClaimID) {
        core.release(id)
        events.close(id)
    }

    /// What a driver that is not confined to the executor itself (a double) has to say.
    package func receive(_ event: AudioSessionDriverEvent) {
        connect()
        core.receive(event)
    }

    private func connect() {
        guard core.onDelivery == nil else { return }
        core.onDelivery = { [weak self] id, event in
            self?.assumeIsolated { $0.events.send(event, to: id) }
        }
    }
}
