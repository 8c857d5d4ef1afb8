import AudioSession

/// Tells when the route has moved, and why.
struct RouteWatch {
    private var last: (output: DeviceID?, route: AudioRoute)?
    private var known: Set<DeviceID> = []

    /// Takes the graph as it is once devices have settled. `nil`: the route is as it was, or is the first that is known.
    /// `output`: where the winner's sound comes out.
    mutating func look(
        at graph: ServerGraph, output: DeviceID?, route: AudioRoute
    ) -> (AudioRouteChangeReason, AudioRoute)? {
        let before = last
        let old = known
        last = (output, route)
        known = Set(graph.devices.keys)
        guard let before, before.route != route || before.output != output else { return nil }
        let reason: AudioRouteChangeReason =
            if before.output == output {
                .routeConfigurationChange
            } else if let former = before.output, graph.devices[former] == nil {
                .oldDeviceUnavailable
            } else if let output, !old.contains(output) {
                .newDeviceAvailable
            } else {
                .override
            }
        return (reason, route)
    }

    /// The connection is over; the first route of the next one is no change.
    mutating func forget() { self = RouteWatch() }
}

extension AudioRoute {
    /// The route of a server on which sound comes out at `outputs`.
    init(_ graph: ServerGraph, outputs: Set<DeviceID>) {
        let ports = outputs.compactMap { graph.devices[$0] }.map { AudioPort(output: $0) }
        self.init(
            outputs: ports.sorted { $0.rawValue < $1.rawValue },
            hasBluetoothInput: graph.cards.values.contains(where: \.isBluetoothHeadset)
                || graph.devices.values.contains { $0.id.direction == .input && DeviceType($0) == .bluetooth })
    }
}

extension AudioPort {
    /// The port that a playback device is (design: one vocabulary for devices).
    init(output device: ServerDevice) {
        self =
            switch DeviceType(device) {
            case .speaker: .builtInSpeaker
            case .receiver: .builtInReceiver
            case .wiredHeadset, .wiredHeadphones: .headphones
            case .bluetooth: device.isHandsFree ? .bluetoothHFP : .bluetoothA2DP
            case .usb: .usbAudio
            case .hdmi: .hdmi
            case .lineOut: .lineOut
            case .network: .network
            case .virtual: .virtual
            }
    }
}

extension ServerDevice {
    /// Whether a Bluetooth device is in a profile for calls.
    fileprivate var isHandsFree: Bool {
        let profile = properties["api.bluez5.profile"] ?? properties["bluetooth.protocol"] ?? ""
        return ["headset", "handsfree", "hfp", "hsp"].contains { profile.lowercased().contains($0) }
    }
}

extension ServerCard {
    /// Whether it has a microphone over Bluetooth, in whatever profile it is now.
    fileprivate var isBluetoothHeadset: Bool {
        let isBluetooth =
            properties["device.api"]?.hasPrefix("bluez") == true || properties["device.bus"] == "bluetooth"
        return isBluetooth && ports.contains { $0.direction == .input && $0.isAvailable != false }
    }
}
