public import AudioPolicy
import CPulse
import CPulseLoader
import EventLoop
import Glibc
public import SystemEventLoop

/// A PulseAudio server, through libpulse on the session's loop: no thread and no loop of libpulse's own.
public final class PulseAudioServer: SoundServer {
    public let kind = ServerKind.pulseaudio
    public var onEvent: ((SoundServerEvent) -> Void)?
    /// The server has said that a playback stream is new, or (false) gone. Nothing has been asked or decided yet: for
    /// measuring how long that takes.
    public var onStreamNotice: ((_ isNew: Bool) -> Void)?

    private enum State {
        case idle
        case connecting
        /// What has arrived so far.
        case reading(ServerGraph)
        case running
        case closed
    }

    let loop: SystemEventLoop
    private let address: String?
    private var state = State.idle
    private var batch: UInt64 = 0
    /// Asked for and not made yet.
    private var wantedMeters: Set<StreamID>?
    private(set) var connection: Connection?

    /// What exists together with one connection. May outlive the server, until what was sent has been answered.
    struct Connection {
        let context: PulseContext
        let tracker: GraphTracker
        let store: RestoreStore
        let meters: PeakMeters
        let cork: CorkTrigger

        fileprivate func finish() {
            context.settle(limit: .milliseconds(250))
            context.close()
        }
    }

    /// `server`: PulseAudio's server string (`unix:/run/user/1000/pulse/native`); `nil`: where libpulse looks by itself.
    public init(loop: SystemEventLoop, server: String? = nil) {
        self.loop = loop
        address = server
    }

    /// Whoever drops it without `stop` loses what has not been sent.
    deinit {
        guard let connection else { return }
        connection.context.close()
        // What is being dispatched may still look at its parts.
        if connection.context.mainloop.dispatching > 0 { loop.defer { withExtendedLifetime(connection) {} } }
    }

    // MARK: Connecting

    public func start() {
        guard case .idle = state else { return }
        state = .connecting
        if let problem = cpulse_load() {
            return lose(ServerFailure(.other, "PulseAudio's library cannot be loaded: \(String(cString: problem))"))
        }
        do {
            let connection = try makeConnection()
            self.connection = connection
            connection.context.connect(to: address)
        } catch {
            lose(ServerFailure(.other, error.description))
        }
    }

    private func makeConnection() throws(SystemEventLoopError) -> Connection {
        let context = try PulseContext(loop: loop)
        let emit: ([GraphChange]) -> Void = { [weak self] in self?.changed($0) }
        let tracker = GraphTracker(context: context, batch: { [weak self] in self?.batch ?? 0 }, emit: emit)
        let store = RestoreStore(context: context, emit: emit)
        let meters = PeakMeters(
            context: context, place: { [unowned tracker] in tracker.meterPlace(of: $0) },
            opened: { [unowned tracker] in tracker.isOurs($0) },
            report: { [weak self] in self?.onEvent?(.level($0, peak: $1)) })
        let cork = CorkTrigger(
            context: context, store: store, tracker: tracker, report: { [weak self] in self?.fail($0, $1) })
        tracker.onRestoreModule = { [unowned store] in store.moduleChanged(isLoaded: $0) }
        context.onReady = { [weak self] in self?.read() }
        context.onLost = { [weak self] in self?.lose($0) }
        context.onSubscription = { [unowned tracker, weak self] event in
            if event.facility == PA_SUBSCRIPTION_EVENT_SINK_INPUT, event.change != .change {
                self?.onStreamNotice?(event.change == .new)
            }
            tracker.received(event)
        }
        context.onRestoreStore = { [unowned store] in store.changed() }
        return Connection(context: context, tracker: tracker, store: store, meters: meters, cork: cork)
    }

    /// Everything is asked for in one go, behind the subscription: nothing that happens meanwhile is missed.
    private func read() {
        guard let connection else { return }
        state = .reading(ServerGraph())
        connection.context.subscribe(subscribed)
        connection.store.subscribe()
        connection.store.read()
        connection.tracker.readAll(
            server: { [weak self] name in
                if name.contains("PipeWire") {
                    self?.lose(
                        ServerFailure(.wrongServer, "this is PipeWire answering for PulseAudio (\(name)); use pipewire")
                    )
                }
            },
            done: { [weak self] failure in
                if let failure { self?.lose(failure) } else { self?.connected() }
            })
    }

    private func connected() {
        guard case .reading(let graph) = state, let connection else { return }
        state = .running
        // Unless another connection holds the trigger.
        if !graph.streams.values.contains(where: { $0.properties["media.role"] == CorkTrigger.role }) {
            connection.cork.clear(connection.tracker.leftCorkModules)
        }
        let tracker = connection.tracker
        let info = ServerInfo(kind: .pulseaudio, version: tracker.version, instance: String(tracker.cookie))
        onEvent?(.connected(info, graph))
    }

    private func changed(_ changes: [GraphChange]) {
        switch state {
        case .reading(var graph):
            for change in changes { graph.apply(change) }
            state = .reading(graph)
        case .running:
            onEvent?(.changed(changes))
            tellMeters(changes)
        case .idle, .connecting, .closed: break
        }
    }

    private func tellMeters(_ changes: [GraphChange]) {
        for change in changes {
            switch change {
            case .stream(let stream): connection?.meters.seen(stream.id)
            case .streamRemoved(let id): connection?.meters.removed(id)
            default: break
            }
        }
    }

    // MARK: Ending

    /// Reported from the loop, never from within `start`.
    private func lose(_ failure: ServerFailure) {
        if case .closed = state { return }
        state = .closed
        connection?.meters.set([])
        connection?.context.close()
        loop.defer { [self] in
            let report = onEvent
            onEvent = nil
            report?(.lost(failure))
        }
    }

    public func stop() {
        onEvent = nil
        guard let connection, !isClosed else { return }
        state = .closed
        self.connection = nil
        connection.context.onSubscription = { _ in }
        connection.context.onRestoreStore = {}
        connection.meters.set([])
        connection.cork.remove()
        if connection.context.mainloop.dispatching == 0 {
            connection.finish()
        } else {
            // libpulse is in the middle of a packet: when it has returned.
            loop.defer { connection.finish() }
        }
    }

    private var isClosed: Bool {
        if case .closed = state { return true }
        return false
    }

    /// Later: what it takes to make one is time in which operations of the same turn would wait to be sent.
    public func setMeters(_ streams: Set<StreamID>) {
        let isDue = wantedMeters != nil
        wantedMeters = streams
        guard !isDue else { return }
        loop.defer { [weak self] in
            guard let self, let streams = wantedMeters else { return }
            wantedMeters = nil
            if !isClosed { connection?.meters.set(streams) }
        }
    }

    @discardableResult
    public func perform(_ operations: [ServerOperation]) -> UInt64 {
        batch += 1
        for operation in operations { perform(operation) }
        return batch
    }
}

private let subscribed = pa_subscription_mask_t(
    rawValue: [
        PA_SUBSCRIPTION_MASK_SINK_INPUT, PA_SUBSCRIPTION_MASK_SOURCE_OUTPUT, PA_SUBSCRIPTION_MASK_SINK,
        PA_SUBSCRIPTION_MASK_SOURCE, PA_SUBSCRIPTION_MASK_CARD, PA_SUBSCRIPTION_MASK_MODULE,
        PA_SUBSCRIPTION_MASK_SERVER, PA_SUBSCRIPTION_MASK_CLIENT,
    ].reduce(0) { $0 | $1.rawValue })
