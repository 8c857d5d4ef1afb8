import AudioPolicy
import AudioSession

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
        let match = try? connection.match(.ownerChange("arg0='\(name)'")) { [unowned self] message in
            if let change = message.readOwnerChange(), change.owner == nil { end(name) }
        } refused: { [unowned self] _ in
            end(name)
        }
        guard let match else { return nil }
        let peer = Peer(match)
        known[name] = peer
        connection.call(.ofBus("GetConnectionCredentials"), timeout: .seconds(25)) {
            $0.append(name)
        } done: { [unowned self] answer in
            arrived(answer, of: name)
        }
        // Without a question there is no peer.
        return known[name]
    }

    // MARK: From the bus

    private func arrived(_ answer: Result<BusMessage, BusError>, of name: String) {
        guard let peer = known[name] else { return }
        guard let entries = (try? answer.get())?.readDictionary(limit: 64) else { return end(name) }
        var caller = BusCaller(connection: name)
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

    private func end(_ name: String) {
        if known.removeValue(forKey: name) != nil { onGone(name) }
    }
}

private final class Peer {
    /// `nil` until the bus has answered.
    var caller: BusCaller?
    var waiting: [(BusCaller) -> Void] = []
    /// Tells that it is gone.
    private let match: BusSlot

    init(_ match: BusSlot) { self.match = match }
}
