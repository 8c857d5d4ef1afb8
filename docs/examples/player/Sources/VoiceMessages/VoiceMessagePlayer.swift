public import AudioSession

/// Whatever makes the sound of a voice message.
public protocol VoiceMessageSound: Sendable {
    /// Plays from where it was stopped.
    /// - Parameter claim: whose properties go on the stream, so that the session knows whose it is.
    func start(for claim: AudioSessionClaim) async
    func stop() async
}

/// Plays one voice message.
public actor VoiceMessagePlayer {
    private let audioSessionManager: any AudioSessionManagerProtocol
    private let sound: any VoiceMessageSound
    private var isWanted = false
    private var claim: AudioSessionClaim?
    private var eventTask: Task<Void, Never>?

    public init(audioSessionManager: any AudioSessionManagerProtocol, sound: any VoiceMessageSound) {
        self.audioSessionManager = audioSessionManager
        self.sound = sound
    }

    public func play() async throws(AudioSessionError) {
        guard !isWanted else { return }
        isWanted = true
        let claim: AudioSessionClaim
        do {
            claim = try await audioSessionManager.acquire(.playback)
        } catch {
            isWanted = false
            throw error
        }
        guard isWanted else { return await audioSessionManager.release(claim) }
        self.claim = claim
        listen(to: claim)
        await sound.start(for: claim)
    }

    private func listen(to claim: AudioSessionClaim) {
        eventTask = Task { [weak self, manager = audioSessionManager] in
            for await event in await manager.events(for: claim) {
                await self?.answer(event, for: claim)
            }
        }
    }

    private func answer(_ event: AudioSessionEvent, for claim: AudioSessionClaim) async {
        switch event {
        case .interrupted:
            await sound.stop()
        case .interruptionEnded(let shouldResume):
            if shouldResume, isWanted { await sound.start(for: claim) }
        case .subordinated, .outputRouteChanged:
            // It goes on playing, beside whoever has the session now and wherever sound comes out.
            break
        }
    }

    /// The listener holds the telephone to the ear, or no longer.
    public func followEar(_ isAtEar: Bool) async {
        guard let claim else { return }
        let route = await audioSessionManager.currentRoute()
        // Beside headphones there is nothing to follow.
        guard route.outputs.allSatisfy({ [.builtInSpeaker, .builtInReceiver].contains($0) }) else { return }
        await audioSessionManager.update(claim, output: isAtEar ? .receiver : .system)
    }

    public func stop() async {
        isWanted = false
        guard let claim else { return }
        self.claim = nil
        await sound.stop()
        await audioSessionManager.release(claim)
    }

    deinit {
        // The task outlives the player and must not hold it.
        guard let claim else { return }
        let manager = audioSessionManager
        Task { await manager.release(claim) }
    }
}
