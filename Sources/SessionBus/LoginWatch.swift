public import AudioSession
import CSystemd
import Glibc
public import SystemEventLoop

/// What logind says that interrupts the session: the machine sleeps, or the seat is another user's. Confined to the loop.
///
/// Where there is no logind (a container, another init) nothing is ever said, and nothing is wrong.
public final class LoginWatch {
    /// A reason has begun (`true`) or ended.
    public var onChange: ((AudioSessionInterruption, Bool) -> Void)?

    private static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let session = "org.freedesktop.login1.Session"
    private static let user = "org.freedesktop.login1.User"

    private let loop: SystemEventLoop
    private let sessionID: String?
    private var connection: BusConnection?
    private var matches: [BusSlot] = []
    private var sessionMatch: BusSlot?
    private var sessionPath: String?
    private var inForce: Set<AudioSessionInterruption> = []

    /// - Parameter sessionID: `XDG_SESSION_ID`; without one the session that the user's displays belong to.
    public init(loop: SystemEventLoop, sessionID: String?) {
        self.loop = loop
        self.sessionID = sessionID
    }

    /// Where the system bus is by these variables.
    public static func address(in environment: [String: String]) -> String {
        if let address = environment["DBUS_SYSTEM_BUS_ADDRESS"], !address.isEmpty { return address }
        return "unix:path=/run/dbus/system_bus_socket"
    }

    /// Connects and asks, waiting for nothing.
    public func start(address: String) throws(BusError) {
        let connection = try BusConnection(address: address)
        matches = [
            try connection.match(
                .init(sender: Self.name, path: Self.path, interface: Self.manager, member: "PrepareForSleep")
            ) { [unowned self] message in
                if let sleeps = message.readBool() { self.set(.sleep, sleeps) }
            },
            // The user's display comes after a daemon that lingers, and may be another later.
            try connection.match(Self.change(at: nil)) { [unowned self] message in
                if message.readString() == Self.user { self.find() }
            },
        ]
        try connection.attach(to: loop)
        self.connection = connection
        find()
    }

    public func stop() {
        onChange = nil
        matches = []
        sessionMatch = nil
        connection = nil
    }

    // MARK: The session

    private func find() {
        guard let sessionID, !sessionID.isEmpty else {
            connection?.get("Display", signature: "(so)", of: Self.user, at: Self.path + "/user/self", Self.name) {
                [unowned self] answer in
                guard case .success(let message) = answer else { return }
                watch(message.readSessionPath())
            }
            return
        }
        connection?.call(
            .init(destination: Self.name, path: Self.path, interface: Self.manager, member: "GetSession")
        ) {
            $0.append(sessionID)
        } done: { [unowned self] answer in
            guard case .success(let message) = answer else { return }
            watch(message.readObjectPath())
        }
    }

    private static func change(at path: String?) -> BusConnection.Signal {
        .init(sender: name, path: path, interface: BusNames.properties, member: "PropertiesChanged")
    }

    /// Follows one session; `nil`: its user has none that has a seat, so nobody can be away from it.
    private func watch(_ path: String?) {
        guard path != sessionPath else { return }
        sessionPath = path
        sessionMatch = nil
        guard let path, let connection else { return set(.seat, false) }
        sessionMatch = try? connection.match(Self.change(at: path)) { [unowned self] message in
            if message.readString() == Self.session { self.ask() }
        }
        ask()
    }

    private func ask() {
        guard let path = sessionPath else { return }
        connection?.get("Active", signature: "b", of: Self.session, at: path, Self.name) { [unowned self] answer in
            guard path == sessionPath, case .success(let message) = answer, let isActive = message.readBool() else {
                return
            }
            set(.seat, !isActive)
        }
    }

    private func set(_ reason: AudioSessionInterruption, _ isInForce: Bool) {
        let isNew = isInForce ? inForce.insert(reason).inserted : inForce.remove(reason) != nil
        if isNew { onChange?(reason, isInForce) }
    }
}

extension BusMessage {
    /// Of a pair of a session's id and its object; `nil` where there is none.
    fileprivate func readSessionPath() -> String? {
        guard sd_bus_message_enter_container(handle, BusType.structure, "so") > 0, let id = readString(), !id.isEmpty
        else { return nil }
        return readObjectPath()
    }
}
