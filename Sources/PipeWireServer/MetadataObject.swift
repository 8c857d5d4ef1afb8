import CPipeWire
import Glibc

/// The session manager's `default` metadata: the effective default devices, and where streams are asked to go.
final class MetadataObject {
    let id: UInt32
    private unowned let mirror: RegistryMirror
    private var proxy: BoundProxy?
    private(set) var defaultSink: String?
    private(set) var defaultSource: String?
    /// Where somebody else has asked streams to go, by their global id and the key.
    private var targets: [UInt32: [String: String]] = [:]
    /// What we have written of a stream and nobody has told of yet, in order. A value that is there already is not told.
    private var unheard: [UInt32: [(key: String, value: String?)]] = [:]

    init(id: UInt32, mirror: RegistryMirror) {
        self.id = id
        self.mirror = mirror
    }

    func attach(_ pointer: OpaquePointer) {
        // Unretained: `close` removes the hook, and the mirror calls it before it lets go of the metadata.
        let data = Unmanaged.passUnretained(self).toOpaque()
        proxy = BoundProxy(pointer) { cpw_metadata_add_listener($0, $1, metadataEvents.pointer, data) }
    }

    func close() { proxy?.close() }

    /// Asks the session manager to connect a stream to a device; `nil`: to the default one. Returns the sequence
    /// numbers that an error would name.
    func setTarget(of node: UInt32, serial: UInt64?) -> [Int32] {
        // The session manager of 0.4.13 restores a stored device under the older key, and looks there too.
        guard let serial else { return set("target.object", nil, of: node) + set("target.node", nil, of: node) }
        return set("target.node", nil, of: node) + set("target.object", String(serial), of: node)
    }

    /// Has the session manager store this device, by its global id, as a stream's own, wherever it is connected to;
    /// `nil`: none. It connects by the newer key, and stores what was written last under either.
    func setStoredTarget(of node: UInt32, _ device: UInt32?) -> [Int32] {
        set("target.node", device.map { String($0) } ?? "-1", of: node)
    }

    private func set(_ key: String, _ value: String?, of node: UInt32) -> [Int32] {
        guard let proxy else { return [] }
        unheard[node, default: []].append((key, value))
        return [cpw_metadata_set_property(proxy.pointer, node, key, value == nil ? nil : "Spa:Id", value)]
    }

    /// The device that somebody else has asked a stream to go to; `nil`: none.
    func target(of node: UInt32) -> Target? {
        guard let targets = targets[node] else { return nil }
        if let value = targets["target.object"] {
            if let serial = UInt64(value) { return .serial(serial) }
            return value == "-1" ? nil : .name(value)
        }
        return targets["target.node"].flatMap { UInt32($0) }.map { .node($0) }
    }

    enum Target {
        case serial(UInt64)
        case name(String)
        case node(UInt32)
    }

    private func hear(_ key: String?, _ value: String?, of node: UInt32) {
        guard let key else {
            forget(node)
            return mirror.targetChanged(node)
        }
        guard key == "target.object" || key == "target.node" else { return }
        if let index = unheard[node]?.firstIndex(where: { $0.key == key && $0.value == value }) {
            unheard[node]?.removeFirst(index + 1)
        } else {
            targets[node, default: [:]][key] = value
            mirror.targetChanged(node)
        }
    }

    /// The stream is gone.
    func forget(_ node: UInt32) {
        targets[node] = nil
        unheard[node] = nil
    }

    fileprivate func update(subject: UInt32, key: String?, value: UnsafePointer<CChar>?) {
        guard subject == 0 else {
            return hear(key, value.map { String(cString: $0) }, of: subject)
        }
        if key == nil || key == "default.audio.sink" { defaultSink = key == nil ? nil : deviceName(value) }
        if key == nil || key == "default.audio.source" { defaultSource = key == nil ? nil : deviceName(value) }
        mirror.defaultsChanged()
    }
}

/// The name in `{ "name": "…" }`.
private func deviceName(_ text: UnsafePointer<CChar>?) -> String? {
    guard let text else { return nil }
    var outer = spa_json()
    var inner = spa_json()
    spa_json_init(&outer, text, strlen(text))
    guard spa_json_enter_object(&outer, &inner) > 0 else { return nil }
    var key = [CChar](repeating: 0, count: 64)
    while spa_json_get_string(&inner, &key, Int32(key.count)) > 0 {
        var value: UnsafePointer<CChar>?
        let length = spa_json_next(&inner, &value)
        guard length > 0, let value else { return nil }
        guard strcmp(key, "name") == 0 else { continue }
        var name = [CChar](repeating: 0, count: Int(length) + 1)
        guard spa_json_parse_stringn(value, length, &name, Int32(name.count)) > 0 else { return nil }
        return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
    return nil
}

private let metadataEvents = EventTable(
    {
        var events = pw_metadata_events()
        events.version = UInt32(PW_VERSION_METADATA_EVENTS)
        events.property = metadataPropertyCallback
        return events
    }())

private func metadataPropertyCallback(
    _ data: UnsafeMutableRawPointer?, _ subject: UInt32, _ key: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> Int32 {
    object(data, as: MetadataObject.self)?.update(subject: subject, key: key.map { String(cString: $0) }, value: value)
    return 0
}
