import CSystemd
import Glibc

/// Calls and matches that wait for nothing. What comes back comes on the loop, and never after the connection has ended.
extension BusConnection {
    /// What is called.
    struct Method {
        var destination: String
        var path: String
        var interface: String
        var member: String

        /// A method of the bus itself.
        static func ofBus(_ member: String) -> Method {
            Method(destination: BusNames.bus, path: BusNames.busPath, interface: BusNames.bus, member: member)
        }
    }

    /// What is listened to; `nil`: whatever it is.
    struct Signal {
        var sender: String
        var path: String?
        var interface: String
        var member: String
        /// What a rule says of the arguments.
        var arguments: String?

        /// A name that fits has another owner now; `readOwnerChange` says which.
        static func ownerChange(_ arguments: String) -> Signal {
            Signal(
                sender: BusNames.bus, path: BusNames.busPath, interface: BusNames.bus, member: "NameOwnerChanged",
                arguments: arguments)
        }

        /// The connection is lost.
        static let disconnected = Signal(sender: BusNames.local, interface: BusNames.local, member: "Disconnected")

        fileprivate var rule: String {
            let parts = [
                "type='signal',sender='\(sender)'", path.map { "path='\($0)'" }, "interface='\(interface)'",
                "member='\(member)'", arguments,
            ]
            return parts.compactMap { $0 }.joined(separator: ",")
        }
    }

    /// Calls a method. `done` is called once, with the answer or with why there is none.
    /// - Parameters:
    ///   - isStarting: whether the bus may start somebody to answer.
    ///   - timeout: after which there is none; `nil`: it is waited for as long as the connection lasts.
    func call(
        _ method: Method, isStarting: Bool = false, timeout: Duration? = .seconds(5),
        _ fill: (BusMessage) -> Void = { _ in }, done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        var message: OpaquePointer?
        let made = sd_bus_message_new_method_call(
            handle, &message, method.destination, method.path, method.interface, method.member)
        guard made >= 0, let message else { return done(.failure(BusError("the bus", result: made))) }
        let call = BusMessage(owning: message)
        sd_bus_message_set_auto_start(message, isStarting ? 1 : 0)
        fill(call)
        let handler = Handler { done($0.answer) }
        var slot: OpaquePointer?
        let result = sd_bus_call_async(
            handle, &slot, message, handlerCalled, handler.retained, timeout?.microseconds ?? UInt64.max)
        guard result >= 0, let slot else {
            handler.release()
            return done(.failure(BusError("the bus", result: result)))
        }
        // The connection keeps the slot, and the slot its handler.
        sd_bus_slot_set_destroy_callback(slot, handlerReleased)
        sd_bus_slot_set_floating(slot, 1)
        sd_bus_slot_unref(slot)
    }

    /// Reads one property, as `call` does; the answer is inside of the variant already.
    func get(
        _ property: String, signature: String, of interface: String, at path: String, _ destination: String,
        timeout: Duration? = .seconds(5), done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        let method = Method(destination: destination, path: path, interface: BusNames.properties, member: "Get")
        call(method, timeout: timeout) { message in
            message.append(interface)
            message.append(property)
        } done: { answer in
            if case .success(let message) = answer,
                sd_bus_message_enter_container(message.handle, BusType.variant, signature) <= 0
            {
                return done(.failure(BusError(.other, "\(property) is not of the type \(signature)")))
            }
            done(answer)
        }
    }

    /// Calls `body` with each signal that fits, for as long as the slot lives.
    /// - Parameter refused: the bus does not take the match, and `body` is never called.
    func match(
        _ signal: Signal, _ body: @escaping (BusMessage) -> Void, refused: @escaping (BusError) -> Void = { _ in }
    ) throws(BusError) -> BusSlot {
        let handler = Handler(body) { if case .failure(let error) = $0.answer { refused(error) } }
        var slot: OpaquePointer?
        let result = sd_bus_add_match_async(
            handle, &slot, signal.rule, handlerCalled, matchInstalled, handler.retained)
        guard result >= 0, let slot else {
            handler.release()
            throw BusError("the bus", result: result)
        }
        sd_bus_slot_set_destroy_callback(slot, handlerReleased)
        return BusSlot(owning: slot)
    }
}

/// Names of the bus itself.
enum BusNames {
    static let bus = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
    static let local = "org.freedesktop.DBus.Local"
    static let properties = "org.freedesktop.DBus.Properties"
}

extension BusMessage {
    /// Itself, or the error that it brings instead.
    fileprivate var answer: Result<BusMessage, BusError> {
        guard sd_bus_message_is_method_error(handle, nil) > 0 else { return .success(self) }
        let error = sd_bus_message_get_error(handle)?.pointee
        return .failure(
            BusError(
                name: error?.name.map { String(cString: $0) } ?? "",
                message: error?.message.map { String(cString: $0) } ?? "", result: 0))
    }

    /// Which name has another owner now, and who that is; `nil`: nobody.
    func readOwnerChange() -> (name: String, owner: String?)? {
        guard let name = readString(), readString() != nil, let owner = readString() else { return nil }
        return (name, owner.isEmpty ? nil : owner)
    }
}

/// What a slot calls. Retained by the slot, which releases it when it goes.
private final class Handler {
    let body: (BusMessage) -> Void
    /// Gets the bus's answer to a match.
    let installed: (BusMessage) -> Void

    init(_ body: @escaping (BusMessage) -> Void, installed: @escaping (BusMessage) -> Void = { _ in }) {
        self.body = body
        self.installed = installed
    }

    var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    func release() { Unmanaged.passUnretained(self).release() }
}

/// It may end its own slot, and lives until it returns.
private func withHandler(_ context: UnsafeMutableRawPointer?, _ body: (Handler) -> Void) {
    guard let context else { return }
    let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(handler) { body(handler) }
}

private func handlerCalled(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { withHandler(context) { $0.body(BusMessage(message)) } }
    return 0
}

/// Without one of its own sd-bus closes the connection over a match that the bus does not take.
private func matchInstalled(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { withHandler(context) { $0.installed(BusMessage(message)) } }
    return 0
}

private func handlerReleased(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<Handler>.fromOpaque(context).release() }
}
