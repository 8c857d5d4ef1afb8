public import AudioPolicy
import AudioSession
import CSystemd
import EventLoop
import Glibc
public import SystemEventLoop

/// The session on the bus: the name, the objects, the claims that programs hold over it, the events. Confined to the
/// loop.
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
    let claims: HeldClaims
    private let loop: SystemEventLoop
    private let processes: any ProcessInspector
    private let address: String
    private var connection: BusConnection?
    private var peers: BusPeers?
    private let sessionTable = BusTable(ClaimMethods.rows + SessionObject.rows)
    private let claimTable = BusTable(ClaimObject.rows)
    private var unsent: [SessionEvent] = []
    /// Who is sent every event, by connection.
    private var monitors: [String: BusCaller] = [:]
    /// A call is being carried out whose reply has not been sent yet.
    var isAnswering = false
    private var undelivered: [(claim: ClaimID, event: AudioSessionEvent)] = []

    /// - Parameter processes: who the callers are.
    public init(
        loop: SystemEventLoop, control: any SessionControl, processes: any ProcessInspector, address: String
    ) {
        self.loop = loop
        self.control = control
        self.processes = processes
        self.address = address
        claims = HeldClaims(control, loop: loop)
    }

    /// Connects and asks for the name, waiting for neither: `onChange` tells.
    public func start() throws(BusError) {
        let connection = try BusConnection(address: address)
        var result = sd_bus_add_object_vtable(
            connection.handle, nil, BusContract.path, BusContract.interface, sessionTable.rows, context)
        if result >= 0 { result = ClaimObject.register(claimTable, on: connection, context) }
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
        peers = BusPeers(connection, processes: processes) { [unowned self] name in
            monitors[name] = nil
            claims.releaseAll(of: name)
        }
        control.core.onDelivery = { [weak self] claim, event in self?.deliver(event, to: claim) }
    }

    /// Gives up the name and leaves the bus, after what was said has been sent.
    public func stop() {
        sendEvents()
        onChange = nil
        leave()
    }

    /// Nobody holds a claim over a bus that is gone, or is told anything.
    private func leave() {
        control.core.onDelivery = nil
        claims.releaseAll()
        monitors = [:]
        peers = nil
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

    /// From now on the caller is sent every event, with the names that it may know.
    func addMonitor(_ caller: BusCaller) { monitors[caller.connection] = caller }

    /// Whether a claim is the caller's own, by its id.
    func isOwn(_ caller: BusCaller) -> (String) -> Bool {
        { [claims, control] id in
            guard let id = BusContract.claim(atPath: BusContract.path(ofClaim: id)) else { return false }
            if claims.owner(of: id) == caller.connection { return true }
            guard let sandbox = caller.sandbox else { return false }
            return control.claim(id)?.owner.sandbox == sandbox.application
        }
    }

    /// Everybody hears of an event, sandboxed programs too, and so without names; monitors get theirs.
    private func sendEvents() {
        let events = unsent
        unsent = []
        guard let connection, sd_bus_is_ready(connection.handle) > 0 else { return }
        for event in events {
            send(event.confined { _ in false }, to: nil)
            for caller in monitors.values {
                send(caller.isConfined ? event.confined(isOwn(caller)) : event, to: caller.connection)
            }
        }
        sayChanged(events.contains { $0.event.touchesProperties } ? ["Winner", "Claims", "State"] : [])
        if events.contains(where: { $0.event == .routeChanged }) { sayChanged(["Route"]) }
        for event in events where event.event == .standingChanged {
            guard let claim = event.claim else { continue }
            sayChanged(["Standing"], BusContract.path(ofClaim: claim.id), BusContract.claimInterface)
        }
    }

    private func send(_ event: SessionEvent, to monitor: String?) {
        send("Event", of: BusContract.path, BusContract.interface, to: monitor) { message in
            message.append(SessionJSON.encode(event))
        }
    }

    /// - Parameter destination: the only connection that is told; `nil`: whoever listens.
    private func send(
        _ signal: String, of path: String, _ interface: String, to destination: String?,
        _ fill: (BusMessage) -> Void
    ) {
        var handle: OpaquePointer?
        guard let connection,
            sd_bus_message_new_signal(connection.handle, &handle, path, interface, signal) >= 0, let handle
        else { return }
        let message = BusMessage(owning: handle)
        fill(message)
        if let destination, sd_bus_message_set_destination(message.handle, destination) < 0 { return }
        sd_bus_send(connection.handle, message.handle, nil)
    }

    /// Tells that properties have other values now.
    func sayChanged(
        _ properties: [String], _ path: String = BusContract.path, _ interface: String = BusContract.interface
    ) {
        guard let connection, !properties.isEmpty else { return }
        var names: [UnsafeMutablePointer<CChar>?] = properties.map { strdup($0) } + [nil]
        sd_bus_emit_properties_changed_strv(connection.handle, path, interface, &names)
        for name in names { free(name) }
    }

    func sayChanged(_ claim: ClaimID, _ property: String) {
        sayChanged([property], BusContract.path(ofClaim: claim.description), BusContract.claimInterface)
    }

    // MARK: Holders

    /// Calls `body`, now or later, with the one who makes a call. Whether it can.
    func identify(_ call: BusMessage, _ body: @escaping (BusCaller) -> Void) -> Bool {
        guard let sender = call.sender, let peers else { return false }
        return peers.identify(sender, body)
    }

    private func deliver(_ event: AudioSessionEvent, to claim: ClaimID) {
        undelivered.append((claim, event))
        if !isAnswering { sendDeliveries() }
    }

    /// Tells the holders, each what concerns its own claims.
    func sendDeliveries() {
        let deliveries = undelivered
        undelivered = []
        for (claim, event) in deliveries {
            guard let owner = claims.owner(of: claim) else { continue }
            let path = BusContract.path(ofClaim: claim.description)
            send(event.signalName, of: path, BusContract.claimInterface, to: owner) { $0.append(event) }
        }
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
        loop.defer { [self] in leave() }
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

extension AudioSessionEvent {
    fileprivate var signalName: String {
        switch self {
        case .interrupted: "Interrupted"
        case .interruptionEnded: "InterruptionEnded"
        case .subordinated: "Subordinated"
        case .outputRouteChanged: "OutputRouteChanged"
        }
    }
}

extension BusMessage {
    /// The arguments of the signal that tells of an event.
    fileprivate func append(_ event: AudioSessionEvent) {
        switch event {
        case .interrupted, .subordinated: break
        case .interruptionEnded(let shouldResume): append(shouldResume)
        case .outputRouteChanged(let reason, let route):
            append(reason.rawValue)
            append(route)
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
