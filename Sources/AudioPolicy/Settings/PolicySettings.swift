public import AudioSession

/// All that configuration decides, with the defaults of the design.
public struct PolicySettings: Sendable {
    public enum ServerChoice: String, CaseIterable, Sendable {
        case auto, pipewire, pulseaudio
    }

    public enum Scope: String, CaseIterable, Sendable {
        /// Streams that end on the same physical output as the holder's voice.
        case sameOutput = "same-output"
        case everywhere
    }

    public enum RecordingRefusal: String, CaseIterable, Sendable {
        case never, mute
    }

    public enum RestoreEntries: String, CaseIterable, Sendable {
        /// Write the user's values back after each batch of ours.
        case heal
        case leave
    }

    /// `resume`: whether what was paused plays again by itself.
    public enum Resume: String, CaseIterable, Sendable {
        case auto, never
    }

    public struct Timing: Equatable, Sendable {
        /// How long an observed claim must last before it has effects.
        public var attack: Duration = .milliseconds(100)
        public var fadeDown: Duration = .milliseconds(100)
        public var fadeUp: Duration = .milliseconds(500)
        /// How long an observed claim's effects outlive it.
        public var hold: Duration = .milliseconds(500)
        /// Silence after which an observed claim stops counting, or a claim with advanced ducking lets others come back up.
        /// Who speaks makes pauses of a second between sentences.
        public var silence: [AudioSessionClientKind.SilenceGroup: Duration] = [
            .voice: .seconds(30), .speech: .seconds(1), .alarm: .seconds(5), .advanced: .milliseconds(1500),
        ]

        var hang: Duration { silence[.advanced] ?? .zero }

        public init() {}
    }

    public var server = ServerChoice.auto
    public var scope = Scope.sameOutput
    public var resume = Resume.auto
    public var resumeDelay: Duration = .zero
    public var effects = EffectTable()
    public var timing = Timing()
    /// Whether streams of programs that know nothing of Sordino get claims.
    public var observedEnabled = true
    public var observedRecordingEffects = false
    public var observedRecordingRefusal = RecordingRefusal.never
    /// Unload `module-role-ducking` and `module-role-cork` of the user's while we run, and load them again at the end.
    public var takeOverRoleModules = true
    public var restoreEntries = RestoreEntries.heal
    /// How long a headset stays in its call profile after the last claim that needed it.
    public var headsetHold: Duration = .milliseconds(2000)
    /// The user's rules, in order of precedence; the first match of each action wins.
    public var rules: [Rule] = []
    /// The application table (programs whose role lies or lacks), same form, asked after the rules.
    public var applications: [Rule] = []

    public init() {}
}

/// If all conditions of one of `matches` hold, the actions apply.
public struct Rule: Sendable {
    /// Where it stands, for people: `file:line`, or the application table's name for it.
    public var name: String
    public var matches: [[Condition]]
    public var actions: RuleActions

    public init(name: String, matches: [[Condition]], actions: RuleActions) {
        self.name = name
        self.matches = matches
        self.actions = actions
    }

    public struct Condition: Sendable {
        /// A stream property; the client's stands in where the stream has none of that name.
        public var property: String
        /// As written, for people.
        public var pattern: String
        /// Whether a value (cut at 4 KiB; `nil`: absent) fits.
        public var fits: @Sendable (String?) -> Bool

        public init(property: String, pattern: String, fits: @escaping @Sendable (String?) -> Bool) {
            self.property = property
            self.pattern = pattern
            self.fits = fits
        }
    }
}

public struct RuleActions: Equatable, Sendable {
    public var kind: AudioSessionClientKind?
    /// Leave it alone: no effect on it and no claim for it.
    public var ignore = false
    /// The rule that said so, for `explain`.
    public var ignoredBy: String?
    /// Holders' kinds whose effects spare it.
    public var exemptFrom: Set<AudioSessionClientKind> = []
    /// What happens to it instead of the table's effect, by the holder's kind; a `nil` key is for all.
    public var effects: [AudioSessionClientKind: Effect] = [:]
    /// The duck level instead of the table's.
    public var level: Decibels?
    /// No observed claim is made for it.
    public var makesNoClaim = false
    /// It is a filter's or a meter's leg that the server's facts do not give away: neither victim nor trigger.
    public var isPlumbing = false

    public init() {}
}
