package import AudioSession
import CSystemd
import EventLoop
import Glibc
package import SystemEventLoop

/// A program's side of the bus: calls that nobody waits for, and what the daemon tells the holder of a claim. Confined to
/// the loop.
package final class SessionBusCaller {
    package typealias Answer<Value> = (Result<Value, BusError>) -> Void

    /// What an acquired claim asks for beside kind and output.
    package struct Options: Equatable, Sendable {
        package var name: String?
        package var lease: Duration?
        package var claim: ClaimOptions

        package init(name: String? = nil, lease: Duration? = nil, claim: ClaimOptions = ClaimOptions()) {
            self.name = name
            self.lease = lease
            self.claim = claim
        }
    }

    /// What the daemon tells of a claim of this connection.
    package var onEvent: ((ClaimID, AudioSessionEvent) -> Void)?
    /// The daemon has come (`true`) or gone; told once for what is there at the beginning.
    package var onDaemon: ((_ isThere: Bool) -> Void)?
    /// Whatever else the daemon sends.
    var onOther: ((BusMessage) -> Void)?
    /// The bus is gone; nothing comes after it.
    package var onLost: (() -> Void)?

    private let connection: BusConnection
    /// The unique name of the daemon's connection.
    private var daemon: String?
    private var slots: [BusSlot?] = []

    /// Begins to connect; what follows happens when the loop turns.
    package init(address: String, loop: SystemEventLoop) throws(BusError) {
        connection = try BusConnection(address: address)
        // Unretained: what is registered goes with the connection, which this object owns.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let bus = "org.freedesktop.DBus"
        let rule = "type='signal',sender='\(bus)',member='NameOwnerChanged',arg0='\(BusContract.name)'"
        slots = [
            BusSlot { sd_bus_add_filter(connection.handle, $0, messageArrived, context) },
            BusSlot { sd_bus_add_match_async(connection.handle, $0, rule, ownerChanged, nil, context) },
            BusSlot {
                sd_bus_match_signal(
                    connection.handle, $0, bus + ".Local", nil, bus + ".Local", "Disconnected", busLost, context)
            },
        ]
        guard slots.allSatisfy({ $0 != nil }) else { throw BusError(.other, "the session bus cannot be listened to") }
        try connection.attach(to: loop)
        // Asked after the match: no change is missed.
        call(
            "GetNameOwner", of: (bus, "/org/freedesktop/DBus", bus), { $0.append(BusContract.name) },
            answer: { [unowned self] in setDaemon((try? $0.get())?.readString()) })
    }

    /// The unique name of this connection, which the tags of its streams begin with; `nil` until the bus has answered.
    package var connectionName: String? {
        var name: UnsafePointer<CChar>?
        guard sd_bus_is_ready(connection.handle) > 0, sd_bus_get_unique_name(connection.handle, &name) >= 0 else {
            return nil
        }
        return name.map { String(cString: $0) }
    }

    // MARK: Claims

    /// - Parameters:
    ///   - isStarting: whether the bus may start a daemon for it.
    ///   - timeout: after which the answer is `noAnswer`.
    package func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, options: Options = Options(),
        isStarting: Bool = true, timeout: Duration = .seconds(2), _ answer: @escaping Answer<ClaimID>
    ) {
        let request = { (message: BusMessage) -> Void in
            message.append(kind.rawValue)
            message.append(output.rawValue)
            message.append(options)
        }
        call("Acquire", isStarting: isStarting, timeout: timeout, request) { result in
            answer(
                result.flatMap { reply in
                    reply.readObjectPath().flatMap(BusContract.claim(atPath:)).map(Result.success)
                        ?? .failure(BusError(.other, "the daemon's answer is not understood"))
                })
        }
    }

    package func update(_ claim: ClaimID, output: AudioSessionOutput, _ answer: @escaping Answer<Void> = { _ in }) {
        call(
            "Update",
            {
                $0.append(claim)
                $0.append(output.rawValue)
            }, answer: { answer($0.map { _ in }) })
    }

    package func release(_ claim: ClaimID, _ answer: @escaping Answer<Void> = { _ in }) {
        call("Release", { $0.append(claim) }, answer: { answer($0.map { _ in }) })
    }

    /// Lets a call take route and profile, or takes that back.
    package func setActivated(
        _ claim: ClaimID, _ isActivated: Bool, _ answer: @escaping Answer<Void> = { _ in }
    ) {
        call(isActivated ? "Activate" : "Deactivate", { $0.append(claim) }, answer: { answer($0.map { _ in }) })
    }

    // MARK: Calls

    typealias Place = (name: String, path: String, interface: String)

    /// Calls a method; `answer` comes later, unless this object goes before.
    func call(
        _ method: String, of place: Place = (BusContract.name, BusContract.path, BusContract.interface),
        isStarting: Bool = false, timeout: Duration = .seconds(2), _ fill: (BusMessage) -> Void = { _ in },
        answer: @escaping Answer<BusMessage>
    ) {
        connection.call(
            .init(destination: place.name, path: place.path, interface: place.interface, member: method),
            isStarting: isStarting, timeout: timeout, fill, done: answer)
    }

    // MARK: From the bus

    fileprivate func setDaemon(_ name: String?) {
        let name = name?.isEmpty == true ? nil : name
        daemon = name
        onDaemon?(name != nil)
    }

    /// Only what the daemon itself says is believed: anybody can send a signal to anybody.
    fileprivate func take(_ message: BusMessage) {
        guard let daemon, message.sender == daemon else { return }
        guard sd_bus_message_is_signal(message.handle, BusContract.claimInterface, nil) > 0,
            let path = sd_bus_message_get_path(message.handle),
            let member = sd_bus_message_get_member(message.handle),
            let claim = BusContract.claim(atPath: String(cString: path)),
            let event = message.readEvent(String(cString: member))
        else {
            onOther?(message)
            return
        }
        onEvent?(claim, event)
    }

    fileprivate func lost() {
        let onLost = onLost
        self.onLost = nil
        onLost?()
    }
}

extension BusMessage {
    fileprivate func append(_ claim: ClaimID) {
        append(BusContract.path(ofClaim: claim.description), as: BusType.objectPath)
    }

    fileprivate func append(_ options: SessionBusCaller.Options) {
        var entries: [(key: String, value: BusValue)] = []
        if let name = options.name { entries.append(("name", .string(name))) }
        if let lease = options.lease {
            entries.append(("lease-ms", .uint32(UInt32(clamping: lease.nanoseconds / 1_000_000))))
        }
        if options.claim.isInterrupting { entries.append(("interrupting", .bool(true))) }
        if options.claim.ducking.level != .standard {
            entries.append(("ducking-level", .string(options.claim.ducking.level.rawValue)))
        }
        if options.claim.ducking.isAdvanced { entries.append(("ducking-advanced", .bool(true))) }
        append(entries)
    }
}

private func caller(_ context: UnsafeMutableRawPointer?) -> SessionBusCaller? {
    context.map { Unmanaged<SessionBusCaller>.fromOpaque($0).takeUnretainedValue() }
}

private func messageArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message { caller(context)?.take(BusMessage(message)) }
    return 0
}

private func ownerChanged(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message else { return 0 }
    let change = BusMessage(message)
    guard change.readString() != nil, change.readString() != nil else { return 0 }
    caller(context)?.setDaemon(change.readString())
    return 0
}

private func busLost(
    _: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    caller(context)?.lost()
    return 0
}
