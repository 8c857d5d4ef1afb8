package import AudioSession
import CSystemd
import Glibc
package import SystemEventLoop

/// A program's side of the bus: says who the daemon is, asks it, and passes on what it tells of the program's claims.
/// Never waits: answers come on the loop, to which it is confined. How long one may take is the asker's business.
package final class DaemonLink {
    /// What an acquired claim asks for beside kind and output.
    package struct Options: Equatable, Sendable {
        /// What people know the program by.
        package var name: String?
        /// How long the claim lasts unless it is used; `nil`: as long as the connection.
        package var lease: Duration?
        package var claim: ClaimOptions

        package init(name: String? = nil, lease: Duration? = nil, claim: ClaimOptions = ClaimOptions()) {
            self.name = name
            self.lease = lease
            self.claim = claim
        }
    }

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
    private var winnerMatch: BusSlot?

    /// Begins to connect, and asks who the daemon is.
    package init(address: String, loop: SystemEventLoop) throws(BusError) {
        connection = try BusConnection(address: address)
        try register()
        try connection.attach(to: loop)
        askForOwner()
    }

    private func register() throws(BusError) {
        // What is sent to us alone needs no match, and none says so well whom it is from. Unretained: it goes with us.
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard let filter = BusSlot({ sd_bus_add_filter(connection.handle, $0, messageArrived, context) }) else {
            throw BusError(.noBus, "the session bus cannot be listened to")
        }
        let ownerChange = BusConnection.Signal.ownerChange("arg0='\(BusContract.name)'")
        registrations = [
            filter,
            try connection.match(.disconnected) { [unowned self] _ in self.lost() },
            // Without it nobody would know the daemon: the bus is of no use.
            try connection.match(ownerChange) { [unowned self] message in
                guard let change = message.readOwnerChange() else { return }
                self.owner = change.owner
                self.onOwnerChange?()
            } refused: { [unowned self] _ in
                self.lost()
            },
        ]
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
    package func startDaemon(failed: @escaping (BusError) -> Void) {
        callBus("StartServiceByName") {
            $0.append(UInt32(0))
        } done: { answer in
            if case .failure(let error) = answer { failed(error) }
        }
    }

    /// - Parameters:
    ///   - timeout: after which the answer is `noAnswer`, and a claim that comes later nobody's business; `nil`: never.
    ///   - done: gets the path of the claim.
    package func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, options: Options = Options(),
        timeout: Duration? = nil, done: @escaping (Result<String, BusError>) -> Void
    ) {
        call("Acquire", timeout: timeout) {
            $0.append(kind.rawValue)
            $0.append(output.rawValue)
            $0.append(options)
        } done: { answer in
            done(answer.flatMap { $0.readClaim() })
        }
    }

    package func update(
        _ path: String, output: AudioSessionOutput, done: @escaping (Result<Void, BusError>) -> Void = { _ in }
    ) {
        call("Update") {
            $0.append(path, as: BusType.objectPath)
            $0.append(output.rawValue)
        } done: { answer in
            done(answer.map { _ in })
        }
    }

    /// Lets a call take route and profile, or takes that back.
    package func setActivated(
        _ path: String, _ activated: Bool, done: @escaping (Result<Void, BusError>) -> Void = { _ in }
    ) {
        call(activated ? "Activate" : "Deactivate") {
            $0.append(path, as: BusType.objectPath)
        } done: { answer in
            done(answer.map { _ in })
        }
    }

    package func release(_ path: String, done: @escaping (Result<Void, BusError>) -> Void = { _ in }) {
        call("Release") {
            $0.append(path, as: BusType.objectPath)
        } done: { answer in
            done(answer.map { _ in })
        }
    }

    /// Where sound comes out now; `nil` where the daemon does not say.
    package func readRoute(done: @escaping (AudioRoute?) -> Void) {
        read("Route", signature: "a{sv}", of: BusContract.interface, at: BusContract.path) { done($0?.readRoute()) }
    }

    package func readStanding(_ path: String, done: @escaping (ClaimStanding?) -> Void) {
        read("Standing", signature: "s", of: BusContract.claimInterface, at: path) { answer in
            done(answer?.readString().flatMap(ClaimStanding.init(rawValue:)))
        }
    }

    /// The JSON of the whole session; `nil` where the daemon does not say.
    package func readStatus(done: @escaping (String?) -> Void) {
        call("Status", done: { answer in done((try? answer.get())?.readString()) })
    }

    package var watchesWinner = false {
        didSet {
            guard watchesWinner != oldValue else { return }
            let change = BusConnection.Signal(
                sender: BusContract.name, path: BusContract.path, interface: BusNames.properties,
                member: "PropertiesChanged")
            winnerMatch =
                watchesWinner ? try? connection.match(change) { [unowned self] _ in self.onWinnerChange?() } : nil
        }
    }

    // MARK: Calls

    private func callBus(
        _ member: String, _ fill: (BusMessage) -> Void = { _ in },
        done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        connection.call(.ofBus(member), timeout: nil) {
            $0.append(BusContract.name)
            fill($0)
        } done: { answer in
            done(answer)
        }
    }

    /// Asks the daemon that there is, and no other that may come after it: an answer always is of one of them.
    func call(
        _ member: String, timeout: Duration? = nil, _ fill: (BusMessage) -> Void = { _ in },
        done: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        guard let owner else { return done(.failure(BusError(.noDaemon, "no Sordino daemon is running"))) }
        connection.call(
            .init(destination: owner, path: BusContract.path, interface: BusContract.interface, member: member),
            timeout: timeout, fill, done: done)
    }

    private func read(
        _ property: String, signature: String, of interface: String, at path: String,
        done: @escaping (BusMessage?) -> Void
    ) {
        guard let owner else { return done(nil) }
        connection.get(property, signature: signature, of: interface, at: path, owner, timeout: nil) { answer in
            done(try? answer.get())
        }
    }

    // MARK: From the bus

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

    /// Told once: a bus that goes may refuse what was asked of it before.
    private func lost() {
        owner = nil
        let onLost = onLost
        self.onLost = nil
        onLost?()
    }
}

private func messageArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let context else { return 0 }
    return Unmanaged<DaemonLink>.fromOpaque(context).takeUnretainedValue().arrived(BusMessage(message)) ? 1 : 0
}
