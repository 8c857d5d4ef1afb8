/// What the server's own facts say of a stream, before anything that its program says of itself.
struct StreamNature: Equatable {
    var isPlumbing = false
    var capture: StreamClassification.Capture?

    static let ordinary = StreamNature()
    static let plumbing = StreamNature(isPlumbing: true)

    /// Whether it records what somebody says.
    var isMicrophone: Bool { capture == .microphone }

    init(isPlumbing: Bool = false, capture: StreamClassification.Capture? = nil) {
        self.isPlumbing = isPlumbing
        self.capture = capture
    }

    init(of stream: ServerStream, _ properties: StreamProperties, recordsSink: Bool, kind: ServerKind) {
        if stream.id.direction == .input, Self.isMeter(stream, properties) {
            self.init(isPlumbing: true, capture: .meter)
        } else if Self.isPlumbing(stream, properties, kind) {
            self = .plumbing
        } else if stream.id.direction == .output {
            self = .ordinary
        } else {
            self.init(capture: recordsSink || properties.isTrue("stream.capture.sink") ? .monitor : .microphone)
        }
    }

    private static func isMeter(_ stream: ServerStream, _ properties: StreamProperties) -> Bool {
        stream.resampleMethod == "peaks" || properties.isTrue("stream.monitor") || properties.isTrue("resample.peaks")
    }

    private static func isPlumbing(_ stream: ServerStream, _ properties: StreamProperties, _ kind: ServerKind) -> Bool {
        if stream.properties[PropertyName.internalStream] != nil || isTunnel(properties) { return true }
        let role = MediaRole(properties.own("media.role"))
        if role == .filter || role == .abstract { return true }
        switch kind {
        case .pulseaudio:
            // Samples of the cache have no client either, and are played for somebody.
            return stream.driver.hasPrefix("module-")
        case .pipewire:
            return properties.isTrue("node.virtual") || stream.linkGroup != nil
                || properties.own("node.link-group") != nil || properties.own("media.category") == "Filter"
        }
    }

    /// Another sound server, playing here what its own programs play there.
    private static func isTunnel(_ properties: StreamProperties) -> Bool {
        if properties["application.id"] == "org.PulseAudio.PulseAudio" { return true }
        guard let binary = properties["application.process.binary"] else { return false }
        return ["pulseaudio", "pipewire", "pipewire-pulse", "pipewire-media-session", "wireplumber"].contains(binary)
    }
}

/// Properties that Sordino itself gives to streams.
public enum PropertyName {
    /// On a program's own streams: the tag of the explicit claim that they belong to.
    public static let claim = "sordino.claim"
    /// On the streams that Sordino opens for itself (meters, triggers): what for.
    public static let internalStream = "sordino.internal"
}
