public import AudioPolicy
import EventLoop

/// A connection to a `SimulatedServer`, as the two real ones behave.
///
/// PulseAudio: an event says only what it is about, and one query follows, whose reply holds what was there when the
/// query arrived. The state includes exactly the batches performed before the query was sent. PipeWire: events carry the
/// state, and include what the server had done by then.
public final class SimulatedSoundServer: SoundServer {
    public var kind: ServerKind { server.kind }
    public var onEvent: ((SoundServerEvent) -> Void)?

    private let server: SimulatedServer
    private var loop: ManualEventLoop { server.loop }
    private let toServer: MessagePipe
    private let toClient: MessagePipe
    private let toPrograms: MessagePipe
    private var isStopped = false
    private var isConnected = false
    private var batch: UInt64 = 0
    /// The last batch that the server has carried out.
    private var carriedOut: UInt64 = 0
    private var asked: Set<SimulatedEvent.Object> = []
    private var known: Set<StreamID> = []
    private var goneStreams: Set<StreamID> = []
    private var entries: [String: RestoreEntry] = [:]
    private var isReadingStore = false
    /// Keys written since the last reading was sent: they are reported whatever it shows.
    private var written: Set<String> = []
    private var metered: Set<StreamID> = []
    private var meterTimer: (any LoopTimer)?
    /// PipeWire: nodes that are to stay paused over relinks.
    private var pausedNodes: [StreamID: DeviceID?] = [:]

    public init(_ server: SimulatedServer) {
        self.server = server
        let latency = { server.latency() }
        toServer = MessagePipe(loop: server.loop, latency: latency)
        toClient = MessagePipe(loop: server.loop, latency: latency)
        toPrograms = MessagePipe(loop: server.loop, latency: { server.operationDelay() })
    }

    /// The streams that are metered now.
    public var meters: Set<StreamID> { metered }

    public func start() {
        toServer.send { [self] in
            guard !isStopped else { return }
            server.connection?.serverIsGone()
            server.connection = self
            var graph = server.graph()
            if kind == .pipewire { carriedOut = 0 }
            for id in graph.streams.keys {
                graph.streams[id]?.includesBatch = 0
                server.streams[id]?.volumeBeforeUnseen = nil
                server.streams[id]?.muteBeforeUnseen = nil
            }
            let info = ServerInfo(
                kind: kind, version: kind == .pulseaudio ? "16.1" : "0.3.65", instance: "run-\(server.instance)",
                volumeStep: server.volumeStep)
            toClient.send { [self] in
                known = Set(graph.streams.keys)
                entries = graph.restoreEntries
                isConnected = true
                emit(.connected(info, graph))
            }
        }
    }

    public func stop() {
        guard !isStopped else { return }
        isStopped = true
        onEvent = nil
        meterTimer?.cancel()
        // What the client has sent arrives; then the server notices that it is gone, and takes its trigger away.
        toServer.send { [self] in
            guard server.connection === self else { return }
            server.connection = nil
            server.corks.wanted = []
            server.releaseCorks()
        }
    }

    /// The server has died.
    func serverIsGone() {
        toClient.send { [self] in
            guard !isStopped else { return }
            isStopped = true
            meterTimer?.cancel()
            let report = onEvent
            onEvent = nil
            report?(.lost(ServerFailure(.unavailable, "connection terminated")))
        }
    }

    private func emit(_ event: SoundServerEvent) {
        if !isStopped { onEvent?(event) }
    }

    private func emit(_ changes: [GraphChange]) {
        if !changes.isEmpty, isConnected { emit(.changed(changes)) }
    }

    // MARK: Operations

    public func perform(_ operations: [ServerOperation]) -> UInt64 {
        batch += 1
        let number = batch
        let instance = server.instance
        for (index, operation) in operations.enumerated() {
            let isGone = operation.stream.map { goneStreams.contains($0) } ?? false
            let isLast = index == operations.count - 1
            note(operation)
            toServer.send { [self] in
                guard server.instance == instance else { return }
                if kind == .pulseaudio { return carryOut(operation, isGone: isGone) }
                toPrograms.send { [self] in
                    guard server.instance == instance else { return }
                    if isLast { carriedOut = max(carriedOut, number) }
                    carryOut(operation, isGone: isGone)
                }
            }
        }
        if kind == .pipewire { answer(operations, number) }
        return number
    }

    private func carryOut(_ operation: ServerOperation, isGone: Bool) {
        guard let failure = server.perform(operation, knownGone: isGone) else { return }
        toClient.send { [self] in emit(.failed(operation, failure)) }
    }

    /// PipeWire: once a batch is answered, what of it was not seen by then was ignored.
    private func answer(_ operations: [ServerOperation], _ number: UInt64) {
        toServer.send { [self] in
            carriedOut = max(carriedOut, number)
            for id in Set(operations.compactMap(\.stream)).sorted() where server.streams[id] != nil {
                pushed(.stream(id), .change)
            }
        }
    }

    private func note(_ operation: ServerOperation) {
        switch operation {
        case .pause(let id): pausedNodes[id] = .some(server.streams[id]?.info.device)
        case .resume(let id): pausedNodes[id] = nil
        case .writeRestoreEntry(let entry): written.insert(entry.key)
        case .deleteRestoreEntry(let key): written.insert(key)
        default: break
        }
    }

    // MARK: PulseAudio: events and queries

    func received(_ event: SimulatedEvent) {
        toClient.send { [self] in
            guard !isStopped else { return }
            switch (event.object, event.change) {
            case (.stream(let id), .remove):
                goneStreams.insert(id)
                if known.remove(id) != nil { emit([.streamRemoved(id)]) }
            case (.device(let id), .remove): emit([.deviceRemoved(id)])
            case (.device, .change), (.defaults, _): ask(event.object, after: .milliseconds(10))
            default: ask(event.object, after: .zero)
            }
        }
    }

    private func ask(_ object: SimulatedEvent.Object, after delay: Duration) {
        guard asked.insert(object).inserted else { return }
        guard delay > .zero else { return query(object) }
        loop.schedule(after: delay) { [weak self] in self?.query(object) }
    }

    private func query(_ object: SimulatedEvent.Object) {
        let included = batch
        toServer.send { [self] in
            let change = read(object, including: included)
            toClient.send { [self] in
                asked.remove(object)
                if case .stream(let stream)? = change { known.insert(stream.id) }
                emit(change.map { [$0] } ?? [])
            }
        }
    }

    /// `nil`: no such entity.
    private func read(_ object: SimulatedEvent.Object, including batch: UInt64) -> GraphChange? {
        switch object {
        case .stream(let id):
            server.streams[id]?.volumeBeforeUnseen = nil
            server.streams[id]?.muteBeforeUnseen = nil
            guard var stream = server.streams[id]?.info else { return nil }
            stream.includesBatch = batch
            return .stream(stream)
        case .device(let id): return server.devices[id].map { .device($0) }
        case .defaults: return .defaults(output: server.defaultOutput, input: server.defaultInput)
        case .policies: return .foreignPolicies(server.foreignPolicies)
        }
    }

    /// The store only tells that something in it has changed.
    func storeChanged() {
        toClient.send { [self] in
            guard !isStopped, !isReadingStore else { return }
            isReadingStore = true
            loop.schedule(after: .milliseconds(2)) { [weak self] in self?.readStore() }
        }
    }

    private func readStore() {
        let written = written
        self.written = []
        toServer.send { [self] in
            let found = server.store
            // What a user has only just done is stored with the next event.
            server.unreadKeys = server.unreadKeys.filter { $0.value + .microseconds(60) > loop.now }
            toClient.send { [self] in
                isReadingStore = false
                let gone = written.union(entries.keys).filter { found[$0] == nil }.sorted()
                let changed = found.values.filter { entries[$0.key] != $0 || written.contains($0.key) }
                    .sorted { $0.key < $1.key }
                entries = found
                emit(gone.map { .restoreEntryRemoved($0) } + changed.map { .restoreEntry($0) })
            }
        }
    }

    // MARK: PipeWire: events that carry the state

    func pushed(_ object: SimulatedEvent.Object, _ change: SimulatedEvent.Change) {
        let isRemoval = change == .remove
        var state: GraphChange?
        switch (object, isRemoval) {
        case (.stream(let id), true): state = .streamRemoved(id)
        case (.stream(let id), false):
            guard var stream = server.streams[id]?.info else { return }
            stream.includesBatch = carriedOut
            if change == .new, server.announcesBeforeProps { announceEarly(stream) }
            state = .stream(stream)
        case (.device(let id), true): state = .deviceRemoved(id)
        default: state = read(object, including: carriedOut)
        }
        guard let state else { return }
        toClient.send { [self] in
            if case .streamRemoved(let id) = state {
                goneStreams.insert(id)
                known.remove(id)
                pausedNodes[id] = nil
            }
            if case .stream(let stream) = state { pauseAgain(stream) }
            emit([state])
        }
    }

    /// A node is there before its props are.
    private func announceEarly(_ stream: ServerStream) {
        var early = stream
        early.volume = []
        toClient.send { [self] in emit([.stream(early)]) }
    }

    /// A relink has started the node again.
    private func pauseAgain(_ stream: ServerStream) {
        guard let device = pausedNodes[stream.id] else { return }
        if stream.isCorked {
            pausedNodes[stream.id] = nil
        } else if device != stream.device {
            pausedNodes[stream.id] = .some(stream.device)
            toServer.send { [self] in _ = server.perform(.pause(stream.id), knownGone: false) }
        }
    }

    // MARK: Meters

    public func setMeters(_ streams: Set<StreamID>) {
        metered = streams
        meterTimer?.cancel()
        meterTimer = nil
        if !streams.isEmpty { scheduleMeters() }
    }

    private func scheduleMeters() {
        meterTimer = loop.schedule(after: .milliseconds(40)) { [weak self] in
            guard let self, !isStopped else { return }
            for id in metered.sorted() {
                guard let state = server.streams[id], !state.info.isCorked else { continue }
                if id.direction == .output {
                    emit(.level(id, peak: (state.heard.max() ?? 0) * state.loudness))
                } else if let source = state.info.device {
                    emit(.level(id, peak: server.level(of: source)))
                }
            }
            if !metered.isEmpty, !isStopped { scheduleMeters() }
        }
    }
}
