/// The files of a private PulseAudio.
struct PulseAudioConfiguration {
    let options: HeadlessOptions
    let surroundings: Surroundings

    /// The script that the server runs before it serves anybody. The socket comes last, so who can connect finds all.
    var script: String {
        var lines = [".fail"]
        if options.streamRestore { lines.append("load-module module-stream-restore") }
        lines += options.sinks.map(sink)
        lines += options.sources.map { source in
            "load-module module-null-source source_name=\(source.name) description=\(source.name) rate=48000 "
                + "channels=\(source.channels) format=float32le"
        }
        lines += options.modules.map { "load-module " + $0 }
        if let first = options.sinks.first { lines.append("set-default-sink \(first.name)") }
        if let first = options.sources.first { lines.append("set-default-source \(first.name)") }
        // Relative to PULSE_RUNTIME_PATH.
        lines.append("load-module module-native-protocol-unix socket=native auth-anonymous=1")
        return lines.joined(separator: "\n") + "\n"
    }

    private func sink(_ sink: HeadlessOptions.Device) -> String {
        let properties = sink.properties.merging(["device.description": sink.name]) { own, _ in own }
            .sorted { $0.key < $1.key }.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        let formats = sink.formats.map { " formats=\"\($0)\"" } ?? ""
        return "load-module module-null-sink sink_name=\(sink.name) rate=48000 channels=\(sink.channels) "
            + "channel_map=\(HeadlessOptions.Device.channelMap(sink.channels)) format=float32le "
            + "sink_properties=\"\(properties)\"\(formats)"
    }

    /// Instead of the machine's `daemon.conf`.
    var daemon: String {
        """
        default-sample-rate = 48000
        alternate-sample-rate = 48000
        flat-volumes = \(options.flatVolumes ? "yes" : "no")
        exit-idle-time = -1
        realtime-scheduling = no
        high-priority = no

        """
    }

    /// Instead of the machine's `client.conf`: a client that finds no server must not start one.
    static let client = "autospawn = no\n"

    func arguments() -> [String] {
        [
            "pulseaudio", "-n", "-F", surroundings.file("pulseaudio.pa"), "--daemonize=no", "--fail=yes",
            "--use-pid-file=no", "--log-target=stderr", "--log-level=notice",
        ]
    }
}

extension HeadlessOptions.Device {
    /// The usual layout of so many channels, the same on either server, in PulseAudio's words.
    public static func channelMap(_ channels: Int) -> String {
        switch channels {
        case 1: "mono"
        case 2: "front-left,front-right"
        case 4: "front-left,front-right,rear-left,rear-right"
        case 6: "front-left,front-right,front-center,lfe,rear-left,rear-right"
        case 8: "front-left,front-right,front-center,lfe,rear-left,rear-right,side-left,side-right"
        default: (0..<channels).map { "aux\($0)" }.joined(separator: ",")
        }
    }
}
