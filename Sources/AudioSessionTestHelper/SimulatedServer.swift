public import AudioPolicy
public import EventLoop

/// A sound server of either kind that exists only in memory, with everything of it that Sordino has to cope with. Its
/// methods are what users, programs and hardware do; Sordino connects to it through a `SimulatedSoundServer`.
public final class SimulatedServer {
    public let kind: ServerKind
    public let loop: ManualEventLoop
    /// How long a message is under way, each time anew.
    public var latency: () -> Duration = { .microseconds(100) }
    /// In units of the cube root of amplitude; what is written is rounded to it.
    public var volumeStep = 1.0 / 65536
    /// What the server answers to an operation instead of doing it.
    public var refusal: (ServerOperation) -> ServerFailure? = { _ in nil }
    /// PipeWire: a stream's gain and node are its program's business, which gets to them only after this.
    public var operationDelay: () -> Duration = { .zero }
    /// PulseAudio: stores volumes (`module-stream-restore`).
    public var storesVolumes = true
    /// PipeWire: a new stream has no volume before its first props event.
    public var announcesBeforeProps = true

    public internal(set) var streams: [StreamID: SimulatedStream] = [:]
    public internal(set) var devices: [DeviceID: ServerDevice] = [:]
    public internal(set) var defaultOutput: DeviceID?
    public internal(set) var defaultInput: DeviceID?
    /// PulseAudio's store of volumes; on PipeWire the session manager's, by the same keys.
    public internal(set) var store: [String: RestoreEntry] = [:]
    public internal(set) var foreignPolicies: [ForeignPolicy] = []
    public internal(set) var instance = 1
    /// Every operation that has reached the server, with the time.
    public internal(set) var log: [(at: LoopInstant, operation: ServerOperation)] = []
    /// Operations on streams that the client knew to be gone.
    public internal(set) var strayOperations: [ServerOperation] = []
    /// Called when a write of Sordino's replaces a user's that no reader could have seen.
    public var onOvertaken: (StreamID, Overtaken) -> Void = { _, _ in }

    /// What was replaced: the stream's own, or what the store has got from it.
    public enum Overtaken { case volume, mute, stored }

    var sounds: [DeviceID: Double] = [:]
    var nextSerial: UInt64 = 1
    var freeObjectIDs: [Int] = []
    var connection: SimulatedSoundServer?
    /// Subscription events that have not been sent yet, oldest first.
    var queue: [SimulatedEvent] = []
    var isFlushing = false
    var corks = SimulatedCorkModule()
    /// Keys whose entries have got something from a user that no reader of the store can have seen, since when.
    var unreadKeys: [String: LoopInstant] = [:]

    public init(_ kind: ServerKind, loop: ManualEventLoop) {
        self.kind = kind
        self.loop = loop
    }

    var isPulseAudio: Bool { kind == .pulseaudio }

    // MARK: Devices

    @discardableResult
    public func addDevice(
        _ name: String, _ direction: AudioDirection = .output, properties: [String: String] = [:],
        linkGroup: String? = nil, monitorOf: DeviceID? = nil, isFlat: Bool = false, volume: Double = 1
    ) -> DeviceID {
        let id = DeviceID(direction, takeSerial())
        var device = ServerDevice(id: id, name: name, properties: properties, volume: [volume, volume])
        device.linkGroup = linkGroup
        device.monitorOf = monitorOf
        device.isFlat = isFlat
        devices[id] = device
        post(.device(id), .new)
        if direction == .output, defaultOutput == nil { setDefault(id) }
        if direction == .input, defaultInput == nil, monitorOf == nil { setDefault(id) }
        return id
    }

    /// Its streams go to the default device.
    public func removeDevice(_ id: DeviceID) {
        devices[id] = nil
        if defaultOutput == id {
            defaultOutput = devices.keys.filter { $0.direction == .output }.min { $0.serial < $1.serial }
        }
        if defaultInput == id {
            defaultInput = devices.keys.filter { $0.direction == .input }.min { $0.serial < $1.serial }
        }
        for stream in streams.keys.sorted() where streams[stream]?.info.device == id {
            relink(stream, to: id.direction == .output ? defaultOutput : defaultInput)
        }
        post(.device(id), .remove)
        post(.defaults, .change)
    }

    /// Streams without a wish of their own follow on PipeWire, and on PulseAudio since 14.
    public func setDefault(_ id: DeviceID) {
        let former = id.direction == .output ? defaultOutput : defaultInput
        if id.direction == .output { defaultOutput = id } else { defaultInput = id }
        post(.defaults, .change)
        for (stream, state) in streams.sorted(by: { $0.key < $1.key })
        where state.info.device == former && !state.savesDevice && state.info.isMovable
            && stream.direction == id.direction
        {
            relink(stream, to: id)
        }
    }

    /// A user's change of a device's volume; with flat volumes its streams follow.
    public func setDeviceVolume(_ id: DeviceID, _ volume: Double) {
        guard let old = devices[id]?.volume.max(), old > 0 else { return }
        devices[id]?.volume = quantised([volume, volume])
        if devices[id]?.isFlat == true {
            for (stream, state) in streams where state.info.device == id {
                streams[stream]?.info.volume = quantised(state.info.volume.map { $0 * volume / old })
                post(.stream(stream), .change)
            }
        }
        post(.device(id), .change)
    }

    /// A user's mute of a device.
    public func setDeviceMute(_ id: DeviceID, _ isMuted: Bool) {
        guard let old = devices[id]?.isMuted, old != isMuted else { return }
        devices[id]?.isMuted = isMuted
        post(.device(id), .change)
    }

    /// What comes into a microphone from now on, at full scale; silence until somebody says so.
    public func setSound(in source: DeviceID, _ peak: Double) { sounds[source] = peak }

    /// What who listens to a source hears.
    func level(of source: DeviceID) -> Double { devices[source]?.isMuted == false ? sounds[source] ?? 0 : 0 }

    // MARK: Streams

    /// A program starts to play or record. `volume` is what it sets itself; where that is `nil`, the stream has what the
    /// server has stored, else full volume.
    @discardableResult
    public func start(
        _ name: String, role: String? = nil, pid: Int32? = nil, direction: AudioDirection = .output,
        on device: DeviceID? = nil, volume: [Double]? = nil, channels: Int = 2, isMuted: Bool? = nil,
        isCorked: Bool = false, properties: [String: String] = [:],
        configure: (inout SimulatedStream) -> Void = { _ in }
    ) -> StreamID {
        let id = StreamID(direction, takeSerial())
        var all = properties
        all["application.name"] = name
        all["media.role"] = role
        if let pid {
            all["application.process.id"] = "\(pid)"
            all["application.process.binary"] = name
        }
        var state = SimulatedStream(info: ServerStream(id: id, properties: all, isCorked: isCorked))
        state.objectID = freeObjectIDs.popLast() ?? Int(id.serial)
        state.info.restoreKey = restoreKey(name, role, direction)
        let preferred = device ?? storedDevice(of: state)
        state.info.device = preferred ?? (direction == .output ? defaultOutput : defaultInput)
        if !isPulseAudio { state.info.preferred = preferred }
        state.info.volume = quantised(
            volume ?? storedVolume(of: state, channels) ?? [Double](repeating: 1, count: channels))
        state.info.isMuted = isMuted ?? state.info.restoreKey.flatMap { store[$0]?.isMuted } ?? false
        configure(&state)
        streams[id] = state
        post(.stream(id), .new)
        evaluateCorks()
        return id
    }

    /// The program ends its stream, or dies.
    public func stop(_ id: StreamID) {
        guard let gone = streams.removeValue(forKey: id) else { return }
        freeObjectIDs.append(gone.objectID)
        corks.applied.remove(id)
        post(.stream(id), .remove)
        evaluateCorks()
    }

    /// What somebody without Sordino would have left there, for a server that is compared with another.
    public func revert(_ id: StreamID, volume: [Double]? = nil, isMuted: Bool? = nil) {
        if let volume { streams[id]?.info.volume = volume }
        if let isMuted { streams[id]?.info.isMuted = isMuted }
    }

    /// The program pauses itself, or plays again.
    public func cork(_ id: StreamID, _ isCorked: Bool) {
        guard var state = streams[id], state.info.isCorked != isCorked || state.isPaused else { return }
        state.info.isCorked = isCorked
        state.isPaused = false
        state.isCorkedByRequest = false
        streams[id] = state
        post(.stream(id), .change)
        evaluateCorks()
    }

    /// What the program plays from now on, at full scale.
    public func setLoudness(_ id: StreamID, _ peak: Double) { streams[id]?.loudness = peak }

    public func setProperty(_ id: StreamID, _ name: String, _ value: String?) {
        streams[id]?.info.properties[name] = value
        post(.stream(id), .change)
    }

    /// A user's volume, in a mixer.
    public func setVolume(_ id: StreamID, _ volume: [Double]) {
        guard var state = streams[id] else { return }
        if isWatched, state.volumeBeforeUnseen == nil { state.volumeBeforeUnseen = state.info.volume }
        let volume = quantised(volume)
        let isNew = state.info.volume != volume
        state.info.volume = volume
        state.savesVolume = true
        noteUnread(state)
        endSoftGain(&state)
        streams[id] = state
        raiseFlatSink(for: state.info)
        if isPulseAudio {
            if isNew { post(.stream(id), .change) }
        } else {
            storeOnPipeWire(id)
            post(.stream(id), .change)
        }
    }

    /// A user's mute, in a mixer.
    public func setMute(_ id: StreamID, _ isMuted: Bool) {
        guard var state = streams[id] else { return }
        if isWatched, state.muteBeforeUnseen == nil { state.muteBeforeUnseen = state.info.isMuted }
        let isNew = state.info.isMuted != isMuted
        state.info.isMuted = isMuted
        state.savesMute = true
        noteUnread(state)
        endSoftGain(&state)
        streams[id] = state
        // The module will leave it alone, and whoever looks will take it for the module's.
        if isMuted, isNew, let role = state.info.properties["media.role"], corks.wanted.contains(role),
            !corks.applied.contains(id)
        {
            reportOvertaken(id, .mute)
        }
        if isPulseAudio {
            if isNew { post(.stream(id), .change) }
        } else {
            storeOnPipeWire(id)
            post(.stream(id), .change)
        }
    }

    /// A user moves a stream.
    public func move(_ id: StreamID, to device: DeviceID) {
        guard streams[id] != nil, devices[device] != nil else { return }
        streams[id]?.savesDevice = device != (id.direction == .output ? defaultOutput : defaultInput)
        storeDeviceOnPipeWire(id, device)
        if !isPulseAudio { streams[id]?.info.preferred = device }
        relink(id, to: device)
        if streams[id]?.savesDevice == false, let key = streams[id]?.info.restoreKey, store[key]?.device != nil {
            store[key]?.device = nil
            storeChanged()
        }
    }

    /// PipeWire: the session manager is gone, and with it the links of these streams.
    public func disconnect(_ ids: [StreamID]) {
        for id in ids { relink(id, to: nil) }
    }

    /// Somebody edits the store itself.
    public func setStored(_ entry: RestoreEntry) {
        store[entry.key] = entry
        storeChanged()
    }

    // MARK: The server's own life

    /// The server dies and is there again: streams and devices start over, the store stays.
    public func restart(devices build: (SimulatedServer) -> Void) {
        instance += 1
        streams = [:]
        devices = [:]
        sounds = [:]
        defaultOutput = nil
        defaultInput = nil
        queue = []
        corks = SimulatedCorkModule()
        nextSerial = 1
        freeObjectIDs = []
        let lost = connection
        connection = nil
        lost?.serverIsGone()
        build(self)
    }

    public func setForeignPolicies(_ policies: [ForeignPolicy]) {
        foreignPolicies = policies
        post(.policies, .change)
    }

    // MARK: Read-outs

    /// PulseAudio: streams that the module has muted and asked to pause.
    public var askedToPause: Set<StreamID> { corks.applied }

    public subscript(id: StreamID) -> ServerStream? { streams[id]?.info }

    /// The factor on what the program plays that reaches the device; 0 where nothing does.
    public func heard(_ id: StreamID) -> [Double] { streams[id]?.heard ?? [0] }

    /// What has reached the server.
    public func operations(since time: LoopInstant = LoopInstant(nanoseconds: 0)) -> [ServerOperation] {
        log.filter { $0.at >= time }.map(\.operation)
    }

    public func graph() -> ServerGraph {
        var graph = ServerGraph()
        graph.streams = streams.mapValues(\.info)
        graph.devices = devices
        graph.defaultOutput = defaultOutput
        graph.defaultInput = defaultInput
        if isPulseAudio { graph.restoreEntries = store }
        graph.foreignPolicies = foreignPolicies
        return graph
    }

    // MARK: Inside

    func takeSerial() -> UInt64 {
        defer { nextSerial += 1 }
        return nextSerial
    }

    /// As the server keeps it.
    public func quantised(_ volume: [Double]) -> [Double] {
        guard isPulseAudio || volumeStep > 1e-4 else { return volume }
        return volume.map { value in
            let steps = (cubeRoot(value) / volumeStep).rounded()
            let root = steps * volumeStep
            return root * root * root
        }
    }

    func relink(_ id: StreamID, to device: DeviceID?) {
        guard var state = streams[id], state.info.device != device else { return }
        state.info.device = device
        // A relink starts a paused node again, audibly.
        state.isPaused = false
        streams[id] = state
        // The module forgets whom it has muted and asked to pause.
        corks.applied.remove(id)
        post(.stream(id), .change)
        evaluateCorks()
    }

    /// A write of a user's volume or mute puts the user's values in place of a soft gain.
    private func endSoftGain(_ state: inout SimulatedStream) { state.info.softGain = nil }

    private func noteUnread(_ state: SimulatedStream) {
        if isWatched, let key = state.info.restoreKey { unreadKeys[key] = loop.now }
    }

    /// Once the event that is under way is over.
    func reportOvertaken(_ id: StreamID, _ what: Overtaken) {
        loop.schedule(after: .zero) { [weak self] in self?.onOvertaken(id, what) }
    }

    private var isWatched: Bool { isPulseAudio && connection != nil }

    /// Flat volumes: a stream above its sink raises the sink.
    func raiseFlatSink(for stream: ServerStream) {
        guard let device = stream.device, devices[device]?.isFlat == true, let level = stream.volume.max(),
            let sink = devices[device]?.volume.max(), level > sink
        else { return }
        devices[device]?.volume = [level, level]
        post(.device(device), .change)
    }
}
