import AudioPolicy
import CPipeWire
import EventLoop

/// A node that is a stream or a device: what the server has told of it, and what we have sent to it.
final class NodeObject {
    enum Shape: Equatable {
        case stream(AudioDirection)
        /// A duplex device is one in each direction.
        case device([AudioDirection])

        init?(mediaClass: String) {
            switch mediaClass {
            case "Stream/Output/Audio": self = .stream(.output)
            case "Stream/Input/Audio": self = .stream(.input)
            case "Audio/Sink": self = .device([.output])
            case "Audio/Source", "Audio/Source/Virtual": self = .device([.input])
            case "Audio/Duplex": self = .device([.output, .input])
            default: return nil
            }
        }
    }

    let id: UInt32
    let serial: UInt64
    let shape: Shape
    /// The global id of its client.
    let clientID: UInt32?
    private unowned let mirror: RegistryMirror
    private(set) var proxy: BoundProxy?
    private let registryProperties: [String: String]
    private var infoProperties: [String: String]?
    private(set) var state: pw_node_state?
    private(set) var error: String?
    private var hasPropsParam = true
    private var isEncoded = false
    var soft = SoftGainState()

    // What we have sent.
    /// Asked of a stream whose volumes are not known yet.
    var waiting: (operation: ServerOperation, gain: SoftGain, batch: UInt64)?
    var isPauseWanted = false
    /// Its program has stopped and started it, which undid our pause, and nobody has been told yet.
    var hasRestarted = false
    /// Links came or went since the node last ran: it is the session manager's doing that it runs again.
    private(set) var isRelinked = false
    /// Too young for a state that says anything: a node is suspended until its first link is ready.
    private(set) var isNewborn: Bool

    // What has been reported.
    var isQueued = false
    /// Its own properties over its client's, until either changes.
    var mergedProperties: [String: String]?
    var reportedStream: ServerStream?
    var wasReported = false
    var reportedDevices: [ServerDevice] = []

    init(
        id: UInt32, serial: UInt64, shape: Shape, properties: [String: String], isNewborn: Bool, mirror: RegistryMirror
    ) {
        self.id = id
        self.serial = serial
        self.shape = shape
        self.mirror = mirror
        self.isNewborn = isNewborn
        registryProperties = properties
        clientID = properties["client.id"].flatMap { UInt32($0) }
    }

    /// Starts listening to the bound object, and asks for what is needed of it.
    func attach(_ pointer: OpaquePointer) {
        // Unretained: `close` removes the hook, and the mirror calls it before it lets go of the node.
        let data = Unmanaged.passUnretained(self).toOpaque()
        proxy = BoundProxy(pointer) { cpw_node_add_listener($0, $1, nodeEvents.pointer, data) }
        var ids = [SPA_PARAM_Props.rawValue, SPA_PARAM_Format.rawValue]
        _ = cpw_node_subscribe_params(pointer, &ids, isStream ? 2 : 1)
    }

    func close() { proxy?.close() }

    var isStream: Bool {
        if case .stream = shape { return true }
        return false
    }

    var streamID: StreamID? {
        if case .stream(let direction) = shape { return StreamID(direction, serial) }
        return nil
    }

    var name: String { self["node.name"] ?? "" }
    var hasInfo: Bool { infoProperties != nil }
    var isRunning: Bool { state == PW_NODE_STATE_RUNNING }

    /// The node's own property, without its client's.
    subscript(key: String) -> String? { infoProperties?[key] ?? registryProperties[key] }

    var ownProperties: [String: String] {
        guard let infoProperties else { return registryProperties }
        return registryProperties.merging(infoProperties) { $1 }
    }

    /// Whether a volume has an effect. Unknown counts as yes.
    var hasVolume: Bool {
        guard hasPropsParam, !isEncoded else { return false }
        return !(isRunning && soft.last?.volumes.isEmpty == true)
    }

    var isCorked: Bool {
        if self["pulse.corked"] == "true" { return true }
        if isRunning { return false }
        if isNewborn, state != PW_NODE_STATE_IDLE { return false }
        // A stream that we hold paused, between two links, is as much playing as it was.
        return !(isPauseWanted && isRelinked)
    }

    // MARK: What changes

    func grewUp() {
        guard isNewborn else { return }
        isNewborn = false
        mirror.changed(self)
    }

    func linksChanged() {
        isRelinked = true
        if isPauseWanted, isRunning { sendPause() }
    }

    func sendPause() {
        if let proxy { _ = cpw_node_pause(proxy.pointer) }
    }

    fileprivate func update(_ info: UnsafePointer<pw_node_info>) {
        let mask = info.pointee.change_mask
        if mask & UInt64(PW_NODE_CHANGE_MASK_PROPS) != 0 {
            infoProperties = readProperties(info.pointee.props)
            mergedProperties = nil
        }
        if mask & UInt64(PW_NODE_CHANGE_MASK_PARAMS) != 0, let params = info.pointee.params {
            hasPropsParam = (0..<Int(info.pointee.n_params)).contains { params[$0].id == SPA_PARAM_Props.rawValue }
        }
        if state != info.pointee.state { stateChanged(to: info.pointee.state) }
        mirror.changed(self)
    }

    private func stateChanged(to new: pw_node_state) {
        state = new
        guard new == PW_NODE_STATE_RUNNING else { return }
        isNewborn = false
        if isPauseWanted {
            // Running again: with new links the session manager did it, and the pause holds. Without, the program did.
            if isRelinked {
                sendPause()
            } else {
                isPauseWanted = false
                hasRestarted = true
            }
        }
        isRelinked = false
    }

    fileprivate func update(param id: UInt32, _ pod: UnsafePointer<spa_pod>?) {
        guard let pod else { return }
        if id == SPA_PARAM_Format.rawValue {
            var type: UInt32 = 0
            var subtype: UInt32 = 0
            guard spa_format_parse(pod, &type, &subtype) >= 0 else { return }
            isEncoded = subtype != SPA_MEDIA_SUBTYPE_raw.rawValue
        } else if id == SPA_PARAM_Props.rawValue, let snapshot = NodeProps.read(pod) {
            mirror.heard(from: self)
            let mute = soft.observe(snapshot)
            if let mute, let proxy { _ = NodeProps.setMute(proxy.pointer, mute) }
            if !snapshot.volumes.isEmpty, waiting != nil { mirror.volumesKnown(self) }
        }
        mirror.changed(self)
    }
}

private let nodeEvents = EventTable(
    {
        var events = pw_node_events()
        events.version = UInt32(PW_VERSION_NODE_EVENTS)
        events.info = nodeInfoCallback
        events.param = nodeParamCallback
        return events
    }())

private func nodeInfoCallback(_ data: UnsafeMutableRawPointer?, _ info: UnsafePointer<pw_node_info>?) {
    if let info { object(data, as: NodeObject.self)?.update(info) }
}
private func nodeParamCallback(
    _ data: UnsafeMutableRawPointer?, _: Int32, _ id: UInt32, _: UInt32, _: UInt32, _ pod: UnsafePointer<spa_pod>?
) {
    object(data, as: NodeObject.self)?.update(param: id, pod)
}
