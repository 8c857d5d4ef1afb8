import CSystemd
import EventLoop
import Glibc

extension BusConnection {
    /// Calls a method of somebody's without waiting. `done` is called once on the loop, with the answer or with why there
    /// is none; never after the connection has ended.
    /// - Parameter isStarting: whether the bus may start somebody to answer.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, isStarting: Bool = false,
        timeout: Duration = .seconds(5), _ fill: (BusMessage) -> Void = { _ in },
        _ done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        var message: OpaquePointer?
        let made = sd_bus_message_new_method_call(handle, &message, destination, path, interface, member)
        guard made >= 0, let message else { return done(.failure(BusError("the bus", result: made))) }
        let call = BusMessage(owning: message)
        sd_bus_message_set_auto_start(message, isStarting ? 1 : 0)
        fill(call)
        let box = Handler { message in
            guard sd_bus_message_is_method_error(message.handle, nil) > 0 else { return done(.success(message)) }
            let error = sd_bus_message_get_error(message.handle)?.pointee
            done(
                .failure(
                    BusError(
                        name: error?.name.map { String(cString: $0) } ?? "",
                        message: error?.message.map { String(cString: $0) } ?? "", result: 0)))
        }
        var slot: OpaquePointer?
        let result = sd_bus_call_async(
            handle, &slot, message, handlerCalled, box.retained, UInt64(timeout.nanoseconds / 1000))
        guard result >= 0, let slot else {
            box.release()
            return done(.failure(BusError("the bus", result: result)))
        }
        leave(slot)
    }

    /// Reads one property, as `call` does; the answer is inside of the variant already.
    func get(
        _ destination: String, _ path: String, _ interface: String, _ property: String, signature: String,
        _ done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        call(
            destination, path, "org.freedesktop.DBus.Properties", "Get",
            { message in
                message.append(interface)
                message.append(property)
            },
            { answer in
                if case .success(let message) = answer,
                    sd_bus_message_enter_container(message.handle, BusType.variant, signature) <= 0
                {
                    return done(.failure(BusError(.other, "\(property) is not of the type \(signature)")))
                }
                done(answer)
            })
    }

    /// Calls `body` on the loop with each signal that fits, until the connection ends or the subscription goes.
    func subscribe(
        sender: String, path: String?, interface: String, member: String, _ body: @escaping (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        let box = Handler(body)
        var slot: OpaquePointer?
        let result = sd_bus_match_signal_async(
            handle, &slot, sender, path, interface, member, handlerCalled, nil, box.retained)
        guard result >= 0, let slot else {
            box.release()
            throw BusError("the bus", result: result)
        }
        sd_bus_slot_set_destroy_callback(slot, handlerReleased)
        return BusSubscription(slot)
    }

    /// The connection keeps the slot, and the slot its handler.
    private func leave(_ slot: OpaquePointer) {
        sd_bus_slot_set_destroy_callback(slot, handlerReleased)
        sd_bus_slot_set_floating(slot, 1)
        sd_bus_slot_unref(slot)
    }
}

/// Signals that are listened to as long as this lives.
final class BusSubscription {
    private let slot: OpaquePointer

    fileprivate init(_ slot: OpaquePointer) { self.slot = slot }

    deinit { sd_bus_slot_unref(slot) }
}

/// What a slot calls. Retained by the slot, which releases it when it goes.
private final class Handler {
    let body: (BusMessage) -> Void

    init(_ body: @escaping (BusMessage) -> Void) { self.body = body }

    var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    func release() { Unmanaged.passUnretained(self).release() }
}

private func handlerCalled(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message, let context {
        let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
        // It may end its own slot.
        withExtendedLifetime(handler) { handler.body(BusMessage(message)) }
    }
    return 0
}

private func handlerReleased(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<Handler>.fromOpaque(context).release() }
}
