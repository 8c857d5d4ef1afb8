package import AudioSession
import CSystemd
import Glibc
package import SystemEventLoop

/// A program's side of the bus: says who the daemon is, asks it, and passes on what it tells of the program's claims.
/// Never waits: answers come on the loop, to which it is confined. How long one may take is the asker's business.
package final class DaemonLink {
    /// The daemon is another now, or gone, or there is none and none comes by itself. Also called for the first answer.
    package var onOwnerChange: (() -> Void)?
    /// What the daemon tells of the claim with this path; comes after the answer that named the path.
    package var onEvent: ((_ path: String, AudioSessionEvent) -> Void)?
    /// Another claim wins now; only while `watchesWinner`.
    package var onWinnerChange: (() -> Void)?
    /// The bus is gone, and with it everything here.
    package var onLost: (() -> Void)?

    /// The unique name of the daemon's connection; `nil`: nobody owns Sordino's name, or it is not known yet.
    package private(set) var owner: String?
    /// Our own unique name, once the bus has given us one.
    package private(set) var uniqueName: String?

    private let connection: BusConnection
    private var registrations: [BusSlot] = []
    private var winnerWatch: BusSlot?
    private var calls: [ObjectIdentifier: PendingCall] = [:]

    /// Begins to connect, and asks who the daemon is.
    package init(address: String, loop: SystemEventLoop) throws(BusError) {
        connection = try BusConnection(address: address)
        try register()
        try connection.attach(to: loop)
        askForOwner()
    }

    /// Unretained: everything registered with it goes with this object.
    private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private func register() throws(BusError) {
        let bus = connection.handle
        let ownerRule =
            "type='signal',sender='\(BusNames.bus)',path='\(BusNames.busPath)',interface='\(BusNames.bus)',"
            + "member='NameOwnerChanged',arg0='\(BusContract.name)'"
        let slots = [
            BusSlot { sd_bus_add_match_async(bus, $0, ownerRule, ownerChanged, nil, context) },
            // What is sent to us alone needs no match, and none says so well whom it is from.
            BusSlot { sd_bus_add_filter(bus, $0, messageArrived, context) },
            BusSlot {
                sd_bus_match_signal(
                    bus, $0, BusNames.local, nil, BusNames.local, "Disconnected", disconnected, context)
            },
        ]
        registrations = slots.compactMap { $0 }
        guard registrations.count == slots.count else { throw BusError(.noBus, "the session bus takes no match") }
    }

    /// Asked after the match: whoever comes from here on is noticed.
    private func askForOwner() {
        callBus("GetNameOwner") { [unowned self] answer in
            var name: UnsafePointer<CChar>?
            if sd_bus_get_unique_name(connection.handle, &name) >= 0, let name { uniqueName = String(cString: name) }
            owner = (try? answer.get())?.readString()
            onOwnerChange?()
        }
    }

    /// The daemon of this name is known to be gone before the bus has said so.
    package func forget(_ gone: String) {
        if owner == gone { owner = nil }
    }

    // MARK: Asking

    /// Has the bus start a daemon where it knows how to; `failed` is called where it does not, or cannot. The daemon
    /// itself is told of by `onOwnerChange`.
    package func startDaemon(failed: @escaping () -> Void) {
        callBus(
            "StartServiceByName", { $0.append(UInt32(0)) },
            done: { answer in if case .failure = answer { failed() } })
    }

    /// - Parameters:
    ///   - name: what people know the program by.
    ///   - done: gets the path of the claim.
    package func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, name: String,
        done: @escaping (Result<String, BusError>) -> Void
    ) {
        call(
            "Acquire",
            {
                $0.append(kind.rawValue)
                $0.append(output.rawValue)
                $0.append([("name", .string(name))])
            }, done: { answer in done(answer.flatMap { $0.readClaim() }) })
    }

    package func update(_ path: String, output: AudioSessionOutput, done: @escaping () -> Void) {
        call(
            "Update",
            {
                $0.append(path, as: BusType.objectPath)
                $0.append(output.rawValue)
            }, done: { _ in done() })
    }

    package func setActivated(_ path: String, _ activated: Bool, done: @escaping () -> Void) {
        call(activated ? "Activate" : "Deactivate", { $0.append(path, as: BusType.objectPath) }, done: { _ in done() })
    }

    package func release(_ path: String, done: @escaping () -> Void) {
        call("Release", { $0.append(path, as: BusType.objectPath) }, done: { _ in done() })
    }

    /// Where sound comes out now; `nil` where the daemon does not say.
    package func readRoute(done: @escaping (AudioRoute?) -> Void) {
        readProperty("Route", of: BusContract.path, BusContract.interface) { answer in
            done(answer?.readProperty("a{sv}") { $0.readRoute() })
        }
    }

    package func readStanding(_ path: String, done: @escaping (ClaimStanding?) -> Void) {
        readProperty("Standing", of: path, BusContract.claimInterface) { answer in
            done(answer?.readProperty("s") { $0.readString() }.flatMap(ClaimStanding.init(rawValue:)))
        }
    }

    /// The JSON of the whole session; `nil` where the daemon does not say.
    package func readStatus(done: @escaping (String?) -> Void) {
        call("Status", done: { answer in done((try? answer.get())?.readString()) })
    }

    package var watchesWinner = false {
        didSet {
            guard watchesWinner != oldValue else { return }
            winnerWatch =
                watchesWinner
                ? BusSlot {
                    sd_bus_match_signal_async(
                        connection.handle, $0, BusContract.name, BusContract.path, BusNames.properties,
                        "PropertiesChanged", propertiesChanged, nil, context)
                } : nil
        }
    }

    // MARK: Calls

    private func callBus(
        _ method: String, _ fill: (BusMessage) -> Void = { _ in },
        done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        call(
            BusNames.bus, BusNames.busPath, BusNames.bus, method,
            {
                $0.append(BusContract.name)
                fill($0)
            }, done)
    }

    /// Asks the daemon that there is, and no other that may come after it: an answer always is of one of them.
    private func call(
        _ method: String, _ fill: (BusMessage) -> Void = { _ in },
        done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        guard let owner else { return done(.failure(BusError(.noDaemon, "no Sordino daemon is running"))) }
        call(owner, BusContract.path, BusContract.interface, method, fill, done)
    }

    private func readProperty(
        _ property: String, of path: String, _ interface: String, done: @escaping (BusMessage?) -> Void
    ) {
        guard let owner else { return done(nil) }
        call(
            owner, path, BusNames.properties, "Get",
            {
                $0.append(interface)
                $0.append(property)
            }, { answer in done(try? answer.get()) })
    }

    private func call(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ fill: (BusMessage) -> Void,
        _ done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        var handle: OpaquePointer?
        let made = sd_bus_message_new_method_call(
            connection.handle, &handle, destination, path, interface, method)
        guard made >= 0, let handle else { return done(.failure(BusError("the session bus", result: made))) }
        let message = BusMessage(owning: handle)
        fill(message)
        let pending = PendingCall(self, done)
        pending.slot = BusSlot {
            sd_bus_call_async(connection.handle, $0, message.handle, answerArrived, pending.context, UInt64.max)
        }
        guard pending.slot != nil else { return done(.failure(BusError(.noBus, "the session bus takes no call"))) }
        calls[ObjectIdentifier(pending)] = pending
    }

    // MARK: From the bus

    fileprivate func answered(_ call: PendingCall, _ message: BusMessage) {
        guard calls.removeValue(forKey: ObjectIdentifier(call)) != nil else { return }
        guard let fault = sd_bus_message_get_error(message.handle), fault.pointee.name != nil else {
            return call.done(.success(message))
        }
        call.done(
            .failure(
                BusError(
                    name: fault.pointee.name.map { String(cString: $0) } ?? "",
                    message: fault.pointee.message.map { String(cString: $0) } ?? "", result: 0)))
    }

    fileprivate func ownerIs(_ message: BusMessage) {
        guard message.readString() != nil, message.readString() != nil, let new = message.readString() else { return }
        owner = new.isEmpty ? nil : new
        onOwnerChange?()
    }

    /// Whether the message is a claim's signal, and of the daemon; anybody may send anything.
    fileprivate func arrived(_ message: BusMessage) -> Bool {
        guard sd_bus_message_is_signal(message.handle, BusContract.claimInterface, nil) > 0 else { return false }
        guard let owner, message.sender == owner, let path = sd_bus_message_get_path(message.handle),
            let member = sd_bus_message_get_member(message.handle),
            let event = message.readEvent(String(cString: member))
        else { return true }
        onEvent?(String(cString: path), event)
        return true
    }

    fileprivate func winnerChanged() { onWinnerChange?() }

    fileprivate func lost() {
        owner = nil
        onLost?()
    }
}

/// A call whose answer has not come; the link keeps it until then.
private final class PendingCall {
    private unowned let link: DaemonLink
    let done: (Result<BusMessage, BusError>) -> Void
    var slot: BusSlot?

    init(_ link: DaemonLink, _ done: @escaping (Result<BusMessage, BusError>) -> Void) {
        self.link = link
        self.done = done
    }

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    func answered(_ message: BusMessage) { link.answered(self, message) }
}

private func link(_ context: UnsafeMutableRawPointer?) -> DaemonLink? {
    context.map { Unmanaged<DaemonLink>.fromOpaque($0).takeUnretainedValue() }
}

private func answerArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let context else { return 0 }
    Unmanaged<PendingCall>.fromOpaque(context).takeUnretainedValue().answered(BusMessage(message))
    return 0
}

private func ownerChanged(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { link(context)?.ownerIs(BusMessage(message)) }
    return 0
}

private func messageArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, link(context)?.arrived(BusMessage(message)) == true else { return 0 }
    return 1
}

private func propertiesChanged(
    _: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    link(context)?.winnerChanged()
    return 0
}

private func disconnected(
    _: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    link(context)?.lost()
    return 0
}
