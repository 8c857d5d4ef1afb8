public import AudioSession

/// Whatever takes the sound of a microphone.
public protocol MicrophoneCapture: Sendable {
    /// - Parameter claim: whose properties go on the stream, so that the session knows whose it is.
    func start(for claim: AudioSessionClaim) async
    func stop() async
}

/// Records one voice message, and knows for how long.
public actor VoiceMessageRecorder {
    public enum State: Equatable, Sendable {
        case ready
        case recording
        /// Over, in whatever way: by its user, by a call, by the system.
        case finished
    }

    public private(set) var state = State.ready
    private let audioSessionManager: any AudioSessionManagerProtocol
    private let capture: any MicrophoneCapture
    private let clock = ContinuousClock()
    private var claim: AudioSessionClaim?
    private var eventTask: Task<Void, Never>?
    private var start: ContinuousClock.Instant?
    private var end: ContinuousClock.Instant?

    public init(audioSessionManager: any AudioSessionManagerProtocol, capture: any MicrophoneCapture) {
        self.audioSessionManager = audioSessionManager
        self.capture = capture
    }

    /// How much has been recorded: what the program's timer shows. It stands still as soon as the recording does.
    public var duration: Duration {
        guard let start else { return .zero }
        return (end ?? clock.now) - start
    }

    /// - Throws: `AudioSessionError.busyWithCall` while a call has the microphone.
    public func record() async throws(AudioSessionError) {
        guard state == .ready else { return }
        state = .recording
        let claim: AudioSessionClaim
        do {
            claim = try await audioSessionManager.acquire(.recording)
        } catch {
            state = .ready
            throw error
        }
        guard state == .recording else { return await audioSessionManager.release(claim) }
        self.claim = claim
        listen(to: claim)
        await capture.start(for: claim)
        if state == .recording { start = clock.now }
    }

    private func listen(to claim: AudioSessionClaim) {
        eventTask = Task { [weak self, manager = audioSessionManager] in
            for await event in await manager.events(for: claim) {
                switch event {
                case .interrupted, .subordinated:
                    await self?.finish()
                case .interruptionEnded, .outputRouteChanged:
                    continue
                }
            }
        }
    }

    /// Ends the recording; what has been recorded is kept.
    public func finish() async {
        guard state == .recording else { return }
        state = .finished
        end = clock.now
        guard let claim else { return }
        self.claim = nil
        await capture.stop()
        await audioSessionManager.release(claim)
    }

    deinit {
        guard let claim else { return }
        let manager = audioSessionManager
        Task { await manager.release(claim) }
    }
}
