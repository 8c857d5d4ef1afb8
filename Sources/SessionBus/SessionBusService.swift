public import AudioPolicy
import CSystemd
import EventLoop
import Glibc
public import SystemEventLoop

/// The session on the bus: the name, the object, the events. Confined to the loop.
public final class SessionBusService {
    public enum Change: Equatable, Sendable {
        /// The name is ours.
        case running
        /// The name is not to be had, or the bus is gone; comes at most once, and nothing after it.
        case failed(BusError)
    }

    /// Set before `start`.
    public var onChange: ((Change) -> Void)?

    let control: any SessionControl
    private let loop: SystemEventLoop
    private let address: String
    private var connection: BusConnection?
    private let table = BusTable(SessionObject.rows)
    private var unsent: [SessionEvent] = []

    public init(loop: SystemEventLoop, control: any SessionControl, address: String) {
        self.loop = loop
        self.control = control
        self.address = address
    }

    /// Connects and asks for the name, waiting for neither: `onChange` tells.
    public func start() throws(BusError) {
        let connection = try BusConnection(address: address)
        var result = sd_bus_add_object_vtable(
            connection.handle, nil, BusContract.path, BusContract.interface, table.rows, context)
        if result >= 0 {
            result = sd_bus_match_signal(
                connection.handle, nil, "org.freedesktop.DBus.Local", nil, "org.freedesktop.DBus.Local",
                "Disconnected", disconnected, context)
        }
        if result >= 0 {
            result = sd_bus_request_name_async(
                connection.handle, nil, BusContract.name, nameFlags, nameAnswer, context)
        }
        guard result >= 0 else { throw BusError("the session bus", result: result) }
        try connection.attach(to: loop)
        self.connection = connection
    }

    /// Gives up the name and leaves the bus, after what was said has been sent.
    public func stop() {
        sendEvents()
        onChange = nil
        connection = nil
    }

    /// Never queue for the name: a second daemon must be told.
    private let nameFlags: UInt64 = 0

    /// Unretained: everything registered with it goes with the connection, which this object owns.
    private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    // MARK: Events

    /// Says an event to whoever listens, a moment later, so that work for listeners never delays what the event is about.
    public func emit(_ event: SessionEvent) {
        guard connection != nil else { return }
        unsent.append(event)
        guard unsent.count == 1 else { return }
        loop.schedule(after: .milliseconds(2)) { [weak self] in self?.sendEvents() }
    }

    private func sendEvents() {
        let events = unsent
        unsent = []
        guard let connection, sd_bus_is_ready(connection.handle) > 0 else { return }
        for event in events {
            var handle: OpaquePointer?
            guard
                sd_bus_message_new_signal(
                    connection.handle, &handle, BusContract.path, BusContract.interface, "Event") >= 0, let handle
            else { continue }
            let message = BusMessage(owning: handle)
            message.append(SessionJSON.encode(event))
            sd_bus_send(connection.handle, message.handle, nil)
        }
        sayChanged(events.contains { $0.event.touchesProperties } ? ["Winner", "Claims", "State"] : [])
    }

    /// Tells that properties have other values now.
    func sayChanged(_ properties: [String]) {
        guard let connection, !properties.isEmpty else { return }
        var names: [UnsafeMutablePointer<CChar>?] = properties.map { strdup($0) } + [nil]
        sd_bus_emit_properties_changed_strv(connection.handle, BusContract.path, BusContract.interface, &names)
        for name in names { free(name) }
    }

    // MARK: From the bus

    fileprivate func nameAnswered(_ answer: BusMessage) {
        if sd_bus_message_is_method_error(answer.handle, nil) > 0 {
            let message = sd_bus_message_get_error(answer.handle)?.pointee.message.map { String(cString: $0) } ?? ""
            return fail(BusError(.notPermitted, "the session bus does not give us \(BusContract.name): \(message)"))
        }
        var reply: UInt32 = 0
        sd_bus_message_read_basic(answer.handle, CChar(UInt8(ascii: "u")), &reply)
        // 1: owner now, 4: owner already; 3: somebody else is.
        guard reply == 1 || reply == 4 else {
            return fail(BusError(.nameTaken, "another program owns \(BusContract.name) on the session bus"))
        }
        onChange?(.running)
    }

    fileprivate func fail(_ error: BusError) {
        let onChange = onChange
        self.onChange = nil
        // Not here: sd-bus is inside of this connection.
        loop.defer { [self] in connection = nil }
        onChange?(.failed(error))
    }
}

extension SessionEvent.Name {
    fileprivate var touchesProperties: Bool {
        switch self {
        case .claimAcquired, .claimReleased, .winnerChanged, .interrupted, .interruptionEnded, .serverConnected,
            .serverLost:
            true
        default: false
        }
    }
}

private func service(_ context: UnsafeMutableRawPointer?) -> SessionBusService? {
    context.map { Unmanaged<SessionBusService>.fromOpaque($0).takeUnretainedValue() }
}

private func nameAnswer(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { service(context)?.nameAnswered(BusMessage(message)) }
    return 0
}

private func disconnected(
    _: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    service(context)?.fail(BusError(.noBus, "the session bus is gone"))
    return 0
}
