public import AudioPolicy
import CSystemd
import EventLoop
import Glibc
public import SystemEventLoop

/// The media players on the session bus (MPRIS), over a connection of its own. Confined to the loop.
///
/// At rest it hears only of names that come and go: what a player says is heard while it is watched alone, since players
/// tell of every track, volume and picture. Nothing that a player says is believed to be of any length or type.
public final class BusMediaPlayers: MediaPlayers {
    public var onEvent: ((PlayerEvent) -> Void)?

    private static let namespace = "org.mpris.MediaPlayer2"
    private static let path = "/org/mpris/MediaPlayer2"
    private static let interface = "org.mpris.MediaPlayer2.Player"
    /// More names than this are nobody's desktop.
    private static let mostNames = 128

    private let loop: SystemEventLoop
    private let address: String
    private var connection: BusConnection?
    private var matches: [BusSlot] = []
    private var watches: [PlayerID: BusSlot] = [:]
    /// The owner of each player's name.
    private var owners: [String: PlayerID] = [:]
    /// Players that have been told of; the process of one that is only being asked for is not known.
    private var players: [PlayerID: MediaPlayer] = [:]
    /// Questions that must be answered before the first list is complete; `nil`: it is.
    private var openQuestions: Int? = 0

    public init(loop: SystemEventLoop, address: String) {
        self.loop = loop
        self.address = address
    }

    /// Connects and asks who is there, waiting for neither.
    public func start() throws(BusError) {
        let connection = try BusConnection(address: address)
        matches = [
            try connection.match(.disconnected) { [unowned self] _ in self.lost() },
            try connection.match(.ownerChange("arg0namespace='\(Self.namespace)'")) { [unowned self] message in
                guard let change = message.readOwnerChange(), Self.isPlayer(change.name) else { return }
                self.setOwner(of: change.name, change.owner)
            },
        ]
        self.connection = connection
        ask("ListNames") { [unowned self] names in
            for name in (names?.readStrings() ?? []).filter(Self.isPlayer) {
                ask("GetNameOwner", name) { [unowned self] owner in setOwner(of: name, owner?.readString()) }
            }
        }
        try connection.attach(to: loop)
    }

    /// Leaves the bus, after what was asked has been sent.
    public func stop() {
        onEvent = nil
        close()
    }

    private func close() {
        watches.removeAll()
        matches.removeAll()
        connection = nil
    }

    // MARK: Who is there

    private static func isPlayer(_ name: String) -> Bool { name.hasPrefix(namespace + ".") }

    /// A question to the bus whose answer belongs to the first list while that is being made; `nil`: there is none.
    private func ask(_ member: String, _ name: String? = nil, _ body: @escaping (BusMessage?) -> Void) {
        openQuestions = openQuestions.map { $0 + 1 }
        connection?.call(.ofBus(member)) { question in
            if let name { question.append(name) }
        } done: { [unowned self] answer in
            body(try? answer.get())
            guard let open = openQuestions else { return }
            openQuestions = open > 1 ? open - 1 : nil
            if openQuestions == nil { onEvent?(.listed) }
        }
    }

    private func setOwner(of name: String, _ owner: String?) {
        let former = owners[name]
        let id = owner.map { PlayerID($0) }
        guard id != former, id == nil || owners.count < Self.mostNames else { return }
        owners[name] = id
        if let former { tell(former) }
        guard let id else { return }
        if players[id] != nil { return tell(id) }
        ask("GetConnectionUnixProcessID", id.uniqueName) { [unowned self] answer in
            players[id] = MediaPlayer(id: id, names: [], pid: answer?.readProcessID())
            tell(id)
        }
    }

    /// Tells of the names that a player has now; one without any is gone.
    private func tell(_ id: PlayerID) {
        guard var player = players[id] else { return }
        let names = owners.filter { $0.value == id }.map(\.key).sorted()
        if names.isEmpty {
            players[id] = nil
            if !player.names.isEmpty { onEvent?(.gone(id)) }
        } else if names != player.names {
            player.names = names
            players[id] = player
            onEvent?(.present(player))
        }
    }

    // MARK: What they are asked

    public func perform(_ requests: [PlayerRequest]) {
        guard let connection else { return }
        for request in requests {
            switch request {
            case .watch(let id): watch(id)
            case .unwatch(let id): watches[id] = nil
            case .readStatus(let id, let round):
                connection.get(
                    "PlaybackStatus", signature: "s", of: Self.interface, at: Self.path, id.uniqueName
                ) { [unowned self] answer in
                    onEvent?(.status(id, round: round, (try? answer.get())?.readStatus()))
                }
            case .pause(let id, let round):
                // The bus takes these in their order: its own answer says that it has passed the other one on.
                connection.call(.ofBus("GetId"), done: { [unowned self] _ in onEvent?(.passedOn(id, round: round)) })
                tell(id, "Pause", round)
            case .play(let id, let round): tell(id, "Play", round)
            }
        }
    }

    private func tell(_ id: PlayerID, _ member: String, _ round: UInt64) {
        // By the unique name: whoever else gets the well-known one is not asked in its place.
        connection?.call(
            .init(destination: id.uniqueName, path: Self.path, interface: Self.interface, member: member),
            done: { [unowned self] _ in onEvent?(.answered(id, round: round)) })
    }

    private func watch(_ id: PlayerID) {
        let change = BusConnection.Signal(
            sender: id.uniqueName, path: Self.path, interface: BusNames.properties, member: "PropertiesChanged",
            arguments: "arg0='\(Self.interface)'")
        watches[id] = try? connection?.match(change) { [unowned self] message in
            guard message.sender == id.uniqueName, let status = message.readChangedStatus() else { return }
            onEvent?(.changed(id, status))
        }
    }

    private func lost() {
        // Not here: sd-bus is inside of this connection.
        loop.defer { [self] in close() }
        onEvent?(.lost)
    }
}

extension BusMessage {
    fileprivate func readProcessID() -> Int32? {
        var value: UInt32 = 0
        guard sd_bus_message_read_basic(handle, CChar(UInt8(ascii: "u")), &value) > 0 else { return nil }
        return Int32(exactly: value)
    }

    fileprivate func readStrings() -> [String] {
        guard sd_bus_message_enter_container(handle, BusType.array, "s") > 0 else { return [] }
        var strings: [String] = []
        while let string = readString() { strings.append(string) }
        return strings
    }

    /// `nil` for any other word.
    fileprivate func readStatus() -> PlaybackStatus? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(handle, BusType.string, &text) > 0, let text, strnlen(text, 16) < 16 else {
            return nil
        }
        return PlaybackStatus(rawValue: String(cString: text))
    }

    /// The status among the properties that have changed, if it is there.
    fileprivate func readChangedStatus() -> PlaybackStatus? {
        guard sd_bus_message_has_signature(handle, "sa{sv}as") > 0, readString() != nil,
            sd_bus_message_enter_container(handle, BusType.array, "{sv}") > 0
        else { return nil }
        while sd_bus_message_enter_container(handle, CChar(UInt8(ascii: "e")), "sv") > 0 {
            if readString() == "PlaybackStatus" {
                return sd_bus_message_enter_container(handle, BusType.variant, "s") > 0 ? readStatus() : nil
            }
            guard sd_bus_message_skip(handle, "v") >= 0, sd_bus_message_exit_container(handle) >= 0 else { return nil }
        }
        return nil
    }
}
