public import AudioPolicy

/// A stream as its server has it: what a client may read, and what it may not.
public struct SimulatedStream {
    /// What the server says of it.
    public internal(set) var info: ServerStream
    /// PulseAudio: the server stores these at each change once somebody has set them.
    var savesVolume = false
    var savesMute = false
    var savesDevice = false
    /// PipeWire: its node was told to pause. Nobody can see that.
    var isPaused = false
    /// PipeWire: the object id, which is used again at once.
    var objectID = 0
    /// What its program plays, at full scale; 0: silence.
    var loudness = 1.0
    /// PulseAudio: its program answers cork requests, and counts them.
    public var obeysCorkRequests = true
    var corkRequests = 0
    /// PulseAudio: it is corked because it was asked to be, and nobody has touched it since.
    var isCorkedByRequest = false
    /// What it had before a user's write that no reader has seen yet: should somebody else write before the next look,
    /// nobody can know of it.
    var volumeBeforeUnseen: [Double]?
    var muteBeforeUnseen: Bool?

    /// The factor on the sound of its program, per channel: what is heard of it.
    public var heard: [Double] {
        let silence = [Double](repeating: 0, count: max(info.volume.count, 1))
        if info.isCorked || isPaused { return silence }
        if let soft = info.softGain { return soft.isMuted ? silence : soft.volume }
        if info.isMuted { return silence }
        return info.hasVolume ? info.volume : silence.map { _ in 1 }
    }
}

extension SimulatedStream {
    /// Whether its user has changed it and nobody has looked since.
    public var hasUnseenVolume: Bool { volumeBeforeUnseen != nil }
    public var hasUnseenMute: Bool { muteBeforeUnseen != nil }

    /// PipeWire: a gain that no mixer shows, left there by another tool.
    public mutating func setHiddenGain(_ gain: Double) { info.hiddenGain = gain }

    /// A compressed stream: it accepts a volume and ignores it.
    public mutating func setPassthrough() { info.hasVolume = false }

    /// A stream of the server's own modules.
    public mutating func setPlumbing(driver: String, linkGroup: String) {
        info.driver = driver
        info.linkGroup = linkGroup
    }
}

extension SimulatedStream {
    /// Its program plays silence.
    public mutating func setSilent() { loudness = 0 }
}

extension SimulatedStream {
    /// Its program does not care for a stored mute.
    public mutating func unmute() { info.isMuted = false }
}
