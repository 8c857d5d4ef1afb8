import AudioPolicy
import AudioSession
import CSystemd
import Glibc

/// An error as the bus has it.
struct BusFault: Error, Equatable {
    enum Name: String {
        case busyWithCall = "BusyWithCall"
        case unknownKind = "UnknownKind"
        case notOwner = "NotOwner"
        case limitExceeded = "LimitExceeded"
        case notAvailable = "NotAvailable"
        case invalidArgument = "InvalidArgument"
        /// The bus's own word for what a sandboxed program may not ask.
        case accessDenied = "AccessDenied"

        var onBus: String {
            (self == .accessDenied ? "org.freedesktop.DBus.Error." : BusContract.errorPrefix) + rawValue
        }
    }

    var name: Name
    var message: String

    init(_ name: Name, _ message: String) {
        self.name = name
        self.message = message
    }

    init(_ error: SessionControlError) {
        switch error {
        case .unknownStream, .unknownDevice, .badConfiguration: self.init(.invalidArgument, error.message)
        }
    }
}

typealias FaultPointer = UnsafeMutablePointer<sd_bus_error>

/// Answers a call at once: with what `body` puts into the reply, or with the fault that it throws.
func answer(
    _ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
    _ body: (SessionBusService, BusMessage, BusMessage) throws(BusFault) -> Void
) -> Int32 {
    guard let call, let context else { return -EINVAL }
    let service = Unmanaged<SessionBusService>.fromOpaque(context).takeUnretainedValue()
    return service.answer(BusMessage(call)) { call, reply throws(BusFault) in try body(service, call, reply) }
}

/// The same, once it is known who the caller is.
func answerCaller(
    _ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
    _ body: @escaping (SessionBusService, BusCaller, BusMessage, BusMessage) throws(BusFault) -> Void
) -> Int32 {
    guard let call, let context else { return -EINVAL }
    let service = Unmanaged<SessionBusService>.fromOpaque(context).takeUnretainedValue()
    let message = BusMessage(call)
    let isTaken = service.identify(message) { [unowned service] caller in
        _ = service.answer(message) { call, reply throws(BusFault) in try body(service, caller, call, reply) }
    }
    if isTaken { return 1 }
    return service.answer(message) { _, _ throws(BusFault) in throw BusFault(.limitExceeded, "too many calls at once") }
}

/// The same, for what a sandboxed program may not ask.
func answerUser(
    _ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
    _ body: @escaping (SessionBusService, BusMessage, BusMessage) throws(BusFault) -> Void
) -> Int32 {
    answerCaller(call, context) { service, caller, call, reply throws(BusFault) in
        guard !caller.isConfined else {
            throw BusFault(.accessDenied, "a sandboxed program may hold claims and ask, and not change the session")
        }
        try body(service, call, reply)
    }
}

extension SessionBusService {
    /// What holders are told in consequence of a call is sent after its reply, so that nobody hears of a claim that it
    /// has not been given yet.
    fileprivate func answer(
        _ call: BusMessage, _ body: (BusMessage, BusMessage) throws(BusFault) -> Void
    ) -> Int32 {
        defer { sendDeliveries() }
        isAnswering = true
        defer { isAnswering = false }
        var handle: OpaquePointer?
        let made = sd_bus_message_new_method_return(call.handle, &handle)
        guard made >= 0, let handle else { return made }
        let reply = BusMessage(owning: handle)
        do {
            try body(call, reply)
        } catch {
            var fault = sd_bus_error()
            sd_bus_error_set(&fault, error.name.onBus, error.message)
            defer { sd_bus_error_free(&fault) }
            return max(1, sd_bus_reply_method_error(call.handle, &fault))
        }
        return max(1, sd_bus_send(nil, reply.handle, nil))
    }
}
