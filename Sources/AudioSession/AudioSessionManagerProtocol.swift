/// A claim as its holder has it: a value. Nothing releases it but `release`.
public struct AudioSessionClaim: Hashable, Sendable {
    public let id: ClaimID
    public let kind: AudioSessionClientKind
    /// Where the claim comes from, for the tags of its streams.
    let connection: String

    package init(id: ClaimID, kind: AudioSessionClientKind, connection: String) {
        self.id = id
        self.kind = kind
        self.connection = connection
    }

    /// What the holder puts on its own PulseAudio streams (`pa_stream_new_with_proplist`, `PULSE_PROP`), so that they
    /// belong to the claim. Stays right while the claim is held, whatever becomes of the daemon.
    public var pulseAudioProperties: [String: String] { kind.pulseAudioProperties(connection: connection) }

    /// The same for PipeWire (`pw_stream_new`, `PIPEWIRE_PROPS`).
    public var pipeWireProperties: [String: String] { kind.pipeWireProperties(connection: connection) }
}

/// The one owner of the audio session, as programs see it. Depend on this and not on a concrete type, so that a test can
/// hand over a double.
public protocol AudioSessionManagerProtocol: Sendable {
    /// Claims the session for a kind of use; granted possibly as a subordinate. One change of the session, also where an
    /// output is named.
    /// - Throws: `AudioSessionError.busyWithCall` for `.recording` while a call holds the session, `.unavailable`,
    ///   `.limitExceeded`, `.notPermitted` from a daemon; nothing else, and for rank nothing at all.
    func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput
    ) async throws(AudioSessionError) -> AudioSessionClaim

    /// Says where the claim's sound is to come out. Of a subordinate: remembered for when it becomes the winner.
    func update(_ claim: AudioSessionClaim, output: AudioSessionOutput) async

    /// Gives the claim back and finishes its events. Does nothing for one that is unknown or released already.
    func release(_ claim: AudioSessionClaim) async

    /// What happens to the claim, from its acquisition on; finished by `release`. A second call ends the first's stream.
    func events(for claim: AudioSessionClaim) async -> AsyncStream<AudioSessionEvent>

    func currentRoute() async -> AudioRoute

    /// One line on the live session, for logs.
    func diagnostics() async -> String
}

extension AudioSessionManagerProtocol {
    /// `acquire(_:output:)` with `.system`.
    public func acquire(_ kind: AudioSessionClientKind) async throws(AudioSessionError) -> AudioSessionClaim {
        try await acquire(kind, output: .system)
    }
}
