import CSystemd
import Glibc
import SystemEventLoop

/// One connection to a message bus. Closing it takes everything registered on it away.
final class BusConnection {
    let handle: OpaquePointer

    /// Begins to connect; what follows happens when the connection is worked on.
    init(address: String) throws(BusError) {
        var bus: OpaquePointer?
        var result = sd_bus_new(&bus)
        guard result >= 0, let bus else { throw BusError("the session bus", result: result) }
        result = sd_bus_set_address(bus, address)
        if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
        if result >= 0 { result = sd_bus_start(bus) }
        guard result >= 0 else {
            sd_bus_unref(bus)
            throw BusError("cannot connect to the session bus", result: result)
        }
        handle = bus
    }

    deinit {
        sd_bus_detach_event(handle)
        sd_bus_flush_close_unref(handle)
    }

    /// From now on the loop works on the connection.
    func attach(to loop: SystemEventLoop) throws(BusError) {
        let result = sd_bus_attach_event(handle, loop.event, Int32(SD_EVENT_PRIORITY_NORMAL))
        guard result >= 0 else { throw BusError("the session bus", result: result) }
    }

    /// Works on the connection here until `isDone`, at most so long. Whether it was done in time.
    func work(for timeout: Duration?, until isDone: () -> Bool) throws(BusError) -> Bool {
        let clock = ContinuousClock()
        let deadline = timeout.map { clock.now + $0 }
        while !isDone() {
            let result = sd_bus_process(handle, nil)
            guard result >= 0 else { throw BusError("the session bus", result: result) }
            guard result == 0 else { continue }
            if isDone() { break }
            let left = deadline.map { max(.zero, $0 - clock.now).microseconds } ?? UInt64.max
            if left == 0 { return false }
            let waited = sd_bus_wait(handle, left)
            guard waited >= 0 || waited == -EINTR else { throw BusError("the session bus", result: waited) }
        }
        return true
    }
}

extension Duration {
    /// At least none.
    var microseconds: UInt64 {
        UInt64(max(0, components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000))
    }
}

/// A message of ours or of somebody else's, for the time that it is worked on.
final class BusMessage {
    let handle: OpaquePointer

    /// Takes over the caller's reference.
    init(owning handle: OpaquePointer) { self.handle = handle }

    init(_ handle: OpaquePointer) { self.handle = sd_bus_message_ref(handle) }

    deinit { sd_bus_message_unref(handle) }

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
    func append(paths: [String]) -> Int32 {
        var result = sd_bus_message_open_container(handle, BusType.array, "o")
        for path in paths where result >= 0 { result = append(path, as: BusType.objectPath) }
        return result < 0 ? result : sd_bus_message_close_container(handle)
    }
}

/// D-Bus type codes, which the headers have as characters.
enum BusType {
    static let string = CChar(UInt8(ascii: "s"))
    static let boolean = CChar(UInt8(ascii: "b"))
    static let objectPath = CChar(UInt8(ascii: "o"))
    static let array = CChar(UInt8(ascii: "a"))
}
