/// The whole session as `sordino status --json` and the bus method `Status` give it. The names are a contract.
public struct SessionStatus: Equatable, Sendable, Codable {
    public struct Server: Equatable, Sendable, Codable {
        /// `pipewire`, `pulseaudio`; `nil` while none was ever connected.
        @Nullable public var kind: String?
        @Nullable public var version: String?
        public var connected: Bool

        public init(kind: String?, version: String?, connected: Bool) {
            self.kind = kind
            self.version = version
            self.connected = connected
        }
    }

    public struct Session: Equatable, Sendable, Codable {
        /// `passive`, `active`, `interrupted`.
        public var state: String
        @Nullable public var winner: String?

        public init(state: String, winner: String?) {
            self.state = state
            self.winner = winner
        }
    }

    public struct Owner: Equatable, Sendable, Codable {
        public var name: String
        @Nullable public var pid: Int32?
        @Nullable public var sandbox: String?

        public init(name: String, pid: Int32?, sandbox: String?) {
            self.name = name
            self.pid = pid
            self.sandbox = sandbox
        }
    }

    public struct Claim: Equatable, Sendable, Codable {
        public var id: String
        public var kind: String
        public var origin: String
        public var owner: Owner
        public var output: String
        public var standing: String
        public var activated: Bool
        public var counts: Bool
        public var streams: [String]

        public init(
            id: String, kind: String, origin: String, owner: Owner, output: String, standing: String, activated: Bool,
            counts: Bool, streams: [String]
        ) {
            self.id = id
            self.kind = kind
            self.origin = origin
            self.owner = owner
            self.output = output
            self.standing = standing
            self.activated = activated
            self.counts = counts
            self.streams = streams
        }
    }

    public struct StreamEffect: Equatable, Sendable, Codable {
        /// `duck`, `pause`, `mute`.
        public var action: String
        /// Of a duck: relative to the baseline, in decibels of amplitude.
        @Nullable public var decibels: Double?
        /// The claims that ask for it.
        public var because: [String]

        public init(action: String, decibels: Double?, because: [String]) {
            self.action = action
            self.decibels = decibels
            self.because = because
        }
    }

    public struct Stream: Equatable, Sendable, Codable {
        public var id: String
        public var direction: String
        public var application: String
        @Nullable public var role: String?
        @Nullable public var kind: String?
        public var classifiedBy: String
        public var plumbing: Bool
        @Nullable public var claim: String?
        @Nullable public var device: String?
        public var corked: Bool
        public var muted: Bool
        /// Linear amplitude per channel.
        public var baseline: [Double]
        public var overridden: Bool
        @Nullable public var effect: StreamEffect?

        public init(
            id: String, direction: String, application: String, role: String?, kind: String?, classifiedBy: String,
            plumbing: Bool, claim: String?, device: String?, corked: Bool, muted: Bool, baseline: [Double],
            overridden: Bool, effect: StreamEffect?
        ) {
            self.id = id
            self.direction = direction
            self.application = application
            self.role = role
            self.kind = kind
            self.classifiedBy = classifiedBy
            self.plumbing = plumbing
            self.claim = claim
            self.device = device
            self.corked = corked
            self.muted = muted
            self.baseline = baseline
            self.overridden = overridden
            self.effect = effect
        }
    }

    public struct Device: Equatable, Sendable, Codable {
        public var id: String
        public var name: String
        /// `speaker`, `receiver`, `wiredHeadset`, `wiredHeadphones`, `bluetooth`, `usb`, `hdmi`, `lineOut`, `network`,
        /// `virtual`.
        public var type: String
        public var direction: String
        public var available: Bool
        public var current: Bool

        public init(id: String, name: String, type: String, direction: String, available: Bool, current: Bool) {
            self.id = id
            self.name = name
            self.type = type
            self.direction = direction
            self.available = available
            self.current = current
        }
    }

    public struct LedgerSize: Equatable, Sendable, Codable {
        public var entries: Int

        public init(entries: Int) { self.entries = entries }
    }

    public var server: Server
    public var enabled: Bool
    public var session: Session
    public var claims: [Claim]
    public var streams: [Stream]
    public var devices: [Device]
    public var ledger: LedgerSize
    /// What its user should know: a role policy beside ours, a gain that no mixer shows, a missing session manager.
    public var warnings: [String]

    public init(
        server: Server, enabled: Bool, session: Session, claims: [Claim], streams: [Stream], devices: [Device],
        ledger: LedgerSize, warnings: [String]
    ) {
        self.server = server
        self.enabled = enabled
        self.session = session
        self.claims = claims
        self.streams = streams
        self.devices = devices
        self.ledger = ledger
        self.warnings = warnings
    }
}

/// An optional that is written as `null` where it is absent, since readers of a contract look for the key.
@propertyWrapper
public struct Nullable<Value: Equatable & Sendable & Codable>: Equatable, Sendable, Codable {
    public var wrappedValue: Value?

    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}
