import AudioSession
import EventLoop

/// PulseAudio: cork requests through the server's own module (see `CorkRequests`).
extension Reconciler {
    func isCorkRequested(of stream: ServerStream) -> Bool {
        guard let role = stream.properties["media.role"] else { return false }
        return corks.roles.contains(role)
    }

    /// Whether the stream is corked because we asked for it: it counts as playing.
    func isCorkedByUs(_ id: StreamID) -> Bool {
        guard let treatment = treatments[id] else { return false }
        return treatment.silencing == .corkRequest || treatment.cork.awaitsUncork
    }

    /// Takes note of what a stream's plan is, before `decideCorks`. `isServers`: it is a pause, and no player's affair.
    func preparePause(_ stream: ServerStream, plan: StreamPlan, isServers: Bool, isNew: Bool) {
        guard isPulseAudio, stream.id.direction == .output else { return }
        guard let role = stream.properties["media.role"], !role.isEmpty else { return }
        let isRunning = !stream.isCorked || isCorkedByUs(stream.id)
        // One that has only appeared has met the module before us, and may be corked by it already.
        let isCaught = isNew && corks.roles.contains(role)
        let isToPause = isServers && obeys(stream.id, plan) && !baseline(of: stream).isMuted
        corks.set(
            stream.id, .init(role: role, isRunning: isRunning || isCaught, isToPause: isToPause && !isCaught))
    }

    /// Asks for, or takes back, cork requests. Returns the streams that this may concern.
    func decideCorks() -> [StreamID] {
        guard isPulseAudio else { return [] }
        let before = corks.roles
        guard let roles = corks.decide() else { return [] }
        operations.append(.setCorkedRoles(roles))
        return corks.streams(of: before.union(roles))
    }

    /// The module's mute is not stored by itself, but with the next change of a stream whose mute somebody has ever set.
    func noteModulesMute(of treatment: Treatment, _ id: StreamID, now: LoopInstant) {
        guard let key = treatment.restoreKey else { return }
        stored.track(key, now: now)
        stored.wrote(key, id, mute: true, now: now)
    }

    /// The server's module forgets a stream that moves: it will neither unmute it nor ask it to go on. Its mute is ours
    /// from then on, to be taken back by us; a program that has stopped for the request stays stopped, as a stream of
    /// somebody else's cannot be uncorked from outside.
    func takeOverFromModule(_ treatment: Treatment, _ stream: ServerStream) {
        guard treatment.silencing == .corkRequest, treatment.cork.hasMuted else { return }
        treatment.silencing = .mute
        treatment.cork = .init()
        treatment.mutes.read(stream.isMuted, including: stream.includesBatch)
        ledger.append(.mute(stream.id, true))
    }

    func releaseCork(_ treatment: Treatment) {
        treatment.cork.released = nextBatch
        treatment.cork.awaitsUncork = treatment.cork.hasCorked
    }

    /// Returns whether the stream's mute is the module's affair as of this read.
    func observeCork(_ stream: ServerStream, _ treatment: Treatment) -> Bool {
        if treatment.silencing == .corkRequest {
            guard stream.includesBatch >= treatment.cork.requested else { return false }
            let isUnmuted = treatment.cork.hasMuted && !stream.isMuted
            let isStarted = treatment.cork.hasCorked && !stream.isCorked
            treatment.cork.hasMuted = treatment.cork.hasMuted || stream.isMuted
            treatment.cork.hasCorked = treatment.cork.hasCorked || stream.isCorked
            // Either way the whole request is taken back before the module mutes it again. What somebody unmuted is left
            // alone; what somebody started has begun after its holders, and gets the duck's level.
            if isUnmuted { override(treatment, stream.id) } else if isStarted { startedAgain.insert(stream.id) }
            return true
        }
        if !stream.isCorked { treatment.cork.awaitsUncork = false }
        guard let released = treatment.cork.released else { return false }
        guard stream.includesBatch >= released else { return true }
        treatment.cork.released = nil
        return false
    }
}
