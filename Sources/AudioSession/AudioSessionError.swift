/// Why the session turned a request down.
public enum AudioSessionError: Error, Equatable, Sendable {
    /// A call that counts holds the microphone. The answer to acquiring `.recording`, and to nothing else.
    case busyWithCall
}

/// What a holder is told about its claim.
public enum AudioSessionEvent: Equatable, Sendable {
    /// The claim was the winner, is no longer, and is still held.
    case subordinated
}
