import AudioPolicy
import CPipeWire

/// One entry of `EnumProfile`, or `Profile`.
struct DeviceProfile {
    var name: String
    var description: String
    var priority: Int
    /// `nil`: unknown.
    var isAvailable: Bool?

    init?(_ pod: UnsafePointer<spa_pod>) {
        let fields = PodFields(pod)
        guard let name = fields.string(SPA_PARAM_PROFILE_name.rawValue) else { return nil }
        self.name = name
        description = fields.string(SPA_PARAM_PROFILE_description.rawValue) ?? name
        priority = fields.int(SPA_PARAM_PROFILE_priority.rawValue) ?? 0
        isAvailable = fields.availability(SPA_PARAM_PROFILE_available.rawValue)
    }
}

/// One entry of `EnumRoute`, or of `Route`.
struct DeviceRoute {
    var name: String
    var description: String
    var direction: AudioDirection
    /// The `port.type` in the route's information.
    var type: String
    var isAvailable: Bool?
    /// Of an active route: the profile's device that it belongs to.
    var device: Int?

    init?(_ pod: UnsafePointer<spa_pod>) {
        let fields = PodFields(pod)
        guard let name = fields.string(SPA_PARAM_ROUTE_name.rawValue) else { return nil }
        self.name = name
        description = fields.string(SPA_PARAM_ROUTE_description.rawValue) ?? name
        direction = fields.id(SPA_PARAM_ROUTE_direction.rawValue) == SPA_DIRECTION_INPUT.rawValue ? .input : .output
        type = fields.dictionary(SPA_PARAM_ROUTE_info.rawValue)["port.type"] ?? ""
        isAvailable = fields.availability(SPA_PARAM_ROUTE_available.rawValue)
        device = fields.int(SPA_PARAM_ROUTE_device.rawValue)
    }
}

/// The values of an object, by their keys.
private struct PodFields {
    private let pod: UnsafePointer<spa_pod>?

    init(_ pod: UnsafePointer<spa_pod>) { self.pod = cpw_is_object(pod) ? pod : nil }

    private func value(_ key: UInt32) -> UnsafePointer<spa_pod>? { pod.flatMap { cpw_prop($0, key) } }

    func string(_ key: UInt32) -> String? { value(key).flatMap(text) }

    func int(_ key: UInt32) -> Int? {
        var result: Int32 = 0
        guard let value = value(key), spa_pod_get_int(value, &result) == 0 else { return nil }
        return Int(result)
    }

    func id(_ key: UInt32) -> UInt32? {
        var result: UInt32 = 0
        guard let value = value(key), spa_pod_get_id(value, &result) == 0 else { return nil }
        return result
    }

    func availability(_ key: UInt32) -> Bool? {
        switch id(key) {
        case SPA_PARAM_AVAILABILITY_yes.rawValue: true
        case SPA_PARAM_AVAILABILITY_no.rawValue: false
        default: nil
        }
    }

    /// A struct of a count and as many pairs of strings.
    func dictionary(_ key: UInt32) -> [String: String] {
        guard let value = value(key), cpw_is_struct(value) else { return [:] }
        var result: [String: String] = [:]
        var name: String?
        var field = cpw_struct_first(value)
        while let current = field {
            if let string = text(current) {
                if let known = name {
                    result[known] = string
                    name = nil
                } else {
                    name = string
                }
            }
            field = cpw_struct_next(value, current)
        }
        return result
    }

    private func text(_ value: UnsafePointer<spa_pod>) -> String? {
        var result: UnsafePointer<CChar>?
        guard spa_pod_get_string(value, &result) == 0, let result else { return nil }
        return String(cString: result)
    }
}
