import AudioPolicy
import AudioSession
import EventLoop
import Glibc
import SessionBus
import SystemEventLoop

/// One program's claims, held by the daemon where there is one, else by this process itself. Where they are held may
/// change at any time; the claims, their streams of events and the tags of their streams stay what they are.
///
/// Lives on a loop of its own thread, and nothing on it waits.
actor ProgramSession: AudioSessionManagerProtocol, CallControlProtocol {
    enum Place {
        /// It is not known yet; who asks for a claim waits.
        case undecided
        /// What this process has done is being undone before the daemon takes over; who asks for a claim waits.
        case leaving(EmbeddedSession)
        /// The unique name of the daemon's connection.
        case daemon(String)
        case embedded(EmbeddedSession)
    }

    let surroundings: Surroundings
    let loop: SystemEventLoop
    var link: DaemonLink?
    var place = Place.undecided
    var hasAskedForDaemon = false
    var held: [ClaimID: HeldClaim] = [:]
    /// The claims by their seats.
    var seats: [Seat: ClaimID] = [:]
    var move: Move?
    private var events = ClaimEvents()
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var lastNumber: UInt64 = 0
    private var lastRoute = AudioRoute(outputs: [])

    init(_ surroundings: Surroundings) throws(SystemEventLoopError) {
        self.surroundings = surroundings
        loop = try SystemEventLoop()
        try loop.runOnItsOwnThread()
        Task { await begin() }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    isolated deinit {
        switch place {
        case .leaving(let session), .embedded(let session): session.stop()
        case .undecided, .daemon: break
        }
        // The last reference may go inside of one of the link's own callbacks.
        loop.defer { [loop, link] in withExtendedLifetime(link) { loop.exit() } }
    }

    // MARK: AudioSessionManagerProtocol

    func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput
    ) async throws(AudioSessionError) -> AudioSessionClaim {
        // A daemon that ends in the middle of an answer leaves the claim to whoever comes after it.
        for _ in 0..<3 {
            await decided()
            switch place {
            case .undecided, .leaving: continue
            case .embedded(let session): return try acquire(kind, output: output, from: session)
            case .daemon(let name):
                switch await acquire(kind, output: output, from: name) {
                case .success(let claim)?: return claim
                case .failure(let error)? where error.meansGone: continue
                case .failure(let error)?: throw AudioSessionError(error)
                case nil: throw .unavailable
                }
            }
        }
        throw .unavailable
    }

    private func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, from session: EmbeddedSession
    ) throws(AudioSessionError) -> AudioSessionClaim {
        let id = try session.core.acquire(kind, output: output, owner: owner)
        let claim = enter(kind, output: output, at: .embedded(id))
        if session.core.arbiter.isInterrupted(id) { tell(.interrupted, to: claim.id) }
        return claim
    }

    /// `nil`: no answer in time.
    private func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, from daemon: String
    ) async -> Result<AudioSessionClaim, BusError>? {
        await answer { reply in
            link?.acquire(kind, output: output, options: .init(name: surroundings.name)) { [weak self] result in
                self?.assumeIsolated { $0.answered(result, by: daemon, kind, output, reply) }
            }
        }
    }

    private func answered(
        _ result: Result<String, BusError>, by daemon: String, _ kind: AudioSessionClientKind,
        _ output: AudioSessionOutput, _ reply: Reply<Result<AudioSessionClaim, BusError>>
    ) {
        switch result {
        case .success(let path):
            // Too late: whoever asked has been told that nobody answers, and must not hold a claim.
            guard reply.isAwaited else {
                link?.release(path)
                return
            }
            reply.give(.success(enter(kind, output: output, at: .daemon(path: path))))
        case .failure(let error):
            if error.meansGone { lose(daemon) }
            reply.give(.failure(error))
        }
    }

    func update(_ claim: AudioSessionClaim, output: AudioSessionOutput) async {
        guard held[claim.id]?.claim == claim else { return }
        held[claim.id]?.output = output
        await tellSeat(
            of: claim.id, here: { core, id in core.update(id, output: output) },
            daemon: { link, path, done in link.update(path, output: output) { _ in done() } })
    }

    func release(_ claim: AudioSessionClaim) async {
        guard let former = held[claim.id], former.claim == claim else { return }
        held[claim.id] = nil
        events.close(claim.id)
        watchWinner()
        guard let seat = former.seat else { return }
        seats[seat] = nil
        await tell(
            seat, here: { core, id in core.release(id) },
            daemon: { link, path, done in link.release(path) { _ in done() } })
    }

    func events(for claim: AudioSessionClaim) async -> AsyncStream<AudioSessionEvent> {
        events.listen(to: held[claim.id]?.claim == claim ? claim.id : ClaimID(number: 0))
    }

    func currentRoute() async -> AudioRoute {
        await decided()
        switch place {
        case .undecided, .leaving: break
        case .embedded(let session):
            _ = await answer { reply in session.whenSettled { reply.give(true) } }
            lastRoute = session.core.driver.route()
        case .daemon:
            let route: AudioRoute? = await answer { reply in link?.readRoute { reply.give($0) } }
            lastRoute = route ?? lastRoute
        }
        return lastRoute
    }

    func diagnostics() async -> String {
        await decided()
        let own = "\(held.count) claims of this program"
        switch place {
        case .undecided, .leaving: return "undecided, \(own)"
        case .embedded(let session): return "no daemon, \(own), \(session.core.driver.diagnostics())"
        case .daemon(let name):
            let json: String? = await answer { reply in link?.readStatus { reply.give($0) } }
            guard let status = json.flatMap(SessionJSON.status) else { return "daemon \(name) does not answer, \(own)" }
            return "daemon \(name), \(own), \(status.line)"
        }
    }

    // MARK: CallControlProtocol

    func activate(_ claim: AudioSessionClaim) async { await setActivated(claim, true) }

    func deactivate(_ claim: AudioSessionClaim) async { await setActivated(claim, false) }

    private func setActivated(_ claim: AudioSessionClaim, _ activated: Bool) async {
        guard claim.kind == .call, held[claim.id]?.claim == claim else { return }
        held[claim.id]?.isActivated = activated
        await tellSeat(
            of: claim.id, here: { core, id in core.setActivated(id, activated) },
            daemon: { link, path, done in link.setActivated(path, activated) { _ in done() } })
    }

    func releaseCall() async {
        for claim in held.values.map(\.claim).sorted(by: { $0.id < $1.id }) where claim.kind == .call {
            await release(claim)
        }
    }

    // MARK: Holding

    /// Whose the claims of this program are, where it arbitrates itself.
    var owner: ClaimOwner {
        ClaimOwner(name: surroundings.name, pid: getpid(), connection: connectionName)
    }

    /// What the tags of the program's streams begin with.
    private var connectionName: String { link?.uniqueName ?? "process-\(getpid())" }

    private func enter(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, at seat: Seat
    ) -> AudioSessionClaim {
        lastNumber += 1
        let claim = AudioSessionClaim(id: ClaimID(number: lastNumber), kind: kind, connection: connectionName)
        held[claim.id] = HeldClaim(claim, output: output, seat: seat)
        seats[seat] = claim.id
        events.open(claim.id)
        return claim
    }

    /// Tells a holder what it has not been told already.
    func tell(_ event: AudioSessionEvent, to id: ClaimID) {
        switch event {
        case .interrupted:
            guard held[id]?.isInterrupted == false else { return }
            held[id]?.isInterrupted = true
        case .interruptionEnded:
            guard held[id]?.isInterrupted == true else { return }
            held[id]?.isInterrupted = false
        case .subordinated: held[id]?.isSubordinated = true
        case .outputRouteChanged: break
        }
        events.send(event, to: id)
    }

    // MARK: Asking

    /// Waits until it is known who holds the claims.
    private func decided() async {
        switch place {
        case .undecided, .leaving: await withCheckedContinuation { waiting.append($0) }
        case .daemon, .embedded: break
        }
    }

    func resumeWaiting() {
        let waiting = waiting
        self.waiting = []
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for an answer of somebody else's, as long as the program's patience lasts.
    private func answer<Value: Sendable>(_ ask: (Reply<Value>) -> Void) async -> Value? {
        await withCheckedContinuation { continuation in
            ask(Reply(continuation, within: surroundings.patience, on: loop))
        }
    }

    private typealias Here = (AudioSessionCore, ClaimID) -> Void
    private typealias AtDaemon = (DaemonLink, _ path: String, _ done: @escaping () -> Void) -> Void

    /// Does it where the claim is held; what is on its way is told when it has arrived.
    private func tellSeat(of id: ClaimID, here: Here, daemon: AtDaemon) async {
        if let seat = held[id]?.seat { await tell(seat, here: here, daemon: daemon) }
    }

    private func tell(_ seat: Seat, here: Here, daemon: AtDaemon) async {
        switch (seat, place) {
        case (.embedded(let id), .embedded(let session)): here(session.core, id)
        case (.daemon(let path), .daemon):
            _ = await answer { (reply: Reply<Bool>) in
                if let link { daemon(link, path) { reply.give(true) } }
            }
        default: break
        }
    }
}

extension AudioSessionError {
    init(_ error: BusError) {
        self =
            switch error.code {
            case .refused("BusyWithCall"): .busyWithCall
            case .refused("LimitExceeded"): .limitExceeded
            case .notPermitted: .notPermitted
            default: .unavailable
            }
    }
}

extension BusError {
    /// Whoever was asked is not there any more: the bus itself says so, since nobody else sets a limit to an answer.
    var meansGone: Bool { code == .noDaemon || code == .noAnswer }
}

extension SessionStatus {
    /// The session in one line, for logs.
    fileprivate var line: String {
        let place = server.kind.map { "\($0) \(server.version ?? "")" } ?? "no sound server"
        let winner =
            claims.first { $0.id == session.winner }
            .map { "won by \($0.owner.name.shown()) (\($0.kind))" } ?? "nobody's"
        return
            "\(place)\(server.connected ? "" : " (away)"), \(session.state), \(winner), \(claims.count) claims in all"
    }
}
