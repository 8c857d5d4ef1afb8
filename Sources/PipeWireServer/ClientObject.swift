import AudioPolicy
import CPipeWire

/// A connection to the server. Bound at once, since a native stream's process is told here alone.
final class ClientObject {
    let id: UInt32
    let serial: UInt64
    private unowned let mirror: RegistryMirror
    private var proxy: BoundProxy?
    private(set) var properties: [String: String]
    /// What a stream of this client has of its client's where it says nothing itself.
    private(set) var inherited: [String: String]
    var isQueued = false
    var reported: ServerClient?

    init(id: UInt32, serial: UInt64, properties: [String: String], mirror: RegistryMirror) {
        self.id = id
        self.serial = serial
        self.properties = properties
        self.mirror = mirror
        inherited = Self.inheritable(properties)
    }

    func attach(_ pointer: OpaquePointer) {
        // Unretained: `close` removes the hook, and the mirror calls it before it lets go of the client.
        let data = Unmanaged.passUnretained(self).toOpaque()
        proxy = BoundProxy(pointer) { cpw_client_add_listener($0, $1, clientEvents.pointer, data) }
    }

    func close() { proxy?.close() }

    private static func inheritable(_ properties: [String: String]) -> [String: String] {
        properties.filter { key, _ in
            key == "client.api" || key.hasPrefix("application.") || key.hasPrefix("pipewire.sec.")
                || key.hasPrefix("pipewire.access")
        }
    }

    fileprivate func update(_ info: UnsafePointer<pw_client_info>) {
        guard info.pointee.change_mask & UInt64(PW_CLIENT_CHANGE_MASK_PROPS) != 0 else { return }
        properties.merge(readProperties(info.pointee.props)) { $1 }
        inherited = Self.inheritable(properties)
        mirror.changed(self)
    }
}

private let clientEvents = EventTable(
    {
        var events = pw_client_events()
        events.version = UInt32(PW_VERSION_CLIENT_EVENTS)
        events.info = clientInfoCallback
        return events
    }())

private func clientInfoCallback(_ data: UnsafeMutableRawPointer?, _ info: UnsafePointer<pw_client_info>?) {
    if let info { object(data, as: ClientObject.self)?.update(info) }
}
