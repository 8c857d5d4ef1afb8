/// Turns claims into effects. Knows nothing of ranks and refusals, which are the arbiter's.
///
/// A driver is confined to the loop of the session that owns it; all of its calls and events are made there.
public protocol AudioSessionDriver: AnyObject {
    /// Where its events go. Set once, before anything else is called.
    var onEvent: ((AudioSessionDriverEvent) -> Void)? { get set }
    /// Called once per change of arbitration, and not at all when nothing changed.
    func apply(_ state: SessionState)
    /// Where sound comes out and goes in now.
    func route() -> AudioRoute
    /// One line on the live session, for logs.
    func diagnostics() -> String
}

public enum AudioSessionDriverEvent: Sendable {
    /// Observed claims that are new or different, and those that are gone.
    case observed(changed: [ObservedClaim], gone: [ObservedClaim.Key])
    /// The route is another now, for a reason that is not ours.
    case routeChanged(AudioRouteChangeReason, AudioRoute)
    /// The sound server is gone; claims are kept.
    case interrupted
    /// It is back. `shouldResume`: whether what played before may play again.
    case interruptionEnded(shouldResume: Bool)
}
