/// One connection to the session bus that is a media player, by its unique name, which is not used again while the bus
/// runs. A connection has one player, however many well-known names it owns.
public struct PlayerID: Hashable, Comparable, Sendable {
    public let uniqueName: String

    public init(_ uniqueName: String) { self.uniqueName = uniqueName }

    public static func < (a: PlayerID, b: PlayerID) -> Bool { a.uniqueName < b.uniqueName }
}

public struct MediaPlayer: Equatable, Sendable {
    public let id: PlayerID
    /// Its well-known names, `org.mpris.MediaPlayer2.…`, sorted; never empty.
    public var names: [String]
    /// The process behind the connection, as the bus and not the player names it.
    public var pid: Int32?

    public init(id: PlayerID, names: [String], pid: Int32?) {
        self.id = id
        self.names = names
        self.pid = pid
    }
}

public enum PlaybackStatus: String, Sendable {
    case playing = "Playing"
    case paused = "Paused"
    case stopped = "Stopped"
}

/// What a player is asked. `round` comes back with the answer, which may come late or never.
public enum PlayerRequest: Equatable, Sendable {
    /// Its changes of status are told from now on.
    case watch(PlayerID)
    case unwatch(PlayerID)
    case readStatus(PlayerID, round: UInt64)
    case pause(PlayerID, round: UInt64)
    case play(PlayerID, round: UInt64)
}

public enum PlayerEvent: Equatable, Sendable {
    /// A player is there, or has other names now.
    case present(MediaPlayer)
    case gone(PlayerID)
    /// All that were there at the beginning have been told of.
    case listed
    /// A watched player says that its status has changed.
    case changed(PlayerID, PlaybackStatus)
    /// The answer to `readStatus`; `nil`: none, or one that is no status.
    case status(PlayerID, round: UInt64, PlaybackStatus?)
    /// The bus has passed `pause` on: what the player said before cannot have come of it.
    case passedOn(PlayerID, round: UInt64)
    /// The player has answered `pause` or `play`, in whatever way.
    case answered(PlayerID, round: UInt64)
    /// The bus is gone, and nothing comes any more.
    case lost
}

/// The media players on the bus. Decides nothing and waits for nobody; confined to its loop.
public protocol MediaPlayers: AnyObject {
    /// Where its events go, in the order of the bus. Set before anything is asked.
    var onEvent: ((PlayerEvent) -> Void)? { get set }
    /// Sends the requests in their order.
    func perform(_ requests: [PlayerRequest])
}
