public import AudioPolicy
import CPipeWire
import EventLoop
import Glibc
public import SystemEventLoop

/// A connection to one PipeWire server: the graph upwards, operations downwards. It decides nothing.
///
/// Everything happens on the loop that it was made with; libpipewire's own loop is one source of it.
public final class PipeWireServer: SoundServer {
    private enum State {
        case idle
        /// The first listing is under way: the number of the answer that is waited for, and whether a second one follows.
        case listing(sequence: Int32, isLast: Bool)
        /// Everything is there and not reported yet.
        case listed
        case connected
        case stopped
    }

    public let kind = ServerKind.pipewire
    public var onEvent: ((SoundServerEvent) -> Void)?
    /// The server has said that a node is new, or (false) gone. Nothing has been bound or decided yet: for measuring
    /// how long that takes.
    public var onStreamNotice: ((_ isNew: Bool) -> Void)?

    let loop: SystemEventLoop
    private let remote: String?
    private var state = State.idle
    private var version = ""
    /// The server's cookie: another one after each start of it.
    private var cookie: UInt32 = 0
    private(set) var connection: PipeWireConnection?
    private(set) var mirror: RegistryMirror?
    private var failure: ServerFailure?
    var outbox = Outbox()
    var meters: [StreamID: StreamMeter] = [:]
    /// Asked for, made or not.
    var wantedMeters: Set<StreamID> = []
    var isSettlingMeters = false
    /// Meters whose stream is gone, or that were linked to something else: closed outside of libpipewire.
    var doomedMeters: Set<StreamID> = []
    /// Reported after the changes that were found in the same turn.
    private var outgoing: [SoundServerEvent] = []
    private var isReportDue = false
    var isWatchingAnswers = false
    /// When to ask programs again that have not answered.
    var retries: [String: Duration] = [:]
    /// What is taken up again when a connection that was blocked has been replaced.
    var resumption: Resumption?
    private(set) var isTurning = false

    /// `remote`: the socket's name below the runtime directory, or its absolute path; `nil`: as the environment has it
    /// (`PIPEWIRE_REMOTE`, else `pipewire-0`).
    public init(loop: SystemEventLoop, remote: String? = nil) {
        self.loop = loop
        self.remote = remote
    }

    deinit { tearDown() }

    public func start() {
        if case .idle = state { connect() }
    }

    private func connect() {
        do {
            let connection = try PipeWireConnection(remote: remote, delegate: self)
            self.connection = connection
            mirror = RegistryMirror(services: services(of: connection))
            state = .listing(sequence: connection.sync(), isLast: false)
            try connection.attach(to: loop)
        } catch let failure as ServerFailure {
            self.failure = failure
        } catch {
            failure = ServerFailure(.other, "\(error)")
        }
        if failure != nil { loop.defer { [self] in loseConnection() } }
    }

    public func stop() {
        onEvent = nil
        state = .stopped
        // Sends what is still in its buffer.
        _ = connection?.turn()
        tearDown()
    }

    private func tearDown() {
        for meter in meters.values { meter.close() }
        meters = [:]
        mirror?.close()
        mirror = nil
        connection?.close()
        connection = nil
    }

    /// Replaces the connection by a new one, which will report the differences.
    func reconnect(_ resumption: Resumption) {
        self.resumption = resumption
        doomedMeters = []
        tearDown()
        connect()
    }

    private func services(of connection: PipeWireConnection) -> RegistryMirror.Services {
        // Unowned: the mirror, which alone holds these, is closed and dropped together with the connection.
        RegistryMirror.Services(
            bind: { [unowned connection] in connection.bind($0, type: $1, version: $2) },
            ownClient: { [unowned connection] in connection.ownClient },
            volumesKnown: { [unowned self] in self.flushWaiting($0) },
            nodeAppeared: { [unowned self] in self.watchBirth(of: $0) },
            streamRemoved: { [unowned self] in self.doomedMeters.insert($0) },
            ownNodeLinked: { [unowned self] in self.checkMeter(node: $0, peer: $1) })
    }

    // MARK: Turning

    /// A turn of libpipewire's loop reports what it found and is followed by another, which also sends what the reports
    /// have caused.
    func runTurns() {
        isTurning = true
        while let connection, connection.turn() {
            guard reportTurn() else { break }
        }
        isTurning = false
        // Once what others wait for has been sent: it takes milliseconds.
        closeDoomedMeters()
        if !outgoing.isEmpty { scheduleReport() }
    }

    /// Returns false where the connection is gone after it.
    private func reportTurn() -> Bool {
        if failure != nil {
            loseConnection()
            return false
        }
        switch state {
        case .connected: reportChanges()
        case .listed: reportConnection()
        case .listing: break
        case .idle, .stopped: return false
        }
        return connection != nil
    }

    func reportChanges() {
        guard case .connected = state, let mirror else { return }
        let changes = mirror.takeChanges()
        if !changes.isEmpty {
            onEvent?(.changed(changes))
            followMeters(changes)
        }
        let events = outgoing
        outgoing = []
        for event in events { onEvent?(event) }
        self.mirror?.bindNew()
    }

    /// Reports once the caller has returned, and after the changes of the turn that is under way.
    func report(_ event: SoundServerEvent) {
        outgoing.append(event)
        if !isTurning { scheduleReport() }
    }

    private func scheduleReport() {
        guard !isReportDue else { return }
        isReportDue = true
        loop.defer { [weak self] in
            self?.isReportDue = false
            self?.reportChanges()
        }
    }

    private func reportConnection() {
        guard let mirror else { return }
        let resumption = self.resumption
        self.resumption = nil
        if let resumption { prepare(mirror, for: resumption) }
        var graph = ServerGraph()
        for change in mirror.takeChanges() { graph.apply(change) }
        mirror.isListing = false
        state = .connected
        if let resumption { return resume(resumption, with: graph) }
        onEvent?(.connected(ServerInfo(kind: .pipewire, version: version, instance: String(cookie)), graph))
    }

    private func loseConnection() {
        guard let failure, !isStopped else { return }
        let handler = onEvent
        stop()
        handler?(.lost(failure))
    }

    var isConnected: Bool {
        if case .connected = state { return true }
        return false
    }

    private var isStopped: Bool {
        if case .stopped = state { return true }
        return false
    }

    /// A stream takes a few cycles from its birth to its first sound, and until then it is not known from one that was
    /// born corked. It has the benefit of the doubt for less than the attack of an observed claim, so that a voice
    /// that is only prepared turns nothing down.
    private static let infancy = Duration.milliseconds(80)

    private func watchBirth(of node: NodeObject) {
        guard let mirror, !mirror.isListing else { return }
        loop.schedule(after: Self.infancy) { [weak self, weak node] in
            guard let self, let node, node.proxy != nil else { return }
            node.grewUp()
            self.reportChanges()
        }
    }
}

extension PipeWireServer: PipeWireConnectionDelegate {
    func connectionIsReady() {
        // Holds on to itself: what it reports may let its owner go.
        withExtendedLifetime(self) { runTurns() }
    }

    func coreInfo(version: String, cookie: UInt32) {
        self.version = version
        self.cookie = cookie
    }

    func coreDone(sequence: Int32) {
        if case .listing(let expected, let isLast) = state {
            guard sequence == expected else { return }
            // The first answer ends the list of objects, the second what each of them, bound meanwhile, has to say.
            if isLast {
                state = .listed
            } else if let connection {
                state = .listing(sequence: connection.sync(), isLast: true)
            }
        } else {
            settle(sequence: sequence)
        }
    }

    func coreError(id: UInt32, sequence: Int32, code: Int32, message: String) {
        if id == 0, [EPIPE, ECONNRESET, EACCES, EPERM, EPROTO].contains(code) {
            failure = failure ?? ServerFailure(connectionError: code, message: message)
        } else {
            fail(sequence: sequence, code: code, message: message)
        }
    }

    func globalAdded(id: UInt32, type: UnsafePointer<CChar>, properties: UnsafePointer<spa_dict>?) {
        if let onStreamNotice, strcmp(type, cpw_type_node()) == 0 { onStreamNotice(true) }
        mirror?.added(id: id, type: type, properties: properties)
    }

    func globalRemoved(id: UInt32) {
        if let onStreamNotice, mirror?.holdsNode(id) == true { onStreamNotice(false) }
        mirror?.removed(id: id)
    }
}
