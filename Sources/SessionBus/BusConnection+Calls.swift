import CSystemd

/// Calls and matches that wait for nothing.
extension BusConnection {
    /// What is called.
    struct Method {
        var destination: String
        var path: String
        var interface: String
        var member: String

        /// A method of the bus itself.
        static func ofBus(_ member: String) -> Method {
            Method(
                destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
                member: member)
        }
    }

    /// Sends a call with strings as arguments. `body` gets the answer, or `nil` where there is none in time or an error
    /// instead; it is not called any more once the connection is closed. Nobody is started to answer.
    func call(
        _ method: Method, _ arguments: [String] = [], timeout: Duration = .seconds(5),
        _ body: @escaping (BusMessage?) -> Void
    ) {
        var made: OpaquePointer?
        guard
            sd_bus_message_new_method_call(
                handle, &made, method.destination, method.path, method.interface, method.member) >= 0, let made
        else { return body(nil) }
        let message = BusMessage(owning: made)
        sd_bus_message_set_auto_start(made, 0)
        for argument in arguments { message.append(argument) }
        let answer = Unmanaged.passRetained(PendingAnswer(body))
        var slot: OpaquePointer?
        guard
            sd_bus_call_async(handle, &slot, made, answerArrived, answer.toOpaque(), timeout.microseconds) >= 0
        else {
            answer.release()
            return body(nil)
        }
        // The connection owns the slot, and the slot the closure.
        sd_bus_slot_set_destroy_callback(slot, releaseAnswer)
        sd_bus_slot_set_floating(slot, 1)
        sd_bus_slot_unref(slot)
    }

    /// Signals that fit the rule go to `callback` from now on, for as long as the match lives.
    func match(
        _ rule: String, _ callback: sd_bus_message_handler_t, _ context: UnsafeMutableRawPointer
    ) throws(BusError) -> BusMatch {
        var slot: OpaquePointer?
        let result = sd_bus_add_match_async(handle, &slot, rule, callback, matchInstalled, context)
        guard result >= 0, let slot else { throw BusError("the session bus", result: result) }
        return BusMatch(slot)
    }
}

/// A registration for signals. It must go before its connection does.
final class BusMatch {
    private let slot: OpaquePointer

    init(_ slot: OpaquePointer) { self.slot = slot }

    deinit { sd_bus_slot_unref(slot) }
}

private final class PendingAnswer {
    let body: (BusMessage?) -> Void

    init(_ body: @escaping (BusMessage?) -> Void) { self.body = body }
}

private func answerArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let context else { return 0 }
    let isError = sd_bus_message_is_method_error(message, nil) > 0
    let answer = Unmanaged<PendingAnswer>.fromOpaque(context).takeUnretainedValue()
    answer.body(isError ? nil : BusMessage(message))
    return 0
}

private func releaseAnswer(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<PendingAnswer>.fromOpaque(context).release() }
}

/// Without one of its own sd-bus closes the connection over a match that the bus does not take.
private func matchInstalled(
    _: OpaquePointer?, _: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 { 0 }
