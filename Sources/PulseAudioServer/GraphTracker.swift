import AudioPolicy
import CPulse
import EventLoop
import SystemEventLoop

/// Follows the server's objects: everything once, then one query for each object that something happened to.
///
/// Replies and events come on one connection in the order in which the server made them. So an event that arrives while
/// a query for its object is under way is older than the reply, and needs no query of its own.
final class GraphTracker {
    private struct Object: Hashable {
        let facility: UInt32
        let index: UInt32
    }

    private let context: PulseContext
    /// The number of the last batch performed.
    private let batch: () -> UInt64
    private let emit: ([GraphChange]) -> Void
    /// The server's store appeared or went.
    var onRestoreModule: (_ isLoaded: Bool) -> Void = { _ in }

    private var asked: Set<Object> = []
    /// Changes of devices and cards that nobody has asked about yet.
    private var settling: Set<Object> = []
    /// Streams that are there, with what each is connected to.
    private var streams: [StreamID: DeviceID?] = [:]
    /// Our own meters and triggers, which are no part of the graph.
    private var ownStreams: Set<StreamID> = []
    private var deviceNames: [DeviceID: String] = [:]
    private var monitors: [DeviceID: (name: String, isHardware: Bool)] = [:]
    private var cards: Set<UInt32> = []
    private var clients: Set<UInt32> = []
    private var policies: [UInt32: ForeignPolicy] = [:]
    private var restoreModules: Set<UInt32> = []
    /// What the server calls its defaults; a device of that name need not exist.
    private var defaultNames: (output: String?, input: String?)
    private var defaults: (output: DeviceID?, input: DeviceID?)
    private(set) var version = ""
    /// The server's cookie: another one after each start of it.
    private(set) var cookie: UInt32 = 0
    /// Our own cork module, from an earlier connection that could not take it away.
    private(set) var leftCorkModules: [UInt32] = []

    /// Devices report each start and end of playing; their queries wait this long, out of the way of streams.
    static let settlingTime = Duration.milliseconds(10)

    init(context: PulseContext, batch: @escaping () -> UInt64, emit: @escaping ([GraphChange]) -> Void) {
        self.context = context
        self.batch = batch
        self.emit = emit
    }

    // MARK: The start

    /// Asks for everything at once. `server` is told first, with the server's name; `done` when all has arrived.
    func readAll(server: @escaping (String) -> Void, done: @escaping (ServerFailure?) -> Void) {
        context.serverInfo(
            { [unowned self] info in
                version = info.pointee.server_version.map { String(cString: $0) } ?? ""
                cookie = info.pointee.cookie
                readDefaults(info.pointee)
                server(info.pointee.server_name.map { String(cString: $0) } ?? "")
            },
            end: { failure in
                if let failure { done(failure) }
            })
        readModules()
        readClients()
        readCards()
        readSinks()
        readSources()
        readSourceOutputs()
        readSinkInputs { done(nil) }
    }

    /// To be told before the server tells of it: its event comes behind the reply that made it.
    func isOurs(_ sourceOutput: UInt32) { ownStreams.insert(StreamID(.input, UInt64(sourceOutput))) }

    /// Where the level of a stream is to be had: a source output cannot be listened to, but its source can.
    func meterPlace(of id: StreamID) -> RecordStream.Place? {
        guard let index = UInt32(exactly: id.serial) else { return nil }
        if id.direction == .output { return .sinkInput(index) }
        guard case .some(.some(let device)) = streams[id] else { return nil }
        return deviceNames[device].map { .source($0) }
    }

    /// A monitor to hold a silent stream on: one without hardware behind it, if there is one.
    var quietMonitor: String? {
        let choice = monitors.min { (a, b) in
            (a.value.isHardware ? 1 : 0, a.key.serial) < (b.value.isHardware ? 1 : 0, b.key.serial)
        }
        return choice?.value.name
    }

    // MARK: Events

    func received(_ event: PulseEvent) {
        let object = Object(facility: event.facility.rawValue, index: event.index)
        switch event.facility {
        case PA_SUBSCRIPTION_EVENT_SINK_INPUT: streamEvent(event, object, .output)
        case PA_SUBSCRIPTION_EVENT_SOURCE_OUTPUT: streamEvent(event, object, .input)
        case PA_SUBSCRIPTION_EVENT_SINK: deviceEvent(event, object, .output)
        case PA_SUBSCRIPTION_EVENT_SOURCE: deviceEvent(event, object, .input)
        case PA_SUBSCRIPTION_EVENT_CARD: cardEvent(event, object)
        case PA_SUBSCRIPTION_EVENT_CLIENT: clientEvent(event, object)
        case PA_SUBSCRIPTION_EVENT_MODULE: moduleEvent(event)
        case PA_SUBSCRIPTION_EVENT_SERVER: settle(object)
        default: break
        }
    }

    private func streamEvent(_ event: PulseEvent, _ object: Object, _ direction: AudioDirection) {
        let id = StreamID(direction, UInt64(event.index))
        if event.change == .remove {
            // A removal overtakes what was queued about the object: one that was never seen may be reported gone.
            ownStreams.remove(id)
            if streams.removeValue(forKey: id) != nil { emit([.streamRemoved(id)]) }
        } else if !ownStreams.contains(id) {
            ask(object)
        }
    }

    private func deviceEvent(_ event: PulseEvent, _ object: Object, _ direction: AudioDirection) {
        let id = DeviceID(direction, UInt64(event.index))
        switch event.change {
        case .remove:
            settling.remove(object)
            monitors[id] = nil
            guard deviceNames.removeValue(forKey: id) != nil else { return }
            emit([.deviceRemoved(id)] + defaultsIfChanged())
        // Streams may be connected to it any moment.
        case .new: ask(object)
        case .change: settle(object)
        }
    }

    private func cardEvent(_ event: PulseEvent, _ object: Object) {
        switch event.change {
        case .remove:
            settling.remove(object)
            if cards.remove(event.index) != nil { emit([.cardRemoved(UInt64(event.index))]) }
        case .new: ask(object)
        case .change: settle(object)
        }
    }

    /// Asked for once, a moment after it has said who it is, which is its first change: so that what can be found out of
    /// its process mostly is before it has a stream that waits for it, and those that only visit cost nothing (field case
    /// PRF-01).
    private func clientEvent(_ event: PulseEvent, _ object: Object) {
        switch event.change {
        case .new: break
        case .change: if !clients.contains(event.index), event.index != context.clientIndex { settle(object) }
        case .remove:
            settling.remove(object)
            if clients.remove(event.index) != nil { emit([.clientRemoved(UInt64(event.index))]) }
        }
    }

    private func moduleEvent(_ event: PulseEvent) {
        switch event.change {
        case .new: readModules(event.index)
        case .change: break
        case .remove:
            if restoreModules.remove(event.index) != nil { onRestoreModule(false) }
            if policies.removeValue(forKey: event.index) != nil { emit([policyList]) }
        }
    }

    // MARK: Queries

    private func settle(_ object: Object) {
        if settling.isEmpty {
            context.mainloop.loop.schedule(after: Self.settlingTime) { [weak self] in self?.askSettled() }
        }
        settling.insert(object)
    }

    private func askSettled() {
        let objects = settling
        settling = []
        for object in objects { ask(object) }
    }

    private func ask(_ object: Object) {
        guard asked.insert(object).inserted else { return }
        let answered: () -> Void = { [unowned self] in asked.remove(object) }
        switch pa_subscription_event_type_t(rawValue: object.facility) {
        case PA_SUBSCRIPTION_EVENT_SINK_INPUT: readSinkInputs(object.index, answered)
        case PA_SUBSCRIPTION_EVENT_SOURCE_OUTPUT: readSourceOutputs(object.index, answered)
        case PA_SUBSCRIPTION_EVENT_SINK: readSinks(object.index, answered)
        case PA_SUBSCRIPTION_EVENT_SOURCE: readSources(object.index, answered)
        case PA_SUBSCRIPTION_EVENT_CARD: readCards(object.index, answered)
        case PA_SUBSCRIPTION_EVENT_CLIENT: readClients(object.index, answered)
        default: readServer(answered)
        }
    }

    /// One query, for one object or (`nil`) for all: what its reply holds goes up together. That an object is gone
    /// meanwhile is a normal reply.
    private func collect<Info>(
        _ index: UInt32?,
        _ query: (UInt32?, @escaping (UnsafePointer<Info>) -> Void, @escaping (ServerFailure?) -> Void) -> Void,
        _ answered: @escaping () -> Void, _ change: @escaping (Info) -> GraphChange?
    ) {
        var changes: [GraphChange] = []
        query(
            index,
            { info in if let new = change(info.pointee) { changes.append(new) } },
            { [unowned self] _ in
                if !changes.isEmpty { emit(changes + defaultsIfChanged()) }
                answered()
            })
    }

    private func readSinkInputs(_ index: UInt32? = nil, _ answered: @escaping () -> Void) {
        let included = batch()
        collect(index, context.sinkInputs, answered) { [unowned self] (info: pa_sink_input_info) in
            stream(ServerStream(info, includesBatch: included))
        }
    }

    private func readSourceOutputs(_ index: UInt32? = nil, _ answered: @escaping () -> Void = {}) {
        let included = batch()
        collect(index, context.sourceOutputs, answered) { [unowned self] (info: pa_source_output_info) in
            stream(ServerStream(info, includesBatch: included))
        }
    }

    private func stream(_ stream: ServerStream) -> GraphChange? {
        guard stream.client != UInt64(context.clientIndex) else { return nil }
        streams.updateValue(stream.device, forKey: stream.id)
        return .stream(stream)
    }

    private func readSinks(_ index: UInt32? = nil, _ answered: @escaping () -> Void = {}) {
        collect(index, context.sinks, answered) { [unowned self] (info: pa_sink_info) in device(ServerDevice(info)) }
    }

    private func readSources(_ index: UInt32? = nil, _ answered: @escaping () -> Void = {}) {
        collect(index, context.sources, answered) { [unowned self] (info: pa_source_info) in
            let source = ServerDevice(info)
            if source.monitorOf != nil {
                monitors[source.id] = (source.name, isHardware: source.card != nil)
            }
            return device(source)
        }
    }

    private func device(_ device: ServerDevice) -> GraphChange {
        deviceNames[device.id] = device.name
        return .device(device)
    }

    private func readCards(_ index: UInt32? = nil, _ answered: @escaping () -> Void = {}) {
        collect(index, context.cards, answered) { [unowned self] (info: pa_card_info) in
            cards.insert(info.index)
            return .card(ServerCard(info))
        }
    }

    private func readClients(_ index: UInt32? = nil, _ answered: @escaping () -> Void = {}) {
        collect(index, context.clients, answered) { [unowned self] (info: pa_client_info) in
            guard info.index != context.clientIndex else { return nil }
            clients.insert(info.index)
            return .client(ServerClient(info))
        }
    }

    private func readServer(_ answered: @escaping () -> Void) {
        context.serverInfo(
            { [unowned self] info in
                readDefaults(info.pointee)
            },
            end: { [unowned self] _ in
                answered()
                let changes = defaultsIfChanged()
                if !changes.isEmpty { emit(changes) }
            })
    }

    // MARK: Defaults

    private func readDefaults(_ info: pa_server_info) {
        defaultNames.output = info.default_sink_name.map { String(cString: $0) }
        defaultNames.input = info.default_source_name.map { String(cString: $0) }
    }

    private func defaultsIfChanged() -> [GraphChange] {
        let now = (output: device(.output, defaultNames.output), input: device(.input, defaultNames.input))
        guard now != defaults else { return [] }
        defaults = now
        return [.defaults(output: now.output, input: now.input)]
    }

    private func device(_ direction: AudioDirection, _ name: String?) -> DeviceID? {
        guard let name else { return nil }
        return deviceNames.first { $0.key.direction == direction && $0.value == name }?.key
    }

    // MARK: Modules

    private var policyList: GraphChange {
        .foreignPolicies(policies.values.sorted { ($0.module ?? 0) < ($1.module ?? 0) })
    }

    private func readModules(_ index: UInt32? = nil) {
        var found = false
        let isNew = index != nil
        context.modules(
            index,
            { [unowned self] info in
                let name = info.pointee.name.map { String(cString: $0) } ?? ""
                let arguments = info.pointee.argument.map { String(cString: $0) } ?? ""
                let index = info.pointee.index
                if name == "module-stream-restore" {
                    restoreModules.insert(index)
                    if isNew { onRestoreModule(true) }
                } else if CorkTrigger.isOurs(arguments) {
                    if !isNew { leftCorkModules.append(index) }
                } else if rolePolicies.contains(name) {
                    policies[index] = ForeignPolicy(name: name, arguments: arguments, module: UInt64(index))
                    found = true
                }
            },
            end: { [unowned self] _ in
                if found { emit([policyList]) }
            })
    }
}

private let rolePolicies: Set = ["module-role-ducking", "module-role-cork"]
