import AudioSession
import CSystemd

/// A message of ours or of somebody else's, for the time that it is worked on.
final class BusMessage {
    let handle: OpaquePointer

    /// Takes over the caller's reference.
    init(owning handle: OpaquePointer) { self.handle = handle }

    init(_ handle: OpaquePointer) { self.handle = sd_bus_message_ref(handle) }

    deinit { sd_bus_message_unref(handle) }

    /// The unique name of the connection that it comes from.
    var sender: String? { sd_bus_message_get_sender(handle).map { String(cString: $0) } }

    /// Whether it is for this connection alone.
    var isUnicast: Bool { sd_bus_message_get_destination(handle) != nil }

    func isSignal(_ name: String, of interface: String) -> Bool {
        sd_bus_message_is_signal(handle, interface, name) > 0
    }

    // MARK: Reading; `nil` where the next thing is of another type

    func readString() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(handle, BusType.string, &text) > 0, let text else { return nil }
        return String(cString: text)
    }

    func readBool() -> Bool? {
        var value: Int32 = 0
        guard sd_bus_message_read_basic(handle, BusType.boolean, &value) > 0 else { return nil }
        return value != 0
    }

    func readUInt32() -> UInt32? {
        var value: UInt32 = 0
        return sd_bus_message_read_basic(handle, BusType.uint32, &value) > 0 ? value : nil
    }

    func readObjectPath() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(handle, BusType.objectPath, &text) > 0, let text else { return nil }
        return String(cString: text)
    }

    /// An `a{sv}` of at most `limit` entries, in the order of the message.
    func readDictionary(limit: Int) -> [(key: String, value: BusValue)]? {
        guard sd_bus_message_enter_container(handle, BusType.array, "{sv}") > 0 else { return nil }
        var entries: [(key: String, value: BusValue)] = []
        while sd_bus_message_enter_container(handle, BusType.entry, "sv") > 0 {
            guard entries.count < limit, let key = readString(), let value = readVariant(),
                sd_bus_message_exit_container(handle) >= 0
            else { return nil }
            entries.append((key, value))
        }
        return sd_bus_message_exit_container(handle) >= 0 ? entries : nil
    }

    private func readStrings() -> [String]? {
        guard sd_bus_message_enter_container(handle, BusType.array, "s") > 0 else { return nil }
        var strings: [String] = []
        while let string = readString() { strings.append(string) }
        return sd_bus_message_exit_container(handle) >= 0 ? strings : nil
    }

    private func readVariant() -> BusValue? {
        var signature: UnsafePointer<CChar>?
        guard sd_bus_message_peek_type(handle, nil, &signature) > 0, let signature else { return nil }
        let type = String(cString: signature)
        guard ["s", "b", "u", "as"].contains(type) else {
            return sd_bus_message_skip(handle, "v") >= 0 ? .other(type) : nil
        }
        guard sd_bus_message_enter_container(handle, BusType.variant, signature) > 0 else { return nil }
        let value: BusValue? =
            switch type {
            case "s": readString().map(BusValue.string)
            case "b": readBool().map(BusValue.bool)
            case "u": readUInt32().map(BusValue.uint32)
            default: readStrings().map(BusValue.strings)
            }
        return sd_bus_message_exit_container(handle) >= 0 ? value : nil
    }

    // MARK: Writing

    /// A string must be free of NUL, which D-Bus cannot carry; what follows one is left out.
    @discardableResult
    func append(_ text: String, as type: CChar = BusType.string) -> Int32 {
        text.withCString { sd_bus_message_append_basic(handle, type, $0) }
    }

    @discardableResult
    func append(_ value: Bool) -> Int32 {
        var value: Int32 = value ? 1 : 0
        return sd_bus_message_append_basic(handle, BusType.boolean, &value)
    }

    @discardableResult
    func append(_ value: UInt32) -> Int32 {
        var value = value
        return sd_bus_message_append_basic(handle, BusType.uint32, &value)
    }

    @discardableResult
    func append(paths: [String]) -> Int32 {
        var result = sd_bus_message_open_container(handle, BusType.array, "o")
        for path in paths where result >= 0 { result = append(path, as: BusType.objectPath) }
        return result < 0 ? result : sd_bus_message_close_container(handle)
    }
}

extension BusMessage {
    @discardableResult
    func append(strings: [String]) -> Int32 {
        within(BusType.array, "s") {
            for string in strings { append(string) }
        }
    }

    /// An `a{sv}`.
    @discardableResult
    func append(_ entries: [(key: String, value: BusValue)]) -> Int32 {
        within(BusType.array, "{sv}") {
            for (key, value) in entries {
                within(BusType.entry, "sv") {
                    append(key)
                    append(variant: value)
                }
            }
        }
    }

    private func append(variant value: BusValue) {
        switch value {
        case .string(let text): within(BusType.variant, "s") { append(text) }
        case .bool(let isTrue): within(BusType.variant, "b") { append(isTrue) }
        case .uint32(let number): within(BusType.variant, "u") { append(number) }
        case .strings(let strings): within(BusType.variant, "as") { append(strings: strings) }
        case .other(let type): preconditionFailure("a variant of type \(type) cannot be written")
        }
    }

    /// A route, as the contract has it: what sound comes out of, and whether a headset could be listened to.
    @discardableResult
    func append(_ route: AudioRoute) -> Int32 {
        append([
            ("outputs", .strings(route.outputs.map(\.rawValue))),
            ("has-bluetooth-input", .bool(route.hasBluetoothInput)),
        ])
    }

    /// Ports of a later version are `virtual` here.
    func readRoute() -> AudioRoute? {
        guard let entries = readDictionary(limit: 64) else { return nil }
        var route = AudioRoute(outputs: [])
        for (key, value) in entries {
            switch (key, value) {
            case ("outputs", .strings(let ports)): route.outputs = ports.map { AudioPort(rawValue: $0) ?? .virtual }
            case ("has-bluetooth-input", .bool(let isThere)): route.hasBluetoothInput = isThere
            default: break
            }
        }
        return route
    }

    /// A container with what `fill` puts into it.
    @discardableResult
    private func within(_ type: CChar, _ contents: StaticString, _ fill: () -> Void) -> Int32 {
        let result = sd_bus_message_open_container(handle, type, contents.text)
        guard result >= 0 else { return result }
        fill()
        return sd_bus_message_close_container(handle)
    }
}

/// What a variant holds, as far as any option of ours can be it.
enum BusValue: Equatable {
    case string(String)
    case bool(Bool)
    case uint32(UInt32)
    case strings([String])
    /// Something else; its signature.
    case other(String)
}

/// A registration on a connection, or a call that waits for its answer; ends with this object.
final class BusSlot {
    private let handle: OpaquePointer

    /// What `register` puts into the slot; `nil` where it fails.
    init?(_ register: (UnsafeMutablePointer<OpaquePointer?>) -> Int32) {
        var slot: OpaquePointer?
        guard register(&slot) >= 0, let slot else { return nil }
        handle = slot
    }

    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { sd_bus_slot_unref(handle) }
}

/// D-Bus type codes, which the headers have as characters.
enum BusType {
    static let string = CChar(UInt8(ascii: "s"))
    static let boolean = CChar(UInt8(ascii: "b"))
    static let uint32 = CChar(UInt8(ascii: "u"))
    static let objectPath = CChar(UInt8(ascii: "o"))
    static let array = CChar(UInt8(ascii: "a"))
    static let entry = CChar(UInt8(ascii: "e"))
    static let variant = CChar(UInt8(ascii: "v"))
    static let structure = CChar(UInt8(ascii: "r"))
}
