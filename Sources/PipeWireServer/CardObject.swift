import AudioPolicy
import CPipeWire

/// A device object: what PulseAudio calls a card.
final class CardObject {
    let id: UInt32
    let serial: UInt64
    private unowned let mirror: RegistryMirror
    private var proxy: BoundProxy?
    private var properties: [String: String]
    private var profiles: [DeviceProfile] = []
    private var activeProfile: String?
    private var routes: [DeviceRoute] = []
    private(set) var activeRoutes: [DeviceRoute] = []
    var isQueued = false
    var reported: ServerCard?

    init(id: UInt32, serial: UInt64, properties: [String: String], mirror: RegistryMirror) {
        self.id = id
        self.serial = serial
        self.properties = properties
        self.mirror = mirror
    }

    func attach(_ pointer: OpaquePointer) {
        // Unretained: `close` removes the hook, and the mirror calls it before it lets go of the card.
        let data = Unmanaged.passUnretained(self).toOpaque()
        proxy = BoundProxy(pointer) { cpw_device_add_listener($0, $1, deviceEvents.pointer, data) }
        var ids = [
            SPA_PARAM_EnumProfile.rawValue, SPA_PARAM_Profile.rawValue, SPA_PARAM_EnumRoute.rawValue,
            SPA_PARAM_Route.rawValue,
        ]
        _ = cpw_device_subscribe_params(pointer, &ids, UInt32(ids.count))
    }

    func close() { proxy?.close() }

    var card: ServerCard {
        var card = ServerCard(id: serial, name: properties["device.name"] ?? "", properties: properties)
        card.profiles = profiles.map { profile in
            ServerCard.Profile(
                name: profile.name, description: profile.description, priority: profile.priority,
                isAvailable: profile.isAvailable != false)
        }
        card.activeProfile = activeProfile
        card.ports = routes.map { route in
            ServerCard.Port(
                name: route.name, description: route.description, direction: route.direction, type: route.type,
                isAvailable: route.isAvailable)
        }
        return card
    }

    /// The name of the route that a node of this card has, by the node's `card.profile.device`.
    func activePort(profileDevice: Int, direction: AudioDirection) -> String? {
        activeRoutes.first { $0.device == profileDevice && $0.direction == direction }?.name
    }

    fileprivate func update(_ info: UnsafePointer<pw_device_info>) {
        let mask = info.pointee.change_mask
        if mask & UInt64(PW_DEVICE_CHANGE_MASK_PROPS) != 0 {
            properties.merge(readProperties(info.pointee.props)) { $1 }
        }
        mirror.changed(self)
    }

    /// A changed list comes again from its first index on.
    fileprivate func update(param id: UInt32, index: UInt32, _ pod: UnsafePointer<spa_pod>) {
        switch id {
        case SPA_PARAM_EnumProfile.rawValue:
            if index == 0 { profiles = [] }
            if let profile = DeviceProfile(pod) { profiles.append(profile) }
        case SPA_PARAM_Profile.rawValue: activeProfile = DeviceProfile(pod)?.name
        case SPA_PARAM_EnumRoute.rawValue:
            if index == 0 { routes = [] }
            if let route = DeviceRoute(pod) { routes.append(route) }
        case SPA_PARAM_Route.rawValue:
            if index == 0 { activeRoutes = [] }
            if let route = DeviceRoute(pod) { activeRoutes.append(route) }
        default: return
        }
        mirror.changed(self)
    }
}

private let deviceEvents = EventTable(
    {
        var events = pw_device_events()
        events.version = UInt32(PW_VERSION_DEVICE_EVENTS)
        events.info = deviceInfoCallback
        events.param = deviceParamCallback
        return events
    }())

private func deviceInfoCallback(_ data: UnsafeMutableRawPointer?, _ info: UnsafePointer<pw_device_info>?) {
    if let info { object(data, as: CardObject.self)?.update(info) }
}
private func deviceParamCallback(
    _ data: UnsafeMutableRawPointer?, _: Int32, _ id: UInt32, _ index: UInt32, _: UInt32,
    _ pod: UnsafePointer<spa_pod>?
) {
    if let pod { object(data, as: CardObject.self)?.update(param: id, index: index, pod) }
}
