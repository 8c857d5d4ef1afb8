/// One end of a route, in the words of the field.
public enum AudioPort: String, CaseIterable, Hashable, Sendable {
    case builtInReceiver, builtInSpeaker, headphones, headsetMic, builtInMic, bluetoothA2DP, bluetoothHFP, usbAudio,
        hdmi, lineOut, lineIn, network, virtual
}

/// Where sound comes out and goes in now.
public struct AudioRoute: Hashable, Sendable {
    public var outputs: [AudioPort]
    /// Whether a headset with a microphone is there over Bluetooth, also while audio is still on the speaker: it cannot
    /// be told from `outputs`.
    public var hasBluetoothInput: Bool

    public init(outputs: [AudioPort], hasBluetoothInput: Bool = false) {
        self.outputs = outputs
        self.hasBluetoothInput = hasBluetoothInput
    }
}

/// Why a route moved.
public enum AudioRouteChangeReason: String, CaseIterable, Hashable, Sendable {
    case newDeviceAvailable, oldDeviceUnavailable, override, routeConfigurationChange, unknown
}
