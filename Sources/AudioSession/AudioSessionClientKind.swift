/// What a claim is for. Programs say the kind and never a configuration; everything a kind means is in `traits`.
public enum AudioSessionClientKind: String, CaseIterable, Hashable, Sendable {
    /// Event sounds and animations: anything that must never interrupt.
    case ambient
    /// Spoken playback: voice messages, podcasts.
    case playback
    /// Music and film.
    case mediaPlayback
    case game
    /// Text to speech, assistants, screen readers.
    case speech
    /// Recording from a microphone. The only kind that can be refused.
    case recording
    /// A call between two, prepared by `acquire` and activated by its owner.
    case call
    /// A voice room; activates by itself.
    case groupCall
    /// Alarms, timers, ringing: has effects and takes no part in the contest.
    case alarm
}

extension AudioSessionClientKind {
    /// One row of the table of kinds. Adding a kind is adding a case and its row here, and its row in `EffectTable`.
    public struct Traits: Sendable {
        /// Higher wins; among equals the newest does. `nil`: takes no part in the contest (its standing is `unranked`).
        public let rank: Int?
        /// `media.role` on PulseAudio; the first is what a program's own streams are tagged with.
        public let pulseAudioRoles: [String]
        /// `media.role` on PipeWire; the first is what a program's own streams are tagged with.
        public let pipeWireRoles: [String]
        /// Whether `acquire` may answer `busyWithCall`.
        public let mayBeRefused: Bool
        /// Seconds of silence after which an observed claim stops counting, by its group; `nil`: never.
        public let silenceGroup: SilenceGroup?
    }

    /// Which of the configured `timing.silence-s` figures applies: to a kind, or (`advanced`) to each claim with advanced
    /// ducking.
    public enum SilenceGroup: String, CaseIterable, Hashable, Sendable {
        case voice, speech, alarm, advanced
    }

    /// The table of kinds (design: one, in one file).
    public var traits: Traits {
        func row(
            _ rank: Int?, _ pulseAudio: [String], _ pipeWire: [String], refused: Bool = false,
            silence: SilenceGroup? = nil
        ) -> Traits {
            Traits(
                rank: rank, pulseAudioRoles: pulseAudio, pipeWireRoles: pipeWire, mayBeRefused: refused,
                silenceGroup: silence)
        }
        return switch self {
        case .ambient: row(0, ["event", "animation", "test"], ["Notification", "Test"])
        case .playback: row(1, ["music"], ["Music"])
        case .mediaPlayback: row(1, ["music", "video", "production"], ["Music", "Movie", "Production"])
        case .game: row(1, ["game"], ["Game"])
        case .speech: row(1, ["a11y"], ["Accessibility"], silence: .speech)
        case .recording: row(2, ["production"], ["Production"], refused: true)
        case .call: row(3, ["phone"], ["Communication"], silence: .voice)
        case .groupCall: row(3, ["phone"], ["Communication"], silence: .voice)
        case .alarm: row(nil, ["event"], ["Notification"], silence: .alarm)
        }
    }

    /// Whether a claim of this kind is a voice that a recording must not disturb.
    public var isCall: Bool { self == .call || self == .groupCall }
}
