import AudioSession
import EventLoop

/// Pausing through media players: first their own pause, then the server's.
extension SoundServerDriver {
    /// Pauses through these players from now on, and takes up those that an earlier run has paused.
    public func attach(_ players: any MediaPlayers) {
        mediaPlayers = players
        playerPauses.attached(now: loop.now)
        players.onEvent = { [unowned self] event in self.receive(event) }
    }

    private func receive(_ event: PlayerEvent) {
        turn {
            var sandbox: ProcessFacts.Sandbox?
            if case .present(let player) = event { sandbox = player.pid.flatMap { processes.facts(of: $0)?.sandbox } }
            playerPauses.receive(event, sandbox: sandbox, now: loop.now)
            dirtyStreams.formUnion(playerPauses.takeDirty())
        }
    }

    /// What the pauses have to say to the ledger, before the players hear of anything.
    func notePlayerPauses() {
        for record in playerPauses.takeRecords() {
            if reconciler != nil { reconciler?.ledger.append(record) } else { ledger.append(record) }
        }
    }

    /// Streams of players that were paused before this connection, so that what holds them now holds them on.
    func findPausedStreams() {
        for player in playerPauses.unbound.sorted() where playerPauses.pauses[player]?.isHeld == true {
            for (id, stream) in graph.streams where id.direction == .output && stream.isCorked {
                guard let identity = classifier.identity(of: id),
                    playerPauses.index.players(of: identity).contains(player)
                else { continue }
                playerPauses.bind(id, to: player)
                records[id, default: StreamRecord()].playingSince = 0
            }
            playerPauses.found(player, holders: Set(planner.holders.keys))
        }
        dirtyStreams.formUnion(playerPauses.takeDirty())
    }

    /// Takes note of the plans, asks the players of streams that are to pause, and lets those go on that nobody holds any
    /// more. Plans anew what comes of it.
    func pauseThroughPlayers(_ plans: inout [StreamID: StreamPlan]) {
        var open = Array(plans.keys)
        repeat {
            for id in open { playerPauses.plan(id, isPause: isToPause(id, plans[id])) }
            for id in open.sorted() where isToPause(id, plans[id]) && playerPauses.isNew(id) {
                playerPauses.begin(id, players: players(of: id, plans), now: loop.now)
            }
            settlePlayers()
            open = Array(playerPauses.takeDirty())
            for id in open {
                updateRecord(id)
                plans[id] = plan(id)
            }
        } while !open.isEmpty
    }

    private func isToPause(_ id: StreamID, _ plan: StreamPlan?) -> Bool {
        guard let plan, plan.effect == .pause, id.direction == .output else { return false }
        return reconciler?.obeys(id, plan) ?? false
    }

    /// The players of a stream; none if they play something else as well that is to go on.
    private func players(of id: StreamID, _ plans: [StreamID: StreamPlan]) -> Set<PlayerID> {
        guard let identity = classifier.identity(of: id) else { return [] }
        let players = playerPauses.index.players(of: identity)
        guard !players.isEmpty else { return [] }
        let goesOn = graph.streams.contains { other, stream in
            guard other != id, other.direction == .output, !stream.isCorked,
                classifier[other]?.kind?.isMedia == true, !isToPause(other, plans[other] ?? records[other]?.plan),
                let identity = classifier.identity(of: other)
            else { return false }
            return !playerPauses.index.players(of: identity).isDisjoint(with: players)
        }
        return goesOn ? [] : players
    }

    private func settlePlayers() {
        guard !playerPauses.isIdle || playerPauses.nextDeadline != nil else { return }
        let delay = undoesAtOnce ? .zero : settings.resume == .auto ? settings.resumeDelay : nil
        playerPauses.settle(resumingAfter: delay, now: loop.now) { [self] stream in
            isEnabled && planner.plan(for: stream).effect == .pause
        } hasEffects: { [self] claim in
            isEnabled && planner.holders[claim] != nil
        }
    }

    /// Leaves every stream that is paused through a player to whoever starts it, until its present holders are gone.
    func leavePausedStreams() {
        for (id, stream) in graph.streams where playerPauses.isPaused(id) {
            guard let plan = records[id]?.plan else { continue }
            reconciler?.leave(stream, holders: plan.holders)
        }
        playerPauses.letGo()
    }
}

extension StreamClassifier {
    func identity(of id: StreamID) -> OwnerIdentity? {
        entries[id].flatMap { $0.nature.isPlumbing ? nil : $0.identity }
    }
}

extension AudioSessionClientKind {
    /// What media players play.
    fileprivate var isMedia: Bool { self == .mediaPlayback || self == .playback }
}
