/// One line of `sordino monitor --json` and the argument of the bus signal `Event`. The names are a contract.
public struct SessionEvent: Equatable, Sendable, Codable {
    public enum Name: String, Sendable, Codable {
        case claimAcquired, claimReleased, winnerChanged, standingChanged, effectChanged, routeChanged, deviceChanged,
            deviceListChanged, deviceUnavailable, interrupted, interruptionEnded, serverConnected, serverLost, warning
    }

    /// Seconds since 1970.
    public var time: Double
    public var event: Name
    public var claim: SessionStatus.Claim?
    public var stream: SessionStatus.Stream?
    public var device: SessionStatus.Device?
    public var server: SessionStatus.Server?
    /// For `winnerChanged`: the new winner's id; absent when there is none.
    public var winner: String?
    /// For `warning` and `serverLost`: a sentence.
    public var message: String?

    public init(
        time: Double, event: Name, claim: SessionStatus.Claim? = nil, stream: SessionStatus.Stream? = nil,
        device: SessionStatus.Device? = nil, server: SessionStatus.Server? = nil, winner: String? = nil,
        message: String? = nil
    ) {
        self.time = time
        self.event = event
        self.claim = claim
        self.stream = stream
        self.device = device
        self.server = server
        self.winner = winner
        self.message = message
    }
}
