public import AudioSession

/// What the bus service and the command ask of a running session. Confined to the session's loop.
public protocol SessionControl: AnyObject {
    func status() -> SessionStatus
    /// One or two plain sentences on a stream, by its id, or by a part of its application's name.
    /// - Parameter isConfined: for a sandboxed program, which learns no names and finds nothing by them.
    func explain(_ stream: String, isConfined: Bool) throws(SessionControlError) -> String
    /// Off: all effects undone, claims kept.
    func setEnabled(_ enabled: Bool)
    var isEnabled: Bool { get }
    /// Reads the configuration again; keeps the last good one and throws where the new one is bad.
    func reload() throws(SessionControlError)
    /// Undoes everything that is in force and in the ledger.
    func restore()
    /// Every event from now on.
    var onEvent: ((SessionEvent) -> Void)? { get set }

    // MARK: Claims

    /// What ranks the claims, and tells their holders.
    var core: AudioSessionCore { get }
    /// `nil` for one that is not held.
    func claim(_ id: ClaimID) -> SessionStatus.Claim?
    func route() -> AudioRoute
    /// Takes the winner's playback to a device, by its name; `nil`: wherever it goes by itself.
    func selectDevice(_ name: String?) throws(SessionControlError)
}

public enum SessionControlError: Error, Equatable, Sendable {
    /// There is no such stream; the nearest ones, for the message.
    case unknownStream(String, known: [String])
    /// There is no such playback device; the names of those there are.
    case unknownDevice(String, known: [String])
    case badConfiguration(String)

    public var message: String {
        switch self {
        case .unknownStream(let asked, let known):
            known.isEmpty
                ? "there is no stream \(asked); nothing is playing or recording"
                : "there is no stream \(asked); there are \(known.joined(separator: ", "))"
        case .unknownDevice(let asked, let known):
            "there is no playback device \(asked.shown()); there are "
                + "\(known.map { $0.shown() }.joined(separator: ", ")) and automatic"
        case .badConfiguration(let text): text
        }
    }
}
