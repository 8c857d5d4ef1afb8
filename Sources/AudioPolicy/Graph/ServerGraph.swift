/// Everything that is known of one sound server, normalised over the two kinds of server. Volumes are linear amplitude,
/// one per channel in the server's order.
public struct ServerGraph: Equatable, Sendable {
    public var streams: [StreamID: ServerStream] = [:]
    public var devices: [DeviceID: ServerDevice] = [:]
    public var cards: [UInt64: ServerCard] = [:]
    public var clients: [UInt64: ServerClient] = [:]
    /// What streams without a wish of their own are connected to; `nil` while the server has none that exists.
    public var defaultOutput: DeviceID?
    public var defaultInput: DeviceID?
    /// PulseAudio's stored volumes (module-stream-restore), by their key.
    public var restoreEntries: [String: RestoreEntry] = [:]
    /// Policies of the server's own that duck or pause (`module-role-ducking`, `module-role-cork`, WirePlumber's role
    /// nodes): by name, with their arguments.
    public var foreignPolicies: [ForeignPolicy] = []

    public init() {}
}

/// One stream's name while the server runs: the sink-input or source-output index on PulseAudio, the object serial on
/// PipeWire. Neither is reused.
public struct StreamID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let direction: AudioDirection
    public let serial: UInt64

    public init(_ direction: AudioDirection, _ serial: UInt64) {
        self.direction = direction
        self.serial = serial
    }

    /// What `pactl` shows; unique with the direction.
    public var description: String { String(serial) }

    /// Of the number alone, which hardly ever is one of each direction: every stream is looked up many times in a turn.
    public func hash(into hasher: inout Hasher) { hasher.combine(serial) }

    public static func < (a: StreamID, b: StreamID) -> Bool {
        (a.serial, a.direction == .input ? 1 : 0) < (b.serial, b.direction == .input ? 1 : 0)
    }
}

/// A sink's or source's index on PulseAudio, its object serial on PipeWire.
public struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    public let direction: AudioDirection
    public let serial: UInt64

    public init(_ direction: AudioDirection, _ serial: UInt64) {
        self.direction = direction
        self.serial = serial
    }

    public var description: String { String(serial) }

    /// Of the number alone, as a stream's.
    public func hash(into hasher: inout Hasher) { hasher.combine(serial) }
}

public enum AudioDirection: String, Hashable, Sendable {
    case output, input
}

/// A sink input or source output; on PipeWire a `Stream/Output/Audio` or `Stream/Input/Audio` node.
public struct ServerStream: Equatable, Sendable, Identifiable {
    public let id: StreamID
    /// The owning client's index (PulseAudio) or global id (PipeWire); `nil` for streams of the server's own modules.
    public var client: UInt64?
    /// What it is connected to; `nil`: nothing (not linked yet, or a meter of one stream).
    public var device: DeviceID?
    /// The source file of what made it, on PulseAudio (`protocol-native.c`, `module-loopback.c`); empty on PipeWire.
    public var driver = ""
    /// The server's properties of the stream. Untrusted.
    public var properties: [String: String]
    /// What joins the two ends of one filter: the module index on PulseAudio (for streams without a client), the link
    /// group on PipeWire. A device with the same group feeds, or is fed by, this stream.
    public var linkGroup: String?
    /// What the mixers show. On PulseAudio this is what is heard; on PipeWire a soft gain may stand in its place.
    public var volume: [Double]
    public var isMuted: Bool
    /// PulseAudio: corked. PipeWire: the node is not running, for whatever reason.
    public var isCorked: Bool
    /// PipeWire: where it was last asked to go by somebody else than us: its user, or what is stored of them. `nil`:
    /// nowhere, so that its program decides, or the default.
    public var preferred: DeviceID?
    /// Whether a volume has any effect (compressed passthrough streams accept one and ignore it).
    public var hasVolume = true
    /// Whether it may be moved (PulseAudio's DONT_MOVE, PipeWire's node.dont-reconnect).
    public var isMovable = true
    /// PulseAudio's resampler (`peaks`: a meter); `nil` on PipeWire.
    public var resampleMethod: String?
    /// PipeWire: the soft gain that stands in place of `volume` and `isMuted`; `nil` where none is in force.
    public var softGain: SoftGain?
    /// PipeWire: the scalar `volume`, a gain that no mixer shows. Sordino never writes it but to clear it when asked.
    public var hiddenGain: Double = 1
    /// The key under which the server stores this stream's volume and mute.
    public var restoreKey: String?
    /// The batch of operations (`SoundServer.perform`'s result) that this state certainly includes. 0: none.
    public var includesBatch: UInt64 = 0

    public init(
        id: StreamID, properties: [String: String] = [:], volume: [Double] = [1, 1], isMuted: Bool = false,
        isCorked: Bool = false
    ) {
        self.id = id
        self.properties = properties
        self.volume = volume
        self.isMuted = isMuted
        self.isCorked = isCorked
    }
}

/// PipeWire's soft volumes and soft mute.
public struct SoftGain: Hashable, Sendable {
    public var volume: [Double]
    public var isMuted: Bool

    public init(volume: [Double], isMuted: Bool) {
        self.volume = volume
        self.isMuted = isMuted
    }
}

/// A sink or source.
public struct ServerDevice: Equatable, Sendable, Identifiable {
    public let id: DeviceID
    public var name: String
    public var description: String
    public var driver = ""
    public var properties: [String: String]
    /// Joins a filter's device to its stream (see `ServerStream.linkGroup`).
    public var linkGroup: String?
    /// PulseAudio: the sink whose sound this source records.
    public var monitorOf: DeviceID?
    /// The card that it belongs to.
    public var card: UInt64?
    public var activePort: String?
    public var volume: [Double]
    public var isMuted: Bool
    /// PulseAudio: stream volumes are absolute (flat volumes).
    public var isFlat = false

    public init(
        id: DeviceID, name: String, description: String = "", properties: [String: String] = [:],
        volume: [Double] = [1, 1], isMuted: Bool = false
    ) {
        self.id = id
        self.name = name
        self.description = description
        self.properties = properties
        self.volume = volume
        self.isMuted = isMuted
    }
}

/// A card (PulseAudio) or device object (PipeWire).
public struct ServerCard: Equatable, Sendable, Identifiable {
    public struct Profile: Equatable, Sendable {
        public var name: String
        public var description: String
        public var priority: Int
        public var isAvailable: Bool

        public init(name: String, description: String, priority: Int, isAvailable: Bool) {
            self.name = name
            self.description = description
            self.priority = priority
            self.isAvailable = isAvailable
        }
    }

    public struct Port: Equatable, Sendable {
        public var name: String
        public var description: String
        public var direction: AudioDirection
        /// PulseAudio's `device.port.type` / PipeWire's `port.type`, as text.
        public var type: String
        /// `nil`: unknown.
        public var isAvailable: Bool?

        public init(name: String, description: String, direction: AudioDirection, type: String, isAvailable: Bool?) {
            self.name = name
            self.description = description
            self.direction = direction
            self.type = type
            self.isAvailable = isAvailable
        }
    }

    public let id: UInt64
    public var name: String
    public var properties: [String: String]
    public var profiles: [Profile] = []
    public var activeProfile: String?
    public var ports: [Port] = []

    public init(id: UInt64, name: String, properties: [String: String] = [:]) {
        self.id = id
        self.name = name
        self.properties = properties
    }
}

/// A connection to the server.
public struct ServerClient: Equatable, Sendable, Identifiable {
    public let id: UInt64
    /// The server's properties of the client. Untrusted, but for the ones the server itself sets.
    public var properties: [String: String]

    public init(id: UInt64, properties: [String: String] = [:]) {
        self.id = id
        self.properties = properties
    }
}

/// One entry of PulseAudio's volume store, complete, so that it can be written back whole.
public struct RestoreEntry: Hashable, Sendable {
    /// `sink-input-by-media-role:music` and the like.
    public let key: String
    /// Linear amplitude per channel; empty where the entry has no volume.
    public var volume: [Double]
    /// PulseAudio's text form of the channel positions (`front-left,front-right`).
    public var channelMap: String
    public var isMuted: Bool
    /// The preferred device's name.
    public var device: String?

    public init(key: String, volume: [Double], channelMap: String, isMuted: Bool, device: String?) {
        self.key = key
        self.volume = volume
        self.channelMap = channelMap
        self.isMuted = isMuted
        self.device = device
    }
}

/// A policy of the sound server's own that acts on streams beside Sordino.
public struct ForeignPolicy: Hashable, Sendable {
    public var name: String
    public var arguments: String
    /// The module's index, where it can be unloaded.
    public var module: UInt64?

    public init(name: String, arguments: String, module: UInt64? = nil) {
        self.name = name
        self.arguments = arguments
        self.module = module
    }
}
