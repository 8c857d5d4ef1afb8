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
        // A bus that has not let us in is not waited for.
        if sd_bus_is_ready(handle) > 0 { sd_bus_flush_close_unref(handle) } else { sd_bus_close_unref(handle) }
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
