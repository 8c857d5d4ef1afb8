import AudioSession
import EventLoop

/// What is done to one stream, from the first change of it until a read-back has confirmed that it is as it should be.
final class Treatment {
    enum Silencing: Equatable {
        /// By its mute (PulseAudio) or soft mute (PipeWire).
        case mute
        /// PipeWire: its node was told to pause.
        case pauseCommand
        /// PulseAudio: a cork request to its role.
        case corkRequest
    }

    let restoreKey: String?
    /// What its user and its program chose. A target is always baseline × factor, never current × factor.
    var baseline: [Double]
    var baselineMuted: Bool

    /// The factor of our last write; `nil`: it is at a level that is none of the plan's, as an earlier run left it.
    var factor: Double? = 1
    var ramp: Ramp?
    /// When its level was last written.
    var lastWrite: LoopInstant?
    var silencing: Silencing?
    var volumes: WriteHistory<[Double]>
    var mutes: WriteHistory<Bool>
    var softGains: WriteHistory<SoftGain?>
    /// PipeWire: soft gains in a row that the stream did not take, and when one that has only not been seen is sent again.
    var refusals = 0
    var retryAt: LoopInstant?
    var lastSoftGain: SoftGain?
    /// PulseAudio, flat volumes: until then its volume may prove to follow its sink's; and the sink's change that it has
    /// followed last.
    var suspectUntil: LoopInstant?
    var followed: LoopInstant?
    /// PulseAudio: what a cork request has come to.
    var cork = CorkProgress()
    /// The claims with an effect on the stream, as of its last plan.
    var holders: Set<ClaimID> = []
    /// The holders at the moment when somebody else undid the effect; empty: nobody did.
    var overriddenHolders: Set<ClaimID> = []
    /// PipeWire: the batch that started it again, until a read includes it.
    var resumed: UInt64?
    /// PipeWire: a stream that stopped playing by itself while paused by us is not started again.
    var hasStoppedItself = false

    init(of stream: ServerStream) {
        restoreKey = stream.restoreKey
        baseline = stream.volume
        baselineMuted = stream.isMuted
        volumes = WriteHistory(stream.volume)
        mutes = WriteHistory(stream.isMuted)
        // One that is there already is not ours, and may be a leftover that is no longer in force: it stands for nothing.
        softGains = WriteHistory(nil)
    }

    /// PipeWire: what an earlier run left may be in force, or a user's write may have ended it since. Whatever is wanted
    /// is sent, and so is its end.
    func adoptSoftGain() { softGains = WriteHistory(SoftGain(volume: [], isMuted: false)) }

    var isOverridden: Bool { !overriddenHolders.isEmpty }
    /// Whether nothing of ours is in force.
    var isAtRest: Bool { factor == 1 && ramp == nil && silencing == nil }

    /// The baseline's share that is wanted at a factor.
    func scaled(_ factor: Double) -> [Double] { factor == 1 ? baseline : baseline.map { $0 * factor } }
}

/// PulseAudio: the server's module mutes a stream and asks its program to cork it, some time after the trigger was asked
/// for, and takes both back when the trigger goes.
struct CorkProgress {
    /// Whether a read has shown the module's mute, and the program's answer.
    var hasMuted = false
    var hasCorked = false
    /// The batch that asked for the trigger: a read without it shows somebody else's mute.
    var requested: UInt64 = 0
    /// The batch that took the trigger away: before it a read's mute says nothing.
    var released: UInt64?
    /// It was playing before and has not been seen playing again.
    var awaitsUncork = false
}
