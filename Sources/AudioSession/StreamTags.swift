/// The properties by which a program says that streams of its own belong to its claim. A tag names a connection and a
/// kind, so it outlasts the daemon; it is believed only of the claim's own owner.
extension AudioSessionClientKind {
    /// The property that bears the tag, on both servers.
    package static let streamTagProperty = "sordino.claim"

    /// - Parameter connection: the unique name of the owner's bus connection.
    package func streamTag(connection: String) -> String { "\(connection)/\(rawValue)" }

    package func pulseAudioProperties(connection: String) -> [String: String] {
        var properties = [Self.streamTagProperty: streamTag(connection: connection)]
        properties["media.role"] = traits.pulseAudioRoles.first
        return properties
    }

    package func pipeWireProperties(connection: String) -> [String: String] {
        var properties = [Self.streamTagProperty: streamTag(connection: connection)]
        properties["media.role"] = traits.pipeWireRoles.first
        // A call's streams go both ways.
        if !isCall { properties["media.category"] = self == .recording ? "Capture" : "Playback" }
        // 10 ms, the frame of WebRTC; who plays music has time.
        if isCall { properties["node.latency"] = "480/48000" }
        return properties
    }
}
