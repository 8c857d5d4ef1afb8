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
    private enum PendingEvent {
        case event(SessionEvent)
        case effect(StreamID)
        case others(() -> Void)
    }

    let loop: any EventLoop
    let processes: any ProcessInspector
    private let store: any LedgerStore
    public private(set) var settings: PolicySettings
    public private(set) var isEnabled = true
    /// The seat is another user's: what is in force is kept, undoing is allowed, nothing new begins.
    public private(set) var isHeldBack = false
    public private(set) var warnings: [String] = []

    private(set) var server: (any SoundServer)?
    private(set) var info: ServerInfo?
    private(set) var graph = ServerGraph()
    /// The devices that a microphone nearby hears: kept, since each plan asks.
    private var loudspeakers: Set<DeviceID> = []
    private(set) var isConnected = false
    var classifier: StreamClassifier
    var topology = OutputTopology()
    private(set) var planner: SessionPlanner
    private(set) var observed: ObservedClaims
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
    private var voiceOutputs: [ClaimID: Set<DeviceID>] = [:]

    private var routeWatch = RouteWatch()
    private var routeTimer: (any LoopTimer)?

    /// Counts the turns, so that "before" and "after" have a meaning without a clock.
    private var moment: UInt64 = 0
    private var depth = 0
    var dirtyStreams: Set<StreamID> = []
    private var movedStreams: Set<StreamID> = []
    private var dirtyClaims: Set<ClaimID> = []
    private var everythingIsDirty = false
    private var pendingEvents: [PendingEvent] = []
    private var timer: (any LoopTimer)?
    private var timerDeadline: LoopInstant?
    private var meters: Set<StreamID> = []
    private var onRestored: (() -> Void)?
    /// Somebody has asked for everything to be undone in the present turn.
    private var isRestoring = false
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
        case .level(let stream, let peak): turn { observed.level(stream, peak: peak, now: loop.now) }
        case .failed(let operation, let failure): turn { failed(operation, failure) }
        case .lost(let failure): turn { lost(failure) }
        }
    }

    private func connected(_ info: ServerInfo, _ graph: ServerGraph) {
        let isFirst = self.info == nil
        self.info = info
        isConnected = true
        let isSameRun = ledger.server?.kind == info.kind && ledger.server?.instance == info.instance
        let left = (streams: isSameRun ? ledger.streams : [:], stored: ledger.stored)
        let routes = isSameRun ? ledger.routes : [:]
        ledger.begin(info.kind, instance: info.instance, keepingStreams: isSameRun)
        reconciler = Reconciler(server: info, settings: settings, ledger: ledger)
        self.graph = ServerGraph()
        loudspeakers.removeAll()
        takenOver.removeAll()
        // The keys first: a stream that has begun since may have begun at a level of ours.
        reconciler?.adoptKeys(left.stored, entries: graph.restoreEntries, now: loop.now)
        changed(Self.changes(of: graph))
        for key in left.stored.keys { reconciler?.observeStored(key, graph.restoreEntries[key], now: loop.now) }
        adopt(left.streams)
        adopt(routes)
        announce(.init(time: loop.wallClock, event: .serverConnected, server: serverStatus))
        // At login the session manager comes a moment after PipeWire.
        loop.schedule(after: .seconds(2)) { [weak self] in
            guard let self, let missing = self.missingSessionManager else { return }
            self.announce(.init(time: self.loop.wallClock, event: .warning, message: missing))
        }
        if !isFirst { onEvent?(.interruptionEnded(shouldResume: true)) }
    }

    /// Takes up the streams that an earlier run left changed: they go on from their true baselines.
    private func adopt(_ streams: [StreamID: Ledger.StreamEntry]) {
        for (id, entry) in streams {
            if let stream = graph.streams[id] {
                // What we silenced was playing before whoever it gave way to.
                if reconciler?.adopt(stream, entry, now: loop.now) == true {
                    records[id] = StreamRecord(playingSince: 0)
                }
                dirtyStreams.insert(id)
            } else {
                reconciler?.ledger.append(.done(id))
            }
        }
    }

    /// Streams that an earlier run has taken somewhere go back, unless a claim wants them there again.
    private func adopt(_ routes: [StreamID: Ledger.RouteEntry]) {
        for (id, entry) in routes {
            if let stream = graph.streams[id] {
                reconciler?.adoptRoute(of: stream, back: entry.back)
            } else {
                reconciler?.ledger.append(.routeDone(id))
            }
        }
    }

    private static func changes(of graph: ServerGraph) -> [GraphChange] {
        graph.clients.values.map { .client($0) } + graph.cards.values.map { .card($0) }
            + graph.devices.values.map { .device($0) }
            + [.defaults(output: graph.defaultOutput, input: graph.defaultInput)]
            + graph.restoreEntries.values.map { .restoreEntry($0) }
            + [.foreignPolicies(graph.foreignPolicies)]
            + graph.streams.values.sorted { $0.id < $1.id }.map { .stream($0) }
    }

    private func lost(_ failure: ServerFailure) {
        server = nil
        let wasConnected = isConnected
        isConnected = false
        if let reconciler { ledger = reconciler.ledger }
        reconciler = nil
        graph = ServerGraph()
        loudspeakers.removeAll()
        records.removeAll()
        topology = OutputTopology()
        routeWatch.forget()
        startClassifier()
        observed.removeAll()
        meters.removeAll()
        playerPauses.serverLost()
        voiceOutputs.removeAll()
        if wasConnected {
            announce(.init(time: loop.wallClock, event: .serverLost, server: serverStatus, message: failure.message))
            onEvent?(.interrupted)
        }
        onServerLost?(failure)
    }

    private func startClassifier() {
        classifier = StreamClassifier(settings: settings, processes: processes)
        for entry in claims.values { if let holder = holder(entry) { _ = classifier.setHolder(holder) } }
    }

    private func failed(_ operation: ServerOperation, _ failure: ServerFailure) {
        guard failure.code != .noEntity else { return }
        if let stream = reconciler?.failed(operation, now: loop.now) { dirtyStreams.insert(stream) }
        if case .setCorkedRoles = operation { everythingIsDirty = true }
        if failure.code == .accessDenied { warn("the sound server forbids an operation: \(failure.message)") }
    }

    // MARK: Changes

    private func changed(_ changes: [GraphChange]) {
        var before: [(stream: ServerStream, old: ServerStream?)] = []
        for change in changes {
            switch change {
            case .stream(let stream): before.append((stream, graph.streams[stream.id]))
            case .streamRemoved(let id): forget(id)
            case .device(let device):
                if device.isFlat, let old = graph.devices[device.id]?.volume.max(), let new = device.volume.max(),
                    old != new, old > 0
                {
                    reconciler?.flatChanges[device.id] = (new / old, loop.now)
                }
                if topology.setDevice(device) { everythingIsDirty = true }
                if setLoudspeaker(device) { everythingIsDirty = true }
            case .deviceRemoved(let id):
                loudspeakers.remove(id)
                if topology.removeDevice(id) { everythingIsDirty = true }
            case .defaults(let output, _): if output != graph.defaultOutput { everythingIsDirty = true }
            case .foreignPolicies(let policies): foreignPolicies(policies)
            case .card, .cardRemoved, .client, .clientRemoved, .restoreEntry, .restoreEntryRemoved: break
            }
            if change.touchesDevices { watchRoute() }
            graph.apply(change)
        }
        guard let kind = info?.kind else { return }
        let classified = classifier.update(changes, graph: graph, kind: kind)
        dirtyStreams.formUnion(classified)
        for (stream, old) in before { observe(stream, before: old) }
        for id in classified { if let stream = graph.streams[id] { place(stream) } }
        for change in changes {
            switch change {
            case .restoreEntry(let entry): reconciler?.observeStored(entry.key, entry, now: loop.now)
            case .restoreEntryRemoved(let key): reconciler?.observeStored(key, nil, now: loop.now)
            default: break
            }
        }
    }

    private func observe(_ stream: ServerStream, before old: ServerStream?) {
        guard graph.streams[stream.id] == stream else { return }
        dirtyStreams.insert(stream.id)
        if let old, old.device != stream.device { movedStreams.insert(stream.id) }
        reconciler?.observe(stream, before: old, in: graph, now: loop.now)
        playerPauses.observe(stream, now: loop.now) { planned(stream.id) }
        place(stream)
    }

    private func place(_ stream: ServerStream) {
        let isPlumbing = classifier[stream.id]?.isPlumbing ?? false
        if topology.setStream(stream, isPlumbing: isPlumbing) { everythingIsDirty = true }
    }

    /// Returns whether it has become one, or is none any more.
    private func setLoudspeaker(_ device: ServerDevice) -> Bool {
        guard DeviceType(device).isLoudspeaker else { return loudspeakers.remove(device.id) != nil }
        return loudspeakers.insert(device.id).inserted
    }

    private func forget(_ id: StreamID) {
        playerPauses.removed(id) { planned(id) }
        if let claim = claim(of: id) { dirtyClaims.insert(claim) }
        reconciler?.removed(id, restoreKey: graph.streams[id]?.restoreKey, now: loop.now)
        records[id] = nil
        movedStreams.remove(id)
        if topology.removeStream(id) { everythingIsDirty = true }
        observed.setMember(id, nil, now: loop.now)
        dirtyStreams.insert(id)
    }

    private func foreignPolicies(_ policies: [ForeignPolicy]) {
        guard policies != graph.foreignPolicies, let kind = info?.kind else { return }
        if kind == .pulseaudio && settings.takeOverRoleModules && isEnabled {
            for policy in policies where policy.module != nil && !takenOver.contains(policy.name) {
                takenOver.insert(policy.name)
                reconciler?.takeOver(policy)
                warn("\(policy.name) is taken over while Sordino runs (pulseaudio.take-over-role-modules)")
            }
        } else {
            planner.foreignPolicies = policies.compactMap(RolePolicy.init)
            for policy in policies { warn("\(policy.name) is active too; what it turns down is left to it") }
            everythingIsDirty = true
        }
    }

    /// Modules of the user's that we have unloaded from this server.
    private var takenOver: Set<String> = []

    private func warn(_ message: String) {
        guard !warnings.contains(message) else { return }
        warnings.append(message)
        announce(.init(time: loop.wallClock, event: .warning, message: message))
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

    public func route() -> AudioRoute { AudioRoute(graph, outputs: routeOutputs) }

    /// Takes the winner's playback to a device from now on, by its name in `devices`; `nil`: wherever it goes by itself.
    public func selectDevice(_ name: String?) throws(SessionControlError) {
        let known = graph.devices.values.filter { $0.id.direction == .output }.map(\.name).sorted()
        if let name, !known.contains(name) { throw .unknownDevice(name, known: known) }
        turn { selection = name }
        watchRoute()
    }

    public func diagnostics() -> String {
        let name = info.map { "\($0.kind.rawValue) \($0.version)" } ?? "no server"
        return "\(name)\(isConnected ? "" : " (away)"), \(claims.count) claims, \(graph.streams.count) streams, "
            + "\(ledgerCount) to undo"
    }

    // MARK: Requests

    /// Off: all effects undone, claims kept.
    public func setEnabled(_ enabled: Bool) {
        guard enabled != isEnabled else { return }
        turn {
            isEnabled = enabled
            everythingIsDirty = true
        }
    }

    /// Begins nothing new from now on, or begins what was kept back.
    public func setHeldBack(_ heldBack: Bool) {
        guard heldBack != isHeldBack else { return }
        turn {
            isHeldBack = heldBack
            everythingIsDirty = true
        }
    }

    /// Undoes everything in force, and leaves it so until the present holders are gone.
    public func restore() {
        turn {
            isRestoring = true
            reconciler?.overrideAll()
            leavePausedStreams()
            everythingIsDirty = true
        }
    }

    /// Undoes everything at once, without fades, and calls `done` when the server has confirmed it.
    public func end(_ done: @escaping () -> Void) {
        onRestored = done
        turn {
            isEnabled = false
            everythingIsDirty = true
            movedStreams.formUnion(graph.streams.keys)
            reconciler?.giveBackPolicies()
        }
    }

    /// Takes other settings; what is in force is brought to them.
    public func setSettings(_ settings: PolicySettings) {
        turn {
            self.settings = settings
            let holders = planner.holders
            planner = SessionPlanner(settings: settings)
            for holder in holders.values { _ = planner.setHolder(holder) }
            reconciler?.timing = settings.timing
            reconciler?.healsRestoreEntries = settings.restoreEntries == .heal
            startClassifier()
            observed.setSettings(settings)
            guard let kind = info?.kind else { return }
            _ = classifier.update(Self.changes(of: graph), graph: graph, kind: kind)
            planner.foreignPolicies =
                settings.takeOverRoleModules ? [] : graph.foreignPolicies.compactMap(RolePolicy.init)
            dirtyStreams.formUnion(graph.streams.keys)
            everythingIsDirty = true
        }
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
            for id in dirtyStreams { if let claim = claim(of: id) { dirtyClaims.insert(claim) } }
        }
        for id in dirtyClaims where updateHolder(id) { everythingIsDirty = true }
        dirtyClaims.removeAll(keepingCapacity: true)
    }

    func claim(of stream: StreamID) -> ClaimID? {
        explicitClaim(of: stream) ?? observed.key(of: stream).flatMap { claimIDs[$0] }
    }

    func updateRecord(_ id: StreamID) {
        guard let stream = graph.streams[id], let classification = classifier[id] else { return }
        let baseline = reconciler?.baseline(of: stream)
        let isPlaying = !stream.isCorked || reconciler?.isCorkedByUs(id) == true || playerPauses.isPaused(id)
        var record = records[id] ?? StreamRecord()
        if reconciler?.startedAgain.remove(id) != nil { record.playingSince = nil }
        if playerPauses.startedAgain.remove(id) != nil { record.playingSince = nil }
        if !isPlaying { record.playingSince = nil } else if record.playingSince == nil { record.playingSince = moment }
        records[id] = record
        let isActive = !stream.isCorked && !(baseline?.isMuted ?? stream.isMuted)
        observed.setMember(id, member(stream, classification, isActive: isActive), now: loop.now)
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
            return planner.removeHolder(id)
        }
        let since = countingSince[id] ?? moment
        countingSince[id] = since
        return planner.setHolder(
            EffectHolder(
                id: id, kind: entry.claim.kind, origin: entry.claim.origin,
                ownerKey: entry.observed?.owner ?? "claim:\(id)", since: since, outputs: outputs(of: entry),
                level: settings.level(entry.claim.options.ducking)))
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

    private func settleStreams() {
        guard reconciler != nil else {
            dirtyStreams.removeAll()
            movedStreams.removeAll()
            everythingIsDirty = false
            return
        }
        findPausedStreams()
        if everythingIsDirty { dirtyStreams.formUnion(graph.streams.keys) }
        everythingIsDirty = false
        let isEnding = onRestored != nil
        var plans: [StreamID: StreamPlan] = [:]
        for id in dirtyStreams { plans[id] = plan(id) }
        pauseThroughPlayers(&plans)
        for (id, plan) in plans { preparePause(plan, of: id) }
        for id in reconciler?.decideCorks() ?? [] where plans[id] == nil { plans[id] = plan(id) }
        for id in plans.keys.sorted() {
            guard let plan = plans[id] else { continue }
            carryOut(plan, on: id, abrupt: isEnding || movedStreams.contains(id))
        }
        dirtyStreams.removeAll(keepingCapacity: true)
        movedStreams.removeAll(keepingCapacity: true)
        settleRoutes()
        reconciler?.advance(to: loop.now, in: graph)
    }

    func planned(_ id: StreamID) -> PlannedStream? {
        guard let stream = graph.streams[id], let classification = classifier[id], let record = records[id] else {
            return nil
        }
        let destination = id.direction == .output ? graph.destination(of: stream) : stream.device
        let outputs = destination.map { topology.outputs(of: $0) } ?? []
        return PlannedStream(
            stream: stream, classification: classification, playingSince: record.playingSince, outputs: outputs,
            isHeardByMicrophones: !outputs.isDisjoint(with: loudspeakers))
    }

    func plan(_ id: StreamID) -> StreamPlan? {
        guard isEnabled else { return planned(id).map { _ in .untouched } }
        guard let planned = planned(id), let present = records[id]?.plan else { return nil }
        var plan = planner.plan(for: planned)
        if isHeldBack { plan.holdBack(to: present) }
        return plan
    }

    private func preparePause(_ plan: StreamPlan, of id: StreamID) {
        guard let stream = graph.streams[id], let record = records[id] else { return }
        let isServers = plan.effect == .pause && playerPauses.route(of: id) == .server
        reconciler?.preparePause(stream, plan: plan, isServers: isServers, isNew: !record.hasBegun)
    }

    private func carryOut(_ plan: StreamPlan, on id: StreamID, abrupt: Bool) {
        guard let stream = graph.streams[id], var record = records[id] else { return }
        let wasOverridden = reconciler?.isOverridden(id) ?? false
        switch plan.effect == .pause ? playerPauses.route(of: id) : .server {
        case .server: reconciler?.reconcile(stream, plan: plan, abrupt: abrupt || !record.hasBegun, now: loop.now)
        case .waiting: break
        case .player:
            let nothing = StreamPlan(effect: .none, because: [], holders: plan.holders)
            reconciler?.reconcile(stream, plan: nothing, abrupt: true, now: loop.now)
        }
        let isDifferent = plan.effect != record.plan.effect
        record.hasBegun = record.hasBegun || !stream.volume.isEmpty
        record.plan = plan
        if isDifferent { record.effectSince = plan.effect == .none ? nil : loop.wallClock }
        records[id] = record
        if isDifferent || wasOverridden != (reconciler?.isOverridden(id) ?? false) { announceEffect(of: id) }
    }

    private func announceEffect(of id: StreamID) {
        if onSessionEvent != nil { pendingEvents.append(.effect(id)) }
    }

    /// Tells it once the operations of the present turn have been sent, which never wait for a listener.
    func announce(_ event: SessionEvent) {
        guard let onSessionEvent else { return }
        if depth > 0 { pendingEvents.append(.event(event)) } else { onSessionEvent(event) }
    }

    /// Does what others have to do once the operations of the present turn, if there is one, have been sent.
    func whenSent(_ body: @escaping () -> Void) {
        if depth > 0 { pendingEvents.append(.others(body)) } else { body() }
    }

    private func tellPending() {
        let pending = pendingEvents
        pendingEvents.removeAll()
        for item in pending {
            switch item {
            case .event(let event): onSessionEvent?(event)
            case .others(let body): body()
            case .effect(let id):
                guard let stream = streamStatus(id) else { continue }
                onSessionEvent?(.init(time: loop.wallClock, event: .effectChanged, stream: stream))
            }
        }
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
            if meters != observed.metered {
                meters = observed.metered
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

    /// Devices come and go in bursts, so they are looked at once they have settled (field case PRF-01: 200 ms).
    private func watchRoute() {
        guard routeTimer == nil else { return }
        routeTimer = loop.schedule(after: .milliseconds(200)) { [unowned self] in
            routeTimer = nil
            guard isConnected, let (reason, route) = routeWatch.look(at: graph, output: routedOutput, route: route())
            else { return }
            announce(
                .init(
                    time: loop.wallClock, event: .routeChanged, device: currentOutputStatus, message: reason.rawValue))
            onEvent?(.routeChanged(reason, route))
        }
    }

    private func setTimer() {
        let now = loop.now
        let deadline = [observed.nextDeadline, reconciler?.nextStep(after: now), playerPauses.nextDeadline]
            .compactMap { $0 }.min()
        guard deadline != timerDeadline else { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = deadline.map { deadline in
            loop.schedule(at: deadline) { [unowned self] in
                timer = nil
                timerDeadline = nil
                turn { observed.advance(to: loop.now) }
            }
        }
    }
}
