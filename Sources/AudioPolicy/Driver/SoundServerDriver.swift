public import AudioSession
public import EventLoop

/// Classify → plan → reconcile, over one sound server at a time. Confined to its loop.
///
/// Level-triggered: after any event the plan of what the event touches is made from the whole state and compared with
/// what is there. There is no code path for "the call ended"; there is a plan without a call in it.
public final class SoundServerDriver: AudioSessionDriver {
    public var onEvent: ((AudioSessionDriverEvent) -> Void)?
    /// What has changed for people to see, after it has been sent to the server.
    public var onSessionEvent: ((SessionEvent) -> Void)?
    /// The connection is over; a new server may be attached.
    public var onServerLost: ((ServerFailure) -> Void)?

    /// What is known of a stream beside what the server says.
    struct StreamRecord {
        /// When it last began to play of its own accord, counted in moments; `nil`: it is not playing.
        var playingSince: UInt64?
        var plan = StreamPlan.untouched
        /// Whether it has had a plan before: a new stream gets its level at once.
        var hasBegun = false
        /// Seconds since 1970 at which its present effect began.
        var effectSince: Double?
    }

    /// What people are told once the operations have been sent; of a stream's effect not even the words are made before.
    enum PendingEvent {
        case event(SessionEvent)
        case effect(StreamID)
        case others(() -> Void)
    }

    let loop: any EventLoop
    let processes: any ProcessInspector
    private let store: any LedgerStore
    public internal(set) var settings: PolicySettings
    public internal(set) var isEnabled = true
    /// The seat is another user's: what is in force is kept, undoing is allowed, nothing new begins.
    public internal(set) var isHeldBack = false
    public internal(set) var warnings: [String] = []

    var server: (any SoundServer)?
    var info: ServerInfo?
    var graph = ServerGraph()
    /// The devices that a microphone nearby hears: kept, since each plan asks.
    var loudspeakers: Set<DeviceID> = []
    var isConnected = false
    var classifier: StreamClassifier
    var topology = OutputTopology()
    var planner: SessionPlanner
    var observed: ObservedClaims
    var advanced: AdvancedClaims
    var reconciler: Reconciler?
    var records: [StreamID: StreamRecord] = [:]
    var ledger: Ledger
    var mediaPlayers: (any MediaPlayers)?
    var playerPauses: PlayerPauses

    private(set) var claims: [ClaimID: SessionState.Entry] = [:]
    private(set) var winner: ClaimID?
    /// The name of the output device that the user has chosen for the winner; `nil`: automatic.
    var selection: String?
    private(set) var claimIDs: [ObservedClaim.Key: ClaimID] = [:]
    private var countingSince: [ClaimID: UInt64] = [:]
    var voiceOutputs: [ClaimID: Set<DeviceID>] = [:]

    var routeWatch = RouteWatch()
    var routeTimer: (any LoopTimer)?

    /// What has been told of streams that could not be kept where they are wanted, since any last was.
    var toldOfRoutes: Set<String> = []

    /// Modules of the user's that we have unloaded from this server.
    var takenOver: Set<String> = []

    /// Counts the turns, so that "before" and "after" have a meaning without a clock.
    private var moment: UInt64 = 0
    var depth = 0
    var dirtyStreams: Set<StreamID> = []
    var movedStreams: Set<StreamID> = []
    var dirtyClaims: Set<ClaimID> = []
    var everythingIsDirty = false
    var pendingEvents: [PendingEvent] = []
    private var timer: (any LoopTimer)?
    private var timerDeadline: LoopInstant?
    var meters: Set<StreamID> = []
    var onRestored: (() -> Void)?
    /// Somebody has asked for everything to be undone in the present turn.
    var isRestoring = false
    /// What is undone now is undone at once, and whatever the settings say of resuming.
    var undoesAtOnce: Bool { isRestoring || !isEnabled || onRestored != nil }

    public init(
        loop: any EventLoop, settings: PolicySettings, processes: any ProcessInspector, store: any LedgerStore
    ) {
        self.loop = loop
        self.settings = settings
        self.processes = processes
        self.store = store
        classifier = StreamClassifier(settings: settings, processes: processes)
        planner = SessionPlanner(settings: settings)
        observed = ObservedClaims(settings: settings)
        advanced = AdvancedClaims(settings: settings)
        ledger = Ledger(reading: store.read())
        playerPauses = PlayerPauses(left: ledger.players)
    }

    deinit {
        timer?.cancel()
        routeTimer?.cancel()
    }

    var ledgerCount: Int { reconciler?.ledger.count ?? ledger.count }

    // MARK: The server

    /// Starts to work with a server; the one before, if any, has been lost or is let go.
    public func attach(_ server: any SoundServer) {
        self.server?.stop()
        self.server = server
        server.onEvent = { [unowned self] event in self.receive(event) }
        server.start()
    }

    /// Starts to work with a server that is connected already, and whose events its finder passes on to `receive`.
    public func attach(connected server: any SoundServer, _ info: ServerInfo, _ graph: ServerGraph) {
        self.server = server
        receive(.connected(info, graph))
    }

    public func receive(_ event: SoundServerEvent) {
        switch event {
        case .connected(let info, let graph):
            observed.isStarting = true
            turn { connected(info, graph) }
            observed.isStarting = false
        case .changed(let changes): turn { changed(changes) }
        case .level(let stream, let peak):
            turn {
                observed.level(stream, peak: peak, now: loop.now)
                advanced.level(stream, peak: peak, now: loop.now)
            }
        case .failed(let operation, let failure): turn { failed(operation, failure) }
        case .lost(let failure): turn { lost(failure) }
        }
    }

    // MARK: The arbiter

    public func apply(_ state: SessionState) {
        turn {
            winner = state.winner
            for id in state.released {
                if let key = claims.removeValue(forKey: id)?.observed { claimIDs[key] = nil }
                countingSince[id] = nil
                voiceOutputs[id] = nil
                dirtyClaims.insert(id)
                dirtyStreams.formUnion(classifier.removeHolder(id))
            }
            for entry in state.changed {
                claims[entry.claim.id] = entry
                if let key = entry.observed { claimIDs[key] = entry.claim.id }
                if let holder = holder(entry) { dirtyStreams.formUnion(classifier.setHolder(holder)) }
                dirtyClaims.insert(entry.claim.id)
            }
        }
    }

    public func diagnostics() -> String {
        let name = info.map { "\($0.kind.rawValue) \($0.version)" } ?? "no server"
        return "\(name)\(isConnected ? "" : " (away)"), \(claims.count) claims, \(graph.streams.count) streams, "
            + "\(ledgerCount) to undo"
    }

    // MARK: One turn

    /// Everything that one event sets off, in one batch of operations.
    func turn(_ body: () -> Void) {
        depth += 1
        if depth == 1 { moment += 1 }
        body()
        depth -= 1
        guard depth == 0 else { return }
        depth = 1
        settleClaims()
        settleStreams()
        isRestoring = false
        depth = 0
        send()
    }

    /// Brings observed claims, and through the arbiter the holders, up to date.
    private func settleClaims() {
        for id in dirtyStreams { updateRecord(id) }
        let changes = observed.takeChanges()
        if !changes.changed.isEmpty || !changes.gone.isEmpty {
            onEvent?(.observed(changed: changes.changed, gone: changes.gone))
        }
        if everythingIsDirty {
            dirtyClaims.formUnion(claims.keys)
        } else {
            for id in dirtyStreams { dirtyClaims.formUnion(claims(touchedBy: id)) }
        }
        dirtyClaims.formUnion(advanced.takeChanges())
        for id in dirtyClaims where updateHolder(id) { everythingIsDirty = true }
        dirtyClaims.removeAll(keepingCapacity: true)
    }

    func claim(of stream: StreamID) -> ClaimID? {
        explicitClaim(of: stream) ?? observed.key(of: stream).flatMap { claimIDs[$0] }
    }

    func updateRecord(_ id: StreamID) {
        guard let stream = graph.streams[id], let classification = classifier[id] else { return }
        let isPlaying = !stream.isCorked || reconciler?.isCorkedByUs(id) == true || playerPauses.isPaused(id)
        var record = records[id] ?? StreamRecord()
        if reconciler?.startedAgain.remove(id) != nil { record.playingSince = nil }
        if playerPauses.startedAgain.remove(id) != nil { record.playingSince = nil }
        if !isPlaying { record.playingSince = nil } else if record.playingSince == nil { record.playingSince = moment }
        records[id] = record
        observed.setMember(id, member(stream, classification, isActive: isOpen(stream)), now: loop.now)
    }

    /// Whether it plays or records something, as far as its program and its user have it.
    func isOpen(_ stream: ServerStream) -> Bool {
        !stream.isCorked && !(reconciler?.baseline(of: stream).isMuted ?? stream.isMuted)
    }

    private func member(
        _ stream: ServerStream, _ classification: StreamClassification, isActive: Bool
    ) -> ObservedClaims.Member? {
        guard settings.observedEnabled, let kind = classification.kind, !classification.isPlumbing,
            explicitClaim(of: stream.id) == nil, !classification.actions.ignore, !classification.actions.makesNoClaim
        else { return nil }
        let owner = classification.owner
        return ObservedClaims.Member(
            owner: ClaimOwner(name: owner.name, pid: owner.pid, sandbox: owner.sandbox),
            key: .init(owner: owner.key, kind: kind), isActive: isActive, direction: stream.id.direction,
            needsSound: classification.source == .capturePlayback)
    }

    /// Returns whether the plans of others may be other ones now.
    private func updateHolder(_ id: ClaimID) -> Bool {
        guard let entry = claims[id], entry.claim.counts else {
            countingSince[id] = nil
            advanced.set(id, open: nil, now: loop.now)
            return planner.removeHolder(id)
        }
        let since = countingSince[id] ?? moment
        countingSince[id] = since
        var holder = EffectHolder(
            id: id, kind: entry.claim.kind, origin: entry.claim.origin,
            ownerKey: entry.observed?.owner ?? "claim:\(id)", since: since, outputs: outputs(of: entry),
            level: settings.level(entry.claim.options.ducking))
        advanced.set(id, open: openVoices(of: entry.claim, holder), now: loop.now)
        holder.isSilent = advanced.isSilent(id)
        return planner.setHolder(holder)
    }

    /// The physical outputs of a claim's voice; those it had last while it is only held on to.
    private func outputs(of entry: SessionState.Entry) -> Set<DeviceID>? {
        let streams = entry.observed.map(observed.activeStreams) ?? playingStreams(of: entry.claim.id)
        var found: Set<DeviceID> = []
        for id in streams where id.direction == .output {
            guard let device = graph.streams[id].flatMap(graph.destination) else { continue }
            found.formUnion(topology.outputs(of: device))
        }
        if found.isEmpty { return voiceOutputs[entry.claim.id] ?? wishedOutputs(of: entry.claim) }
        voiceOutputs[entry.claim.id] = found
        return found
    }

    /// The ledger first, then the operations, then everything that can wait.
    private func send() {
        notePlayerPauses()
        if let reconciler {
            reconciler.ledger.flush(to: store)
            let operations = reconciler.takeOperations()
            if !operations.isEmpty { server?.perform(operations) }
            reconciler.closeStored(in: graph, now: loop.now)
            reconciler.ledger.flush(to: store)
            store.operationsSent()
            let metered = observed.metered.union(advanced.metered)
            if meters != metered {
                meters = metered
                server?.setMeters(meters)
            }
        } else {
            ledger.flush(to: store)
        }
        mediaPlayers?.perform(playerPauses.takeRequests())
        if onRestored != nil, reconciler?.isDone == true, mediaPlayers == nil || playerPauses.isDone {
            let done = onRestored
            onRestored = nil
            done?()
        }
        setTimer()
        tellPending()
    }

    private func setTimer() {
        let now = loop.now
        let deadline = [
            observed.nextDeadline, advanced.nextDeadline, reconciler?.nextStep(after: now), playerPauses.nextDeadline,
        ].compactMap { $0 }.min()
        guard deadline != timerDeadline else { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = deadline.map { deadline in
            loop.schedule(at: deadline) { [unowned self] in
                timer = nil
                timerDeadline = nil
                turn {
                    observed.advance(to: loop.now)
                    advanced.advance(to: loop.now)
                }
            }
        }
    }
}
