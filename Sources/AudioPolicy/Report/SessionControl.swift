/// What the bus service and the command ask of a running session. Confined to the session's loop.
public protocol SessionControl: AnyObject {
    func status() -> SessionStatus
    /// One or two plain sentences on a stream, by its id, or by a part of its application's name.
    func explain(_ stream: String) throws(SessionControlError) -> String
    /// Off: all effects undone, claims kept.
    func setEnabled(_ enabled: Bool)
    var isEnabled: Bool { get }
    /// Reads the configuration again; keeps the last good one and throws where the new one is bad.
    func reload() throws(SessionControlError)
    /// Undoes everything that is in force and in the ledger.
    func restore()
    /// Every event from now on.
    var onEvent: ((SessionEvent) -> Void)? { get set }
}

public enum SessionControlError: Error, Equatable, Sendable {
    /// There is no such stream; the nearest ones, for the message.
    case unknownStream(String, known: [String])
    case badConfiguration(String)

    public var message: String {
        switch self {
        case .unknownStream(let asked, let known):
            known.isEmpty
                ? "there is no stream \(asked); nothing is playing or recording"
                : "there is no stream \(asked); there are \(known.joined(separator: ", "))"
        case .badConfiguration(let text): text
        }
    }
}
