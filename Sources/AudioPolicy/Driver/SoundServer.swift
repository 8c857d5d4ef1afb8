public enum ServerKind: String, Hashable, Sendable {
    case pulseaudio, pipewire

    /// The name that people know it by.
    public var shownName: String {
        switch self {
        case .pulseaudio: "PulseAudio"
        case .pipewire: "PipeWire"
        }
    }
}

public struct ServerInfo: Equatable, Sendable {
    public var kind: ServerKind
    /// `16.1`, `0.3.65`.
    public var version: String
    /// Tells this run of the server from any other (its cookie), since indices start over when it does.
    public var instance: String
    /// How coarsely it keeps volumes, in units of the cube root of amplitude (the scale of both servers): what is
    /// written reads back within one step.
    public var volumeStep: Double

    public init(kind: ServerKind, version: String, instance: String = "", volumeStep: Double = 1.0 / 65536) {
        self.kind = kind
        self.version = version
        self.instance = instance
        self.volumeStep = volumeStep
    }
}

/// A connection to one sound server: the graph upwards, operations downwards. It decides nothing.
///
/// Confined to the loop that it was made with. It connects when `start` is called and never reconnects: after `lost`
/// its owner drops it and makes another when a server is there again.
public protocol SoundServer: AnyObject {
    var kind: ServerKind { get }
    /// Where its events go. Set once, before `start`.
    var onEvent: ((SoundServerEvent) -> Void)? { get set }
    func start()
    /// Closes the connection without a further event. Operations already performed have been handed to the server.
    func stop()
    /// Sends the operations in their order, without waiting. Returns the batch's number, which
    /// `ServerStream.includesBatch` refers to: 1, 2, 3, …
    @discardableResult
    func perform(_ operations: [ServerOperation]) -> UInt64
    /// Meters exactly these streams from now on, at 25 Hz, without waking a device or showing up as a recorder: what a
    /// playback stream plays, and the source that a capture stream listens to, wherever it is moved.
    func setMeters(_ streams: Set<StreamID>)
}

public enum SoundServerEvent: Sendable {
    /// The connection is complete; everything that is there. Comes once, first.
    case connected(ServerInfo, ServerGraph)
    /// What has changed since, in the server's order; all that one wake-up brought.
    case changed([GraphChange])
    /// The greatest absolute sample of a metered stream since the last report, linear, after the volume of a playback
    /// stream, or of a capture stream's source, was applied.
    case level(StreamID, peak: Double)
    /// An operation that the server turned down. An object that is gone is a normal result.
    case failed(ServerOperation, ServerFailure)
    /// The connection could not be made, or is gone. Comes once, last.
    case lost(ServerFailure)
}

public struct ServerFailure: Error, Hashable, Sendable {
    public enum Code: Hashable, Sendable {
        /// No server there.
        case unavailable
        /// The server is there and does not let us in, or forbids this operation.
        case accessDenied
        /// The object is gone.
        case noEntity
        /// The server is not the one asked for (PulseAudio asked for, pipewire-pulse answers).
        case wrongServer
        case other
    }

    public var code: Code
    /// The server's own words, for people.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// One change on the sound server.
public enum ServerOperation: Hashable, Sendable {
    /// PulseAudio: the stream's volume, visible and stored by the server.
    case setVolume(StreamID, [Double])
    /// PulseAudio: the stream's mute, visible and stored by the server.
    case setMute(StreamID, Bool)
    /// PipeWire: puts soft volumes and soft mute, always both, in place of the user's.
    case setSoftGain(StreamID, SoftGain)
    /// PipeWire: gives the stream back to its user's own volume and mute.
    case clearSoftGain(StreamID)
    /// PipeWire: the node is told to pause / to start.
    case pause(StreamID)
    case resume(StreamID)
    /// PulseAudio: cork requests to all streams of these roles, as long as the set names them; empty takes the trigger
    /// away.
    case setCorkedRoles(Set<String>)
    /// Connects the stream to a device; `nil`: to the default one, clearing what the server stored.
    case move(StreamID, DeviceID?)
    /// PipeWire: connects the stream to a device for a while. Its session manager stores `back` as the stream's device;
    /// `nil`: none.
    case route(StreamID, DeviceID, back: DeviceID?)
    /// PulseAudio: replaces one entry of the volume store and touches no stream. What the store has then is reported
    /// as a change in any case.
    case writeRestoreEntry(RestoreEntry)
    case deleteRestoreEntry(key: String)
    /// PipeWire: the scalar `volume`, only for `sordino restore --hidden-gain`.
    case setHiddenGain(StreamID, Double)
    /// PulseAudio: loads / unloads a policy module of the user's (take-over of role modules).
    case unloadPolicy(ForeignPolicy)
    case loadPolicy(ForeignPolicy)

    /// The stream that it is about; `nil` where it is about none.
    public var stream: StreamID? {
        switch self {
        case .setVolume(let id, _), .setMute(let id, _), .setSoftGain(let id, _), .clearSoftGain(let id),
            .pause(let id),
            .resume(let id), .move(let id, _), .route(let id, _, _), .setHiddenGain(let id, _):
            id
        case .setCorkedRoles, .writeRestoreEntry, .deleteRestoreEntry, .unloadPolicy, .loadPolicy: nil
        }
    }
}
