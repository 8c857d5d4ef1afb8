import AudioPolicy
import AudioSession
import EventLoop

/// The claims that programs hold over the bus: whose each is, how many there may be, and when a lease is over.
final class HeldClaims {
    static let mostOfOneConnection = 64
    static let mostInAll = 1024

    private struct Held {
        /// The unique name of the owner's connection.
        var owner: String
        var lease: Duration?
        var timer: (any LoopTimer)?
    }

    private let control: any SessionControl
    private let loop: any EventLoop
    private var held: [ClaimID: Held] = [:]
    private var byOwner: [String: Set<ClaimID>] = [:]

    init(_ control: any SessionControl, loop: any EventLoop) {
        self.control = control
        self.loop = loop
    }

    /// `nil` for a claim that nobody holds over the bus.
    func owner(of id: ClaimID) -> String? { held[id]?.owner }

    func acquire(_ request: ClaimRequest, by caller: BusCaller) throws(BusFault) -> ClaimID {
        guard byOwner[caller.connection, default: []].count < Self.mostOfOneConnection else {
            throw BusFault(.limitExceeded, "a connection may hold \(Self.mostOfOneConnection) claims")
        }
        guard held.count < Self.mostInAll else {
            throw BusFault(.limitExceeded, "all programs together may hold \(Self.mostInAll) claims")
        }
        let owner = ClaimOwner(
            name: request.name ?? caller.program ?? "a program", pid: caller.pid,
            sandbox: caller.sandbox?.application, connection: caller.connection)
        let id: ClaimID
        do throws(AudioSessionError) {
            id = try control.core.acquire(request.kind, output: request.output, owner: owner, options: request.options)
        } catch {
            throw error == .busyWithCall
                ? BusFault(.busyWithCall, busySentence(to: caller))
                : BusFault(.notAvailable, "the session cannot be had now")
        }
        held[id] = Held(owner: caller.connection, lease: request.lease)
        byOwner[caller.connection, default: []].insert(id)
        renew(id)
        return id
    }

    /// Whoever uses a claim must own it, and renews its lease by that.
    func use(_ id: ClaimID, by connection: String) throws(BusFault) {
        guard let claim = held[id] else { throw BusFault(.notOwner, "the claim \(id) is not held") }
        guard claim.owner == connection else { throw BusFault(.notOwner, "the claim \(id) is another program's") }
        renew(id)
    }

    /// Does nothing for a claim that is not held any more.
    func release(_ id: ClaimID, by connection: String) throws(BusFault) {
        guard held[id] != nil else { return }
        try use(id, by: connection)
        end(id)
    }

    /// The owner's connection has ended.
    func releaseAll(of connection: String) {
        for id in byOwner[connection, default: []].sorted() { end(id) }
    }

    /// The bus has ended, and every connection with it.
    func releaseAll() {
        for id in held.keys.sorted() { end(id) }
    }

    private func end(_ id: ClaimID) {
        guard let claim = held.removeValue(forKey: id) else { return }
        claim.timer?.cancel()
        byOwner[claim.owner]?.remove(id)
        if byOwner[claim.owner]?.isEmpty == true { byOwner[claim.owner] = nil }
        control.core.release(id)
    }

    private func renew(_ id: ClaimID) {
        guard let lease = held[id]?.lease else { return }
        held[id]?.timer?.cancel()
        held[id]?.timer = loop.schedule(after: lease) { [weak self] in self?.end(id) }
    }

    /// Who is in the call, for the program that is refused.
    private func busySentence(to caller: BusCaller) -> String {
        let calls = control.status().claims.filter {
            $0.counts && AudioSessionClientKind(rawValue: $0.kind)?.isCall == true
        }
        guard let call = calls.first else { return "a call has the microphone" }
        let holder = caller.isConfined ? "another program" : call.owner.name.shown()
        return "\(holder) is in a call and has the microphone (\(call.kind), \(call.id))"
    }
}
