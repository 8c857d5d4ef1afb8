/// One session: the arbiter above one driver. Confined to the driver's loop.
public final class AudioSessionCore {
    public private(set) var arbiter = Arbiter()
    public let driver: any AudioSessionDriver
    /// What holders are to be told, in order. Comes after the driver has applied what it is about.
    public var onDelivery: ((ClaimID, AudioSessionEvent) -> Void)?
    /// After each change of arbitration, once the driver has applied it.
    public var onChange: ((SessionState) -> Void)?
    /// The session as a whole is interrupted now, or no longer.
    public var onInterruption: ((_ isInterrupted: Bool) -> Void)?

    public init(driver: any AudioSessionDriver) {
        self.driver = driver
        driver.onEvent = { [unowned self] event in self.receive(event) }
    }

    // MARK: Claims

    /// - Throws: `busyWithCall`, for `.recording` alone.
    public func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system, owner: ClaimOwner,
        options: ClaimOptions = ClaimOptions()
    ) throws(AudioSessionError) -> ClaimID {
        let (id, outcome) = try arbiter.acquire(kind, output: output, owner: owner, options: options)
        carryOut(outcome)
        return id
    }

    public func update(_ id: ClaimID, output: AudioSessionOutput) { carryOut(arbiter.update(id, output: output)) }

    /// Lets a `.call` take route and profile, or takes that back; the other kinds are active by themselves.
    public func setActivated(_ id: ClaimID, _ activated: Bool) { carryOut(arbiter.setActivated(id, activated)) }

    public func setDucking(_ id: ClaimID, _ ducking: AudioSessionDucking) {
        carryOut(arbiter.setDucking(id, ducking))
    }

    /// Does nothing for a claim that is unknown or released.
    public func release(_ id: ClaimID) { carryOut(arbiter.release(id)) }

    // MARK: Interruptions

    public func interrupt(_ reason: AudioSessionInterruption) {
        change { $0.interrupt(reason) }
    }

    /// Where `mayResume` is false, nobody is to start again by itself.
    public func endInterruption(_ reason: AudioSessionInterruption, mayResume: Bool = true) {
        change { $0.endInterruption(reason, mayResume: mayResume) }
    }

    private func change(_ body: (inout Arbiter) -> Arbiter.Outcome) {
        let before = arbiter.isInterrupted
        let outcome = body(&arbiter)
        carryOut(outcome)
        if arbiter.isInterrupted != before { onInterruption?(arbiter.isInterrupted) }
    }

    // MARK: The driver

    public func receive(_ event: AudioSessionDriverEvent) {
        switch event {
        case .observed(let changed, let gone): carryOut(arbiter.observe(changed: changed, gone: gone))
        case .interrupted: interrupt(.server)
        case .interruptionEnded(let shouldResume): endInterruption(.server, mayResume: shouldResume)
        case .routeChanged(let reason, let route):
            if let state = arbiter.reassertion { driver.apply(state) }
            for entry in arbiter.entries where entry.claim.origin == .explicit {
                onDelivery?(entry.claim.id, .outputRouteChanged(reason: reason, route: route))
            }
        }
    }

    private func carryOut(_ outcome: Arbiter.Outcome) {
        if let state = outcome.state {
            driver.apply(state)
            onChange?(state)
        }
        for delivery in outcome.events { onDelivery?(delivery.claim, delivery.event) }
    }
}
