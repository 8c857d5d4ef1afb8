/// One session: the arbiter above one driver. Confined to the driver's loop.
public final class AudioSessionCore {
    public private(set) var arbiter = Arbiter()
    public let driver: any AudioSessionDriver
    /// What holders are to be told, in order.
    public var onDelivery: ((ClaimID, AudioSessionEvent) -> Void)?
    /// After each change of arbitration, once the driver has applied it.
    public var onChange: ((SessionState) -> Void)?
    /// The server's going and coming.
    public var onInterruption: ((AudioSessionDriverEvent) -> Void)?

    public init(driver: any AudioSessionDriver) {
        self.driver = driver
        driver.onEvent = { [unowned self] event in self.handle(event) }
    }

    public func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system, owner: ClaimOwner
    ) throws(AudioSessionError) -> ClaimID {
        let (id, outcome) = try arbiter.acquire(kind, output: output, owner: owner)
        carryOut(outcome)
        return id
    }

    public func update(_ id: ClaimID, output: AudioSessionOutput) { carryOut(arbiter.update(id, output: output)) }

    public func release(_ id: ClaimID) { carryOut(arbiter.release(id)) }

    private func handle(_ event: AudioSessionDriverEvent) {
        switch event {
        case .observed(let changed, let gone): carryOut(arbiter.observe(changed: changed, gone: gone))
        case .interrupted, .interruptionEnded: onInterruption?(event)
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
