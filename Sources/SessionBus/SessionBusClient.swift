import CSystemd
import Glibc

/// The command's side: blocking calls to a running daemon, which is never started by asking.
public final class SessionBusClient {
    private let connection: BusConnection
    /// How long an answer may take.
    private let timeout: Duration

    /// Connects; throws `noBus` where that takes longer than `timeout`.
    public init(address: String?, timeout: Duration = .seconds(2)) throws(BusError) {
        guard let address else { throw BusError(.noBus, "there is no session bus") }
        connection = try BusConnection(address: address)
        self.timeout = timeout
        let handle = connection.handle
        sd_bus_set_method_call_timeout(handle, UInt64(timeout.components.seconds) * 1_000_000)
        guard try connection.work(for: timeout, until: { sd_bus_is_ready(handle) != 0 }), sd_bus_is_ready(handle) > 0
        else { throw BusError(.noBus, "the session bus does not answer") }
    }

    /// The JSON of the whole session.
    public func status() throws(BusError) -> String {
        try call("Status").readString() ?? ""
    }

    public func explain(_ stream: String) throws(BusError) -> String {
        try call("Explain") { $0.append(stream) }.readString() ?? ""
    }

    public func setEnabled(_ enabled: Bool) throws(BusError) {
        _ = try call("SetEnabled") { $0.append(enabled) }
    }

    /// The JSON of the devices.
    public func devices() throws(BusError) -> String { try call("Devices").readString() ?? "" }

    /// Takes the winner's playback to a device; `automatic`: wherever it goes by itself.
    public func selectDevice(_ device: String) throws(BusError) {
        _ = try call("SelectDevice") { $0.append(device) }
    }

    public func reload() throws(BusError) { _ = try call("Reload") }

    public func restore() throws(BusError) { _ = try call("Restore") }

    /// Calls `body` with the JSON of each event until the daemon leaves the bus or `body` returns `false`.
    /// `ready` is called when no later event can be missed.
    public func monitor(ready: () -> Void = {}, _ body: @escaping (String) -> Bool) throws(BusError) {
        let listener = EventListener(body)
        let context = Unmanaged.passUnretained(listener).toOpaque()
        var slots: [OpaquePointer?] = [nil, nil]
        // The slots end the registration before the listener goes.
        defer { for slot in slots { sd_bus_slot_unref(slot) } }
        // A filter and no match: what is meant for everybody is not meant for us.
        var result = sd_bus_add_filter(connection.handle, &slots[0], messageArrived, context)
        if result >= 0 {
            let rule =
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(BusContract.name)'"
            result = sd_bus_add_match(connection.handle, &slots[1], rule, ownerChanged, context)
        }
        guard result >= 0 else { throw BusError("the session bus", result: result) }
        // Asked after the match: whoever goes from here on is noticed.
        listener.daemon = try call("Monitor").sender
        ready()
        _ = try withExtendedLifetime(listener) { () throws(BusError) in
            try connection.work(for: nil, until: { listener.isDone })
        }
        if listener.ownerIsGone { throw BusError(.noDaemon, "the Sordino daemon has ended") }
    }

    private func call(_ method: String, _ fill: (BusMessage) -> Void = { _ in }) throws(BusError) -> BusMessage {
        var handle: OpaquePointer?
        let made = sd_bus_message_new_method_call(
            connection.handle, &handle, BusContract.name, BusContract.path, BusContract.interface, method)
        guard made >= 0, let handle else { throw BusError("the session bus", result: made) }
        let message = BusMessage(owning: handle)
        sd_bus_message_set_auto_start(handle, 0)
        fill(message)
        var fault = sd_bus_error()
        defer { sd_bus_error_free(&fault) }
        var answer: OpaquePointer?
        let result = sd_bus_call(connection.handle, handle, 0, &fault, &answer)
        guard result >= 0, let answer else {
            throw BusError(
                name: fault.name.map { String(cString: $0) } ?? "",
                message: fault.message.map { String(cString: $0) } ?? "", result: result)
        }
        return BusMessage(owning: answer)
    }
}

/// What `monitor` registers with the bus.
private final class EventListener {
    private let body: (String) -> Bool
    private(set) var isDone = false
    private(set) var ownerIsGone = false
    /// The daemon's connection, which alone is believed.
    var daemon: String?

    init(_ body: @escaping (String) -> Bool) { self.body = body }

    func take(_ message: BusMessage) {
        guard !isDone, message.isSignal("Event", of: BusContract.interface), message.isUnicast, let daemon,
            message.sender == daemon, let json = message.readString()
        else { return }
        isDone = !body(json)
    }

    func ownerChanged(_ message: BusMessage) {
        guard message.readString() != nil, message.readString() != nil, message.readString() == "" else { return }
        ownerIsGone = true
        isDone = true
    }
}

private func listener(_ context: UnsafeMutableRawPointer?) -> EventListener? {
    context.map { Unmanaged<EventListener>.fromOpaque($0).takeUnretainedValue() }
}

private func messageArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { listener(context)?.take(BusMessage(message)) }
    return 0
}

private func ownerChanged(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { listener(context)?.ownerChanged(BusMessage(message)) }
    return 0
}
