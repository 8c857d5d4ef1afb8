/// Which sound server.
public enum HeadlessServerKind: String, CaseIterable, Sendable {
    case pipewire
    case pulseaudio

    /// The programs that it needs.
    var programs: [String] {
        switch self {
        case .pipewire: ["pipewire", "wireplumber", "pipewire-pulse", "pw-metadata", "dbus-daemon"]
        case .pulseaudio: ["pulseaudio", "dbus-daemon"]
        }
    }

    /// The kinds that are installed, PipeWire first.
    public static var installed: [HeadlessServerKind] {
        let path = inheritedEnvironment()["PATH"]
        return allCases.filter { $0.programs.allSatisfy { executable($0, path: path) != nil } }
    }
}

/// What a private server is to have. The defaults are those of `sordino headless`.
public struct HeadlessOptions: Sendable {
    /// A null sink or source.
    public struct Device: Equatable, Sendable {
        /// Letters, digits, `.`, `_` and `-`.
        public var name: String
        public var channels: Int
        /// More properties, as the server names them (`device.form_factor`, `device.form-factor`).
        public var properties: [String: String]
        /// Formats of a PulseAudio sink, as its `formats` argument takes them (`pcm; ac3-iec61937`); `nil`: PCM alone.
        public var formats: String?

        public init(_ name: String, channels: Int = 2, properties: [String: String] = [:], formats: String? = nil) {
            self.name = name
            self.channels = channels
            self.properties = properties
            self.formats = formats
        }
    }

    public var server: HeadlessServerKind
    /// The first is the default.
    public var sinks: [Device]
    /// The first is the default.
    public var sources: [Device]
    /// PulseAudio modules with their arguments, loaded before the first client; on PipeWire by pipewire-pulse.
    public var modules: [String] = []
    /// PulseAudio: stream volumes are absolute.
    public var flatVolumes = false
    /// PulseAudio: stream volumes are remembered.
    public var streamRestore = true
    /// PipeWire: the graph's cycle in frames at 48 kHz.
    public var quantum = 1024
    /// PipeWire: WirePlumber.
    public var sessionManager = true
    /// PipeWire: pipewire-pulse.
    public var pulse = true
    /// Whether there is a session bus.
    public var bus = true
    /// Whether the server is started at once; else only its surroundings are, and `restartServer` starts it.
    public var startsServer = true
    /// How long a start may take.
    public var deadline = Duration.seconds(20)

    public init(
        server: HeadlessServerKind, sinks: [Device] = [Device("spk"), Device("hs")],
        sources: [Device] = [Device("mic", channels: 1)]
    ) {
        self.server = server
        self.sinks = sinks
        self.sources = sources
    }

    func check() throws(HeadlessError) {
        for device in sinks + sources {
            guard !device.name.isEmpty, device.name.utf8.allSatisfy(isNameByte) else {
                throw HeadlessError("\(device.name.debugDescription) is no name for a device: letters, digits, . _ -")
            }
        }
        let names = sinks.map(\.name) + sources.map(\.name)
        guard Set(names).count == names.count else { throw HeadlessError("two devices have one name") }
        guard !sinks.isEmpty else { throw HeadlessError("a server without a sink") }
    }
}

private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
    default: false
    }
}
