public import AudioSession

/// What a stream is taken for.
public struct StreamClassification: Equatable, Sendable {
    public enum Capture: String, Hashable, Sendable {
        /// A real microphone, or a virtual one that somebody made to be one.
        case microphone
        /// What the speakers play: neither a trigger nor ever refused.
        case monitor
        /// A level meter: never a recorder.
        case meter
    }

    /// What the answer rests on; its text is `classifiedBy` in JSON.
    public enum Source: Equatable, Sendable {
        case tag
        /// A rule of the user's, by its place (file and line).
        case rule(String)
        /// The application table, by the entry's name.
        case table(String)
        case role
        case event
        /// Capture of a microphone and playback by one owner.
        case capturePlayback
        /// It is of a program that speaks (a screen reader and its cues).
        case ownersSpeech
        /// Nothing said otherwise.
        case fallback
        /// It is plumbing or a meter.
        case server

        /// `tag`, `rule`, `table`, `role`, `event`, `capture`, `speech`, `default`, `server`.
        public var text: String {
            switch self {
            case .tag: "tag"
            case .rule: "rule"
            case .table: "table"
            case .role: "role"
            case .event: "event"
            case .capturePlayback: "capture"
            case .ownersSpeech: "speech"
            case .fallback: "default"
            case .server: "server"
            }
        }
    }

    /// `nil` for plumbing, meters and monitor captures.
    public var kind: AudioSessionClientKind?
    public var isPlumbing = false
    /// For inputs: what it records.
    public var capture: Capture?
    public var source: Source
    public var owner: StreamOwner
    /// The explicit claim that it belongs to, by a tag that its owner may use.
    public var claim: ClaimID?
    /// The explicit claims held by its owner, tagged or not: none of them acts on it.
    public var ownersClaims: Set<ClaimID> = []
    /// What the user's rules say besides the kind.
    public var actions = RuleActions()

    public init(kind: AudioSessionClientKind?, source: Source, owner: StreamOwner) {
        self.kind = kind
        self.source = source
        self.owner = owner
    }
}

/// Whose a stream is. Two streams of one program have equal keys.
public struct StreamOwner: Hashable, Sendable {
    /// Equal for streams that belong together, unique to the stream where the owner is unknown ("unknown is nobody's").
    public var key: String
    /// The program's own name for itself; untrusted.
    public var name: String
    /// The process, if `/proc` confirms what the stream says of it.
    public var pid: Int32?
    public var sandbox: String?

    public init(key: String, name: String, pid: Int32? = nil, sandbox: String? = nil) {
        self.key = key
        self.name = name
        self.pid = pid
        self.sandbox = sandbox
    }
}
