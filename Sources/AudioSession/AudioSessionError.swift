/// Why the session turned a request down.
public enum AudioSessionError: Error, Equatable, Sendable {
    /// A call that counts holds the microphone. The answer to acquiring `.recording`, and to nothing else; who holds it
    /// is told by `diagnostics()`.
    case busyWithCall
    /// Nobody answers: the daemon hangs or has gone away in the middle of the request.
    case unavailable
    case unknownDevice
    /// A sandboxed program may hold claims for itself alone.
    case notPermitted
    /// Too many claims, or a text that is too long.
    case limitExceeded
}

/// What a holder is told about its claim.
public enum AudioSessionEvent: Equatable, Sendable {
    /// The system took the session: a phone call, an assistant, sleep, a sound server that is gone.
    case interrupted
    /// It gave it back, and the winning claim has been restored already: its holder only starts its own playback or
    /// capture again, and does so if `shouldResume` says so.
    case interruptionEnded(shouldResume: Bool)
    /// The claim was the winner, is no longer, and is still held. Told to that one claim only.
    case subordinated
    /// The route moved, and what the claim asked for has been asserted again.
    case outputRouteChanged(reason: AudioRouteChangeReason, route: AudioRoute)
}
