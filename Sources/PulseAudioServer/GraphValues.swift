import AudioPolicy
import CPulse

// PulseAudio's objects as the graph has them.

extension ServerStream {
    /// `includesBatch` says what had been performed before the query was sent: the server keeps the order.
    init(_ info: pa_sink_input_info, includesBatch: UInt64) {
        self.init(
            StreamID(.output, UInt64(info.index)), info.proplist, client: info.client, module: info.owner_module,
            volume: info.volume)
        device = known(info.sink).map { DeviceID(.output, $0) }
        isMuted = info.mute != 0
        isCorked = info.corked != 0
        driver = text(info.driver)
        hasVolume = info.has_volume != 0 && info.volume_writable != 0
        resampleMethod = info.resample_method.map { text($0) }
        self.includesBatch = includesBatch
    }

    init(_ info: pa_source_output_info, includesBatch: UInt64) {
        self.init(
            StreamID(.input, UInt64(info.index)), info.proplist, client: info.client, module: info.owner_module,
            volume: info.volume)
        device = known(info.source).map { DeviceID(.input, $0) }
        isMuted = info.mute != 0
        isCorked = info.corked != 0
        driver = text(info.driver)
        hasVolume = info.has_volume != 0 && info.volume_writable != 0
        resampleMethod = info.resample_method.map { text($0) }
        self.includesBatch = includesBatch
    }

    private init(_ id: StreamID, _ list: OpaquePointer?, client: UInt32, module: UInt32, volume: pa_cvolume) {
        let reader = PropertyReader(list)
        let properties = reader.all
        self.init(id: id, properties: properties, volume: PulseVolume.linear(volume))
        self.client = known(client)
        linkGroup = self.client == nil ? moduleGroup(module) : nil
        restoreKey = properties[restoreKeyProperty]
        // A key that was cut is no key.
        if let key = restoreKey, PropertyReader.mayBeCut(key) { restoreKey = reader[restoreKeyProperty] }
    }
}

private let restoreKeyProperty = "module-stream-restore.id"

extension ServerDevice {
    init(_ info: pa_sink_info) {
        self.init(
            id: DeviceID(.output, UInt64(info.index)), name: text(info.name), description: text(info.description),
            properties: PropertyReader(info.proplist).all, volume: PulseVolume.linear(info.volume),
            isMuted: info.mute != 0)
        driver = text(info.driver)
        linkGroup = moduleGroup(info.owner_module)
        card = known(info.card)
        activePort = info.active_port.map { text($0.pointee.name) }
        isFlat = info.flags.rawValue & PA_SINK_FLAT_VOLUME.rawValue != 0
    }

    init(_ info: pa_source_info) {
        self.init(
            id: DeviceID(.input, UInt64(info.index)), name: text(info.name), description: text(info.description),
            properties: PropertyReader(info.proplist).all, volume: PulseVolume.linear(info.volume),
            isMuted: info.mute != 0)
        driver = text(info.driver)
        linkGroup = moduleGroup(info.owner_module)
        monitorOf = known(info.monitor_of_sink).map { DeviceID(.output, $0) }
        card = known(info.card)
        activePort = info.active_port.map { text($0.pointee.name) }
        isFlat = info.flags.rawValue & PA_SOURCE_FLAT_VOLUME.rawValue != 0
    }
}

extension ServerClient {
    init(_ info: pa_client_info) {
        self.init(id: UInt64(info.index), properties: PropertyReader(info.proplist).all)
    }
}

extension ServerCard {
    init(_ info: pa_card_info) {
        self.init(id: UInt64(info.index), name: text(info.name), properties: PropertyReader(info.proplist).all)
        activeProfile = info.active_profile2.map { text($0.pointee.name) }
        profiles = (0..<Int(info.n_profiles)).compactMap { info.profiles2?[$0]?.pointee }.map { Profile($0) }
        ports = (0..<Int(info.n_ports)).compactMap { info.ports?[$0]?.pointee }.map { Port($0) }
    }
}

extension ServerCard.Profile {
    fileprivate init(_ info: pa_card_profile_info2) {
        self.init(
            name: text(info.name), description: text(info.description), priority: Int(info.priority),
            isAvailable: info.available != 0)
    }
}

extension ServerCard.Port {
    fileprivate init(_ info: pa_card_port_info) {
        let isInput = UInt32(bitPattern: info.direction) & PA_DIRECTION_OUTPUT.rawValue == 0
        self.init(
            name: text(info.name), description: text(info.description), direction: isInput ? .input : .output,
            type: portTypes.indices.contains(Int(info.type)) ? portTypes[Int(info.type)] : portTypes[0],
            isAvailable: availability(info.available))
    }
}

/// In the order of `pa_device_port_type`, in the spelling that both servers' properties use.
private let portTypes = [
    "unknown", "aux", "speaker", "headphones", "line", "mic", "headset", "handset", "earpiece", "spdif", "hdmi", "tv",
    "radio", "video", "usb", "bluetooth", "portable", "handsfree", "car", "hifi", "phone", "network", "analog",
]

private func availability(_ value: Int32) -> Bool? {
    switch UInt32(bitPattern: value) {
    case PA_PORT_AVAILABLE_YES.rawValue: true
    case PA_PORT_AVAILABLE_NO.rawValue: false
    default: nil
    }
}

extension RestoreEntry {
    init(_ info: pa_ext_stream_restore_info) {
        let volume = PulseVolume.linear(info.volume)
        self.init(
            key: text(info.name), volume: volume, channelMap: volume.isEmpty ? "" : channelMapText(info.channel_map),
            isMuted: info.mute != 0, device: info.device.map { text($0) })
    }
}

private func channelMapText(_ map: pa_channel_map) -> String {
    var map = map
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
        guard let start = buffer.baseAddress else { return "" }
        pa_channel_map_snprint(start, buffer.count, &map)
        return String(cString: start)
    }
}

private func known(_ index: UInt32) -> UInt64? { index == noIndex ? nil : UInt64(index) }

private func moduleGroup(_ module: UInt32) -> String? { known(module).map { "module:\($0)" } }

/// Names can be anything: what is not UTF-8 is repaired.
private func text(_ string: UnsafePointer<CChar>?) -> String { string.map { String(cString: $0) } ?? "" }
