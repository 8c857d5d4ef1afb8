import AudioPolicy
import AudioSession
import EventLoop
import SessionBus
import SystemEventLoop

/// Where the claims are held, and how they get from one place to another.
extension ProgramSession {
    /// Claims that a daemon has been asked for anew, until it has said what became of all of them.
    struct Move {
        var ids: [ClaimID]
        var awaited: Set<ClaimID>
        /// Those that the daemon says are interrupted there.
        var interrupted: Set<ClaimID> = []
    }

    /// How long the bus may take to start a daemon.
    private static let startPatience = Duration.seconds(2)
    /// How long a sound server may take to undo what was done before the daemon takes over.
    private static let undoPatience = Duration.seconds(1)

    // MARK: Deciding

    func begin() {
        guard let address = BusContract.address(in: surroundings.environment),
            let link = try? DaemonLink(address: address, loop: loop)
        else { return enterEmbedded() }
        self.link = link
        link.onOwnerChange = { [weak self] in self?.assumeIsolated { $0.ownerChanged() } }
        link.onEvent = { [weak self] path, event in self?.assumeIsolated { $0.received(event, at: path) } }
        link.onWinnerChange = { [weak self] in self?.assumeIsolated { $0.askForRefused() } }
        link.onLost = { [weak self] in self?.assumeIsolated { $0.busLost() } }
        settleForEmbedded(after: surroundings.patience, evenIfBusAnswers: false)
    }

    /// Goes on without a daemon where none has come by then.
    private func settleForEmbedded(after delay: Duration, evenIfBusAnswers: Bool) {
        loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { session in
                guard case .undecided = session.place, evenIfBusAnswers || !session.hasAskedForDaemon else { return }
                session.enterEmbedded()
            }
        }
    }

    private func ownerChanged() {
        let isFirst = !hasAskedForDaemon
        hasAskedForDaemon = true
        switch place {
        case .daemon(let name): if link?.owner != name { lose(name) }
        case .undecided: if let owner = link?.owner { enterDaemon(owner) }
        case .embedded: if link?.owner != nil { prepareHandOver() }
        case .leaving: break
        }
        // Once: one that is stopped later was stopped by somebody, who does not want it back.
        if isFirst, link?.owner == nil { startDaemon() }
    }

    private func startDaemon() {
        link?.startDaemon { [weak self] _ in
            self?.assumeIsolated { session in
                if case .undecided = session.place { session.enterEmbedded() }
            }
        }
        settleForEmbedded(after: Self.startPatience, evenIfBusAnswers: true)
    }

    private func busLost() {
        // Not here: sd-bus is inside of it.
        loop.defer { [link] in withExtendedLifetime(link) {} }
        link = nil
        switch place {
        case .daemon(let name): lose(name)
        case .undecided: enterEmbedded()
        case .embedded, .leaving: break
        }
    }

    // MARK: Embedded

    private func enterEmbedded() {
        let session = EmbeddedSession(surroundings, loop: loop)
        place = .embedded(session)
        for id in held.keys.sorted() {
            guard let claim = held[id],
                let new = try? session.core.acquire(claim.claim.kind, output: claim.output, owner: owner)
            else { continue }
            session.core.setActivated(new, claim.isActivated)
            sit(id, .embedded(new))
        }
        if let winner = held.values.max(by: HeldClaim.isBefore) { held[winner.claim.id]?.isSubordinated = false }
        session.core.onDelivery = { [weak self] id, event in
            self?.assumeIsolated { $0.received(event, at: .embedded(id)) }
        }
        session.whenSettled { [weak self] in self?.assumeIsolated { $0.endInterruptions() } }
        session.start()
        resumeWaiting()
    }

    /// This process has restored its session: tells those that were interrupted meanwhile, unless they still are.
    private func endInterruptions() {
        guard case .embedded(let session) = place else { return }
        for id in held.keys.sorted() {
            if case .embedded(let own)? = held[id]?.seat, !session.core.arbiter.isInterrupted(own) {
                tell(.interruptionEnded(shouldResume: true), to: id)
            }
        }
    }

    /// A daemon has come: once it answers, it gets the claims, and before that what was done for them is undone, so that
    /// it finds everything as the user has it.
    private func prepareHandOver() {
        guard let owner = link?.owner else { return }
        link?.readRoute { [weak self] route in
            guard route != nil else { return }
            self?.assumeIsolated { $0.handOver(to: owner) }
        }
    }

    private func handOver(to owner: String) {
        guard case .embedded(let session) = place, link?.owner == owner else { return }
        place = .leaving(session)
        leaveSeats()
        session.end(within: Self.undoPatience) { [weak self] in self?.assumeIsolated { $0.arrive() } }
    }

    /// Goes where there is somebody now.
    private func arrive() {
        if let owner = link?.owner { enterDaemon(owner) } else { enterEmbedded() }
    }

    // MARK: The daemon

    private func enterDaemon(_ owner: String) {
        place = .daemon(owner)
        let ids = held.values.sorted(by: HeldClaim.isBefore).map(\.claim.id)
        if !ids.isEmpty { move = Move(ids: ids, awaited: Set(ids)) }
        for id in ids { ask(for: id, of: owner) }
        resumeWaiting()
    }

    /// The daemon is gone. Its claims are, too, and whoever holds one is interrupted until it is held again.
    func lose(_ daemon: String) {
        guard case .daemon(daemon) = place else { return }
        link?.forget(daemon)
        place = .undecided
        move = nil
        link?.watchesWinner = false
        leaveSeats()
        for id in held.keys.sorted() { tell(.interrupted, to: id) }
        arrive()
    }

    private func leaveSeats() {
        seats.removeAll()
        for id in held.keys {
            held[id]?.seat = nil
            held[id]?.isAsked = false
            held[id]?.isAskedAgain = false
        }
    }

    private func sit(_ id: ClaimID, _ seat: Seat) {
        held[id]?.seat = seat
        seats[seat] = id
    }

    /// Asks for a claim that is held already.
    private func ask(for id: ClaimID, of owner: String) {
        guard let claim = held[id] else { return }
        guard !claim.isAsked else {
            held[id]?.isAskedAgain = true
            return
        }
        held[id]?.isAsked = true
        held[id]?.isAskedAgain = false
        link?.acquire(claim.claim.kind, output: claim.output, options: .init(name: surroundings.name)) {
            [weak self] result in
            self?.assumeIsolated { $0.answered(result, to: claim, by: owner) }
        }
    }

    private func answered(_ result: Result<String, BusError>, to asked: HeldClaim, by owner: String) {
        let id = asked.claim.id
        guard case .daemon(owner) = place else { return }
        held[id]?.isAsked = false
        switch result {
        case .success(let path):
            if let claim = held[id] {
                sit(id, .daemon(path: path))
                if move == nil { held[id]?.isSubordinated = false }
                if claim.output != asked.output { link?.update(path, output: claim.output) }
                if claim.isActivated { link?.setActivated(path, true) }
            } else {
                // Released meanwhile.
                link?.release(path)
            }
        case .failure(let error) where error.meansGone: return lose(owner)
        case .failure: if held[id]?.isAskedAgain == true { return ask(for: id, of: owner) }
        }
        move?.awaited.remove(id)
        if move?.awaited.isEmpty == true { askForStanding(owner) } else if move == nil { watchWinner() }
    }

    /// All of the move's claims have been granted or refused. The one that is the best of them tells whether somebody
    /// else's claim stands above; its answer comes after everything that the daemon had to say of the others.
    private func askForStanding(_ owner: String) {
        let best = move?.ids.last { held[$0]?.seat != nil }
        guard let best, case .daemon(let path)? = held[best]?.seat else { return conclude(nil) }
        link?.readStanding(path) { [weak self] standing in
            self?.assumeIsolated { session in
                guard case .daemon(owner) = session.place else { return }
                session.conclude(standing.map { (best, $0) })
            }
        }
    }

    private func conclude(_ best: (id: ClaimID, standing: ClaimStanding)?) {
        guard let move else { return }
        self.move = nil
        for id in move.ids.sorted() {
            guard let claim = held[id] else { continue }
            if !move.interrupted.contains(id) {
                tell(.interruptionEnded(shouldResume: claim.seat != nil), to: id)
            }
            let hasLost = claim.seat == nil || best?.id == id && best?.standing == .subordinate
            if hasLost, !claim.isSubordinated { tell(.subordinated, to: id) }
        }
        if let best, best.standing == .winner { held[best.id]?.isSubordinated = false }
        watchWinner()
    }

    // MARK: Refused claims

    /// A recording that a call keeps from being held again waits as a subordinate does, and is asked for whenever
    /// another claim wins.
    func watchWinner() {
        guard let link, case .daemon(let owner) = place, move == nil else { return }
        let refused = held.values.filter { $0.seat == nil }
        guard link.watchesWinner != !refused.isEmpty else { return }
        link.watchesWinner = !refused.isEmpty
        // Once more, now that no change is missed any more.
        for claim in refused { ask(for: claim.claim.id, of: owner) }
    }

    private func askForRefused() {
        guard case .daemon(let owner) = place, move == nil else { return }
        for claim in held.values.sorted(by: HeldClaim.isBefore) where claim.seat == nil {
            ask(for: claim.claim.id, of: owner)
        }
    }

    // MARK: Events

    private func received(_ event: AudioSessionEvent, at path: String) { received(event, at: .daemon(path: path)) }

    private func received(_ event: AudioSessionEvent, at seat: Seat) {
        guard let id = seats[seat] else { return }
        if move?.ids.contains(id) == true {
            switch event {
            // While claims come in one after the other, the earlier lose to the later as they did before.
            case .subordinated: return
            case .interrupted: move?.interrupted.insert(id)
            case .interruptionEnded: move?.interrupted.remove(id)
            case .outputRouteChanged: break
            }
        }
        tell(event, to: id)
    }
}
