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
    /// Of each list: its flags when it was last asked for, which change with its content.
    private var flags: [UInt32: UInt32] = [:]
    /// Of each list: the answer that it was last read from.
    private var answers: [UInt32: Int32] = [:]
    private var questions: Int32 = 0
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
        for id in Self.lists { ask(for: id) }
    }

    private static let lists = [
        SPA_PARAM_EnumProfile.rawValue, SPA_PARAM_Profile.rawValue, SPA_PARAM_EnumRoute.rawValue,
        SPA_PARAM_Route.rawValue,
    ]

    /// One by one: of a subscription to several lists of a device that another process provides, as the session manager
    /// does with all of them, the server delivers the last list alone.
    private func ask(for list: UInt32) {
        guard let proxy else { return }
        questions += 1
        _ = cpw_device_enum_params(proxy.pointer, questions, list)
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
        if mask & UInt64(PW_DEVICE_CHANGE_MASK_PARAMS) != 0, let params = info.pointee.params {
            for index in 0..<Int(info.pointee.n_params) where Self.lists.contains(params[index].id) {
                let before = flags.updateValue(params[index].flags, forKey: params[index].id)
                if let before, before != params[index].flags { ask(for: params[index].id) }
            }
        }
        mirror.changed(self)
    }

    fileprivate func update(param id: UInt32, answer: Int32, _ pod: UnsafePointer<spa_pod>) {
        let isFirst = answers.updateValue(answer, forKey: id) != answer
        switch id {
        case SPA_PARAM_EnumProfile.rawValue:
            if isFirst { profiles = [] }
            if let profile = DeviceProfile(pod) { profiles.append(profile) }
        case SPA_PARAM_Profile.rawValue: activeProfile = DeviceProfile(pod)?.name
        case SPA_PARAM_EnumRoute.rawValue:
            if isFirst { routes = [] }
            if let route = DeviceRoute(pod) { routes.append(route) }
        case SPA_PARAM_Route.rawValue:
            if isFirst { activeRoutes = [] }
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
    _ data: UnsafeMutableRawPointer?, _ answer: Int32, _ id: UInt32, _: UInt32, _: UInt32,
    _ pod: UnsafePointer<spa_pod>?
) {
    if let pod { object(data, as: CardObject.self)?.update(param: id, answer: answer, pod) }
}
