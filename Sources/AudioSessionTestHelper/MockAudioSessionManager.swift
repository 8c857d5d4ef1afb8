public import AudioSession
import Synchronization

/// Grants everything and records what it is asked: for a client's own logic, that it acquires at the right moment and
/// releases on every way out. It neither ranks nor refuses; where that matters, use `AudioSessionManagerTestFactory`.
public final class MockAudioSessionManager: AudioSessionManagerProtocol, CallControlProtocol, Sendable {
    public enum Call: Equatable, Sendable {
        case acquire(AudioSessionClientKind, output: AudioSessionOutput)
        case update(AudioSessionClientKind, output: AudioSessionOutput)
        case release(AudioSessionClientKind)
        case activate(AudioSessionClientKind)
        case deactivate(AudioSessionClientKind)
    }

    private struct State: ~Copyable {
        var calls: [Call] = []
        var outstanding: [AudioSessionClaim] = []
        var lastNumber: UInt64 = 0
        var route = AudioRoute(outputs: [.builtInSpeaker])
        var events = ClaimEvents()
    }

    private let state = Mutex(State())

    public init() {}

    // MARK: What a test asks and says

    /// Every call of a client's, in order; a release of what is not held is none.
    public var calls: [Call] { state.withLock { $0.calls } }

    /// The kinds of the claims that are held, in the order of their acquisition.
    public var outstandingKinds: [AudioSessionClientKind] { state.withLock { $0.outstanding.map(\.kind) } }

    /// Tells every claim that is held.
    public func send(_ event: AudioSessionEvent) { state.withLock { $0.events.send(event) } }

    /// What `currentRoute` says from now on.
    public func setRoute(outputs: [AudioPort], hasBluetoothInput: Bool = false) {
        state.withLock { $0.route = AudioRoute(outputs: outputs, hasBluetoothInput: hasBluetoothInput) }
    }

    // MARK: AudioSessionManagerProtocol

    public func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput
    ) async throws(AudioSessionError) -> AudioSessionClaim {
        state.withLock { state in
            state.lastNumber += 1
            let claim = AudioSessionClaim(
                id: ClaimID(number: state.lastNumber), kind: kind, connection: "mock")
            state.calls.append(.acquire(kind, output: output))
            state.outstanding.append(claim)
            state.events.open(claim.id)
            return claim
        }
    }

    public func update(_ claim: AudioSessionClaim, output: AudioSessionOutput) async {
        state.withLock { $0.calls.append(.update(claim.kind, output: output)) }
    }

    public func release(_ claim: AudioSessionClaim) async {
        state.withLock { state in
            guard let index = state.outstanding.firstIndex(of: claim) else { return }
            state.outstanding.remove(at: index)
            state.calls.append(.release(claim.kind))
            state.events.close(claim.id)
        }
    }

    public func events(for claim: AudioSessionClaim) async -> AsyncStream<AudioSessionEvent> {
        state.withLock { $0.events.listen(to: claim.id) }
    }

    public func currentRoute() async -> AudioRoute { state.withLock { $0.route } }

    public func diagnostics() async -> String { "mock, \(outstandingKinds.count) claims" }

    // MARK: CallControlProtocol

    public func activate(_ claim: AudioSessionClaim) async {
        state.withLock { $0.calls.append(.activate(claim.kind)) }
    }

    public func deactivate(_ claim: AudioSessionClaim) async {
        state.withLock { $0.calls.append(.deactivate(claim.kind)) }
    }

    public func releaseCall() async {
        for claim in state.withLock({ $0.outstanding }) where claim.kind == .call { await release(claim) }
    }
}
