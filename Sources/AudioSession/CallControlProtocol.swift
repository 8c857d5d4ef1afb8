/// The steps of a call between two, for a program whose calls ring before they are spoken.
///
/// A `.call` is prepared by its acquisition: it ranks, refuses recordings and subordinates others at once, so that
/// nothing stands in its way when it is answered. Route and profile it takes only while it is activated.
public protocol CallControlProtocol: Sendable {
    /// Prepares a call, before it is dialled or answered.
    /// - Throws: `AudioSessionError.unavailable`, `.limitExceeded`, `.notPermitted`, as `acquire` does.
    func configureCall() async throws(AudioSessionError) -> AudioSessionClaim

    /// Lets the call take route and profile: it is spoken from now on. Does nothing for a claim of another kind, which is
    /// active by itself, and for one that is not held.
    func activate(_ claim: AudioSessionClaim) async

    /// Takes that back and keeps the claim: the call is on hold.
    func deactivate(_ claim: AudioSessionClaim) async

    /// Gives back every `.call` that this manager holds, however it was acquired. To be called when the call has ended.
    func releaseCall() async
}

extension CallControlProtocol where Self: AudioSessionManagerProtocol {
    public func configureCall() async throws(AudioSessionError) -> AudioSessionClaim { try await acquire(.call) }
}
