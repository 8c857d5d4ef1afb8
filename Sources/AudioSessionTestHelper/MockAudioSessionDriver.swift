public import AudioSession
import Synchronization

/// A driver that records what it is told to apply, and says what a test has it say.
public final class MockAudioSessionDriver: AudioSessionDriver, Sendable {
    private struct State: Sendable {
        var applied: [SessionState] = []
        var route = AudioRoute(outputs: [.builtInSpeaker])
        var manager: AudioSessionManager?
    }

    private let state = Mutex(State())

    public init() {}

    /// Every state, in the order in which it was applied.
    public var applied: [SessionState] { state.withLock { $0.applied } }

    /// What the winner asks for now; `nil`: the session is passive.
    public var winner: Claim? {
        state.withLock { state in
            guard let id = state.applied.last?.winner else { return nil }
            return state.applied.lazy.reversed().flatMap(\.changed).first { $0.claim.id == id }?.claim
        }
    }

    /// What `route` says from now on; nobody is told.
    public func setRoute(outputs: [AudioPort], hasBluetoothInput: Bool = false) {
        state.withLock { $0.route = AudioRoute(outputs: outputs, hasBluetoothInput: hasBluetoothInput) }
    }

    /// Has the driver say this to its manager, and returns when the manager has dealt with it. Does nothing before it has
    /// a manager.
    public func send(_ event: AudioSessionDriverEvent) async {
        if case .routeChanged(_, let route) = event { state.withLock { $0.route = route } }
        await state.withLock(\.manager)?.receive(event)
    }

    func setManager(_ manager: AudioSessionManager) { state.withLock { $0.manager = manager } }

    // MARK: AudioSessionDriver

    /// Not used: `send` goes to the manager, which is confined elsewhere.
    public var onEvent: ((AudioSessionDriverEvent) -> Void)? {
        get { nil }
        set {}
    }

    public func apply(_ state: SessionState) { self.state.withLock { $0.applied.append(state) } }

    public func route() -> AudioRoute { state.withLock(\.route) }

    public func diagnostics() -> String { "mock, \(applied.count) states applied" }
}
