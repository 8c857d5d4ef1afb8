import AudioPolicy
import AudioSession
import CSystemd
import Glibc

/// Who asks, by what the bus and the system say; nothing here is the program's own claim about itself.
struct BusCaller: Equatable {
    /// The unique name of its connection.
    var connection: String
    /// `nil` where the bus or the system does not know it.
    var pid: Int32?
    /// Its executable's short name.
    var program: String?
    var sandbox: ProcessFacts.Sandbox?

    /// Whether it may hold claims for itself and neither see nor switch what is others': so a sandboxed program, and one
    /// that the system does not know.
    var isConfined: Bool { sandbox != nil || pid == nil }
}

/// The connections that have asked for something: each is looked up once, and kept until it ends.
final class BusPeers {
    private let connection: BusConnection
    private let processes: any ProcessInspector
    /// A connection has ended.
    private let onGone: (_ connection: String) -> Void
    private var known: [String: Peer] = [:]
    /// Calls of one connection that wait until it is looked up.
    private static let mostWaiting = 256

    init(_ connection: BusConnection, processes: any ProcessInspector, onGone: @escaping (String) -> Void) {
        self.connection = connection
        self.processes = processes
        self.onGone = onGone
    }

    /// Calls `body` with the one behind a connection: now, or once the bus has answered, in the order of the calls; never
    /// for one that has gone. Returns whether it can be.
    func identify(_ name: String, _ body: @escaping (BusCaller) -> Void) -> Bool {
        guard let peer = known[name] ?? look(up: name) else { return false }
        if let caller = peer.caller {
            body(caller)
            return true
        }
        guard peer.waiting.count < Self.mostWaiting else { return false }
        peer.waiting.append(body)
        return true
    }

    /// First the match, then the question, which the bus answers in that order: whoever is still there at the answer is
    /// not missed when it goes.
    private func look(up name: String) -> Peer? {
        let peer = Peer(name, self)
        let context = Unmanaged.passUnretained(peer).toOpaque()
        let rule =
            "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
            + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"
        peer.match = BusSlot { sd_bus_add_match_async(connection.handle, $0, rule, ownerChanged, nil, context) }
        var handle: OpaquePointer?
        let bus = "org.freedesktop.DBus"
        guard peer.match != nil,
            sd_bus_message_new_method_call(
                connection.handle, &handle, bus, "/org/freedesktop/DBus", bus, "GetConnectionCredentials") >= 0,
            let handle
        else { return nil }
        let question = BusMessage(owning: handle)
        question.append(name)
        peer.question = BusSlot {
            sd_bus_call_async(connection.handle, $0, question.handle, credentialsArrived, context, 0)
        }
        guard peer.question != nil else { return nil }
        known[name] = peer
        return peer
    }

    // MARK: From the bus

    fileprivate func arrived(_ answer: BusMessage, of peer: Peer) {
        guard sd_bus_message_is_method_error(answer.handle, nil) == 0,
            let entries = answer.readDictionary(limit: 64)
        else { return end(peer) }
        var caller = BusCaller(connection: peer.name)
        if case .uint32(let pid) = entries.first(where: { $0.key == "ProcessID" })?.value,
            let facts = processes.facts(of: Int32(truncatingIfNeeded: pid))
        {
            caller.pid = facts.pid
            caller.program = facts.name
            caller.sandbox = facts.sandbox
        }
        peer.caller = caller
        let waiting = peer.waiting
        peer.waiting = []
        for body in waiting { body(caller) }
    }

    fileprivate func end(_ peer: Peer) {
        guard known.removeValue(forKey: peer.name) != nil else { return }
        onGone(peer.name)
    }
}

private final class Peer {
    let name: String
    unowned let peers: BusPeers
    /// `nil` until the bus has answered.
    var caller: BusCaller?
    var waiting: [(BusCaller) -> Void] = []
    /// Both are given this object unretained, and end with it.
    var match: BusSlot?
    var question: BusSlot?

    init(_ name: String, _ peers: BusPeers) {
        self.name = name
        self.peers = peers
    }
}

private func peer(_ context: UnsafeMutableRawPointer?) -> Peer? {
    context.map { Unmanaged<Peer>.fromOpaque($0).takeUnretainedValue() }
}

private func ownerChanged(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let peer = peer(context) else { return 0 }
    let change = BusMessage(message)
    if change.readString() != nil, change.readString() != nil, change.readString() == "" { peer.peers.end(peer) }
    return 0
}

private func credentialsArrived(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    if let message, let peer = peer(context) { peer.peers.arrived(BusMessage(message), of: peer) }
    return 0
}
