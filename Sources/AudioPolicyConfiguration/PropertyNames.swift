internal import AudioPolicy

/// The stream and client properties of the two servers that a rule may look at.
enum PropertyNames {
    static func isKnown(_ name: String) -> Bool { known.contains(name) || name.hasPrefix("x-") }

    static let all = servers + ConfigurationReference.properties.map(\.name)
    private static let known = Set(all)

    static let servers = [
        "application.icon-name", "application.icon_name", "application.id", "application.language", "application.name",
        "application.process.binary", "application.process.host", "application.process.id",
        "application.process.machine-id", "application.process.machine_id", "application.process.session-id",
        "application.process.session_id", "application.process.user", "application.version",
        "audio.channels", "audio.format", "audio.position", "audio.rate",
        "client.api", "client.id", "client.name", "device.api", "device.class", "device.description", "device.id",
        "event.description", "event.id", "event.mouse.button", "filter.apply", "filter.suppress", "filter.want",
        "jack.client.name", "library.name", "media.artist", "media.category", "media.class", "media.comment",
        "media.copyright", "media.date", "media.filename", "media.format", "media.icon", "media.icon-name",
        "media.icon_name", "media.language", "media.name", "media.role", "media.software", "media.title", "media.type",
        "module-stream-restore.id", "native-protocol.peer", "native-protocol.version", "node.autoconnect",
        "node.description", "node.dont-fallback", "node.dont-move", "node.dont-reconnect", "node.driver", "node.group",
        "node.id", "node.latency", "node.link-group", "node.name", "node.nick", "node.passive", "node.rate",
        "node.target", "node.virtual", "object.id", "object.path", "object.serial", "phonon.streamid",
        "pipewire.access", "pipewire.access.portal.app_id", "pipewire.access.portal.instance_id",
        "pipewire.access.portal.is_portal", "pipewire.client.access", "pipewire.protocol", "pipewire.sec.app-id",
        "pipewire.sec.engine", "pipewire.sec.flatpak", "pipewire.sec.gid", "pipewire.sec.instance-id",
        "pipewire.sec.label", "pipewire.sec.pid", "pipewire.sec.socket", "pipewire.sec.uid", "port.group",
        "pulse.corked", "pulse.server.type", "resample.peaks", "stream.capture.sink", "stream.dont-remix",
        "stream.is-live", "stream.monitor", "target.object", "window.icon-name", "window.icon_name", "window.id",
        "window.name", "window.x11.display", "window.x11.screen", "window.x11.xid",
    ]
}

/// Names that whole families of programs share.
enum SharedNames {
    /// What toolkits, runtimes and plug-ins put in place of a program's own name.
    private static let names = [
        "Chromium", "Chromium input", "Google Chrome", "electron", "Electron", "WEBRTC VoiceEngine", "SDL Application",
        "java", "python3", "python3.11", "node", "wine64-preloader", "wine-preloader", "gst-launch-1.0", "LibVLC",
        "Playback", "Playback Stream", "playback", "Audio Stream", "audio stream", "ALSA Playback", "ALSA plug-in",
        "pacat", "PipeWire ALSA", "PulseAudio", "OpenAL Soft", "Qt", "Lavf59.27.100", "audio-src", "cpal",
    ]

    /// Properties that say which program it is only where the program has set them itself.
    private static let weak: Set<String> = [
        "application.name", "application.process.binary", "application.icon-name", "application.icon_name",
        "media.name",
        "node.name", RuleProperty.direction, RuleProperty.capture, RuleProperty.ownerCaptures,
    ]

    /// A sentence, if streams of more programs than one fit.
    static func ambiguity(of patterns: [(property: String, pattern: ValuePattern)]) -> String? {
        guard !patterns.isEmpty, patterns.allSatisfy({ weak.contains($0.property) && !$0.pattern.isNegated }) else {
            return nil
        }
        let named = patterns.filter { $0.property.hasPrefix("application.") || $0.property == "node.name" }
        // A condition on what is played narrows it down.
        guard !named.isEmpty, !patterns.contains(where: { $0.property == "media.name" }) else { return nil }
        let shared =
            names.first { name in named.allSatisfy { $0.pattern.fits(name) } }
            ?? (named.count > 1 ? sharedPair(named) : nil)
        guard let shared else { return nil }
        return "this fits every program that calls itself \(shared): "
            + "add what tells yours apart (application.process.binary of its own, media.name, sordino.processes, "
            + "pipewire.access.portal.app_id, or a tag given with PULSE_PROP)"
    }

    /// Name and binary each shared, though not the same word (`Chromium` and `electron`).
    private static func sharedPair(_ named: [(property: String, pattern: ValuePattern)]) -> String? {
        let shared = named.compactMap { condition in names.first { condition.pattern.fits($0) } }
        return shared.count == named.count ? shared.first : nil
    }
}
