import AudioSession
import EventLoop

/// What is done to one stream, from the first change of it until a read-back has confirmed that it is as it should be.
struct Treatment {
    enum Silencing: Equatable {
        /// By its mute (PulseAudio) or soft mute (PipeWire).
        case mute
        /// PipeWire: its node was told to pause.
        case pauseCommand
        /// PulseAudio: a cork request to its role.
        case corkedRole(String)
    }

    let restoreKey: String?
    /// What its user and its program chose. A target is always baseline × factor, never current × factor.
    var baseline: [Double]
    var baselineMuted: Bool

    /// The factor of our last write.
    var factor = 1.0
    var ramp: Ramp?
    var silencing: Silencing?
    /// Sent, by batch, oldest first; the first is what was there as of the last read.
    var volumes: [(batch: UInt64, value: [Double])]
    var mutes: [(batch: UInt64, value: Bool)]
    /// PipeWire: soft gains that no event has confirmed yet; `nil` for a cleared one.
    var softGains: [SoftGain?] = []
    /// Soft gains sent since an event last confirmed one: a stream that ignores them is given up.
    var unconfirmed = 0
    /// The claims with an effect on the stream, as of its last plan.
    var holders: Set<ClaimID> = []
    /// The holders at the moment when somebody else undid the effect; empty: nobody did.
    var overriddenHolders: Set<ClaimID> = []
    /// A stream that stopped playing by itself while paused by us is not started again.
    var hasStoppedItself = false

    init(of stream: ServerStream) {
        restoreKey = stream.restoreKey
        baseline = stream.volume
        baselineMuted = stream.isMuted
        volumes = [(0, stream.volume)]
        mutes = [(0, stream.isMuted)]
    }

    var isOverridden: Bool { !overriddenHolders.isEmpty }
    /// Whether nothing of ours is in force.
    var isAtRest: Bool { factor == 1 && ramp == nil && silencing == nil }

    /// What a read that includes this batch must show if nobody else wrote.
    mutating func expectedVolume(including batch: UInt64) -> [Double] {
        while volumes.count > 1, volumes[1].batch <= batch { volumes.removeFirst() }
        return volumes[0].value
    }

    mutating func expectedMute(including batch: UInt64) -> Bool {
        while mutes.count > 1, mutes[1].batch <= batch { mutes.removeFirst() }
        return mutes[0].value
    }

    /// Whether a read has shown the last of our writes.
    var isConfirmed: Bool { volumes.count == 1 && mutes.count == 1 && softGains.isEmpty }

    /// The baseline's share that is wanted at a factor.
    func scaled(_ factor: Double) -> [Double] { factor == 1 ? baseline : baseline.map { $0 * factor } }
}
