/// The files of a private PipeWire and of what belongs to it.
struct PipeWireConfiguration {
    let options: HeadlessOptions
    let surroundings: Surroundings

    /// PipeWire itself: no bus, no realtime, no hardware; the devices are made before the first client is served.
    var server: String {
        let sinks = options.sinks.enumerated().map { index, device in
            object(device, mediaClass: "Audio/Sink", priority: 2000 - index)
        }
        let sources = options.sources.enumerated().map { index, device in
            // Above the monitors of the sinks, which are sources too.
            object(device, mediaClass: "Audio/Source/Virtual", priority: 4000 - index)
        }
        return """
            context.properties = {
                core.daemon = true
                core.name = pipewire-0
                support.dbus = false
                mem.allow-mlock = false
                default.clock.rate = 48000
                default.clock.quantum = \(options.quantum)
                default.clock.min-quantum = 32
                settings.check-quantum = false
            }
            context.spa-libs = {
                audio.convert.* = audioconvert/libspa-audioconvert
                audio.adapt = audioconvert/libspa-audioconvert
                support.* = support/libspa-support
            }
            context.modules = [
            \(modules("protocol-native", "metadata", "spa-node-factory", "client-node", "client-device", "access",
                "adapter", "link-factory", "session-manager"))
            ]
            context.objects = [
                { factory = spa-node-factory args = {
                    factory.name = support.node.driver node.name = Dummy-Driver
                    node.group = pipewire.dummy priority.driver = 20000 } }
            \((sinks + sources).joined(separator: "\n"))
            ]

            """
    }

    /// pipewire-pulse, without realtime and without a sink of its own.
    var pulse: String {
        let commands = options.modules.map { "    { cmd = \"load-module\" args = \(quoted($0)) }" }
        return """
            context.properties = { support.dbus = false mem.allow-mlock = false }
            context.spa-libs = {
                audio.convert.* = audioconvert/libspa-audioconvert
                support.* = support/libspa-support
            }
            context.modules = [
            \(modules("protocol-native", "client-node", "adapter", "metadata", "protocol-pulse"))
            ]
            pulse.properties = { server.address = [ "unix:\(surroundings.pulseSocket)" ] }
            pulse.cmd = [
            \(commands.joined(separator: "\n"))
            ]

            """
    }

    /// WirePlumber 0.5 and later: a fragment that switches hardware off.
    static let wirePlumber = """
        wireplumber.profiles = {
            main = {
                hardware.audio = disabled
                hardware.bluetooth = disabled
                hardware.video-capture = disabled
            }
        }

        """

    /// WirePlumber 0.4: the same, by file below its configuration directory. It must not need the bus either.
    static let wirePlumberScripts = [
        "main.lua.d/80-headless.lua": """
        alsa_monitor.enabled = false
        v4l2_monitor.enabled = false
        if libcamera_monitor then libcamera_monitor.enabled = false end
        default_access.properties["enable-flatpak-portal"] = false

        """,
        "bluetooth.lua.d/80-headless.lua": """
        bluez_monitor.enabled = false
        if bluez_midi_monitor then bluez_midi_monitor.enabled = false end

        """,
    ]

    private func modules(_ names: String...) -> String {
        names.map { "    { name = libpipewire-module-\($0) }" }.joined(separator: "\n")
    }

    private func object(_ device: HeadlessOptions.Device, mediaClass: String, priority: Int) -> String {
        let properties = device.properties.sorted { $0.key < $1.key }
            .map { "\(quoted($0.key)) = \(quoted($0.value))" }.joined(separator: " ")
        return """
                { factory = adapter args = {
                    factory.name = support.null-audio-sink media.class = \(mediaClass)
                    node.name = \(quoted(device.name)) node.description = \(quoted(device.name))
                    audio.position = [ \(positions(device.channels)) ] priority.session = \(priority)
                    monitor.channel-volumes = true monitor.passthrough = true object.linger = true
                    \(properties) } }
            """
    }
}

/// A string in SPA-JSON.
private func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}

/// The usual layout of so many channels.
private func positions(_ channels: Int) -> String {
    switch channels {
    case 1: "MONO"
    case 2: "FL FR"
    case 4: "FL FR RL RR"
    case 6: "FL FR FC LFE RL RR"
    case 8: "FL FR FC LFE RL RR SL SR"
    default: (0..<channels).map { "AUX\($0)" }.joined(separator: " ")
    }
}
