public import AudioPolicy

/// What the servers keep of streams that are gone.
extension SimulatedServer {
    /// The role first, then the program's name: all streams of a role share one entry.
    public func restoreKey(_ name: String, _ role: String?, _ direction: AudioDirection) -> String {
        let facility = direction == .output ? "sink-input" : "source-output"
        if let role { return "\(facility)-by-media-role:\(role)" }
        return "\(facility)-by-application-name:\(name)"
    }

    func storedVolume(of stream: SimulatedStream, _ channels: Int) -> [Double]? {
        guard let volume = stream.info.restoreKey.flatMap({ store[$0]?.volume }), let level = volume.max() else {
            return nil
        }
        return volume.count == channels ? volume : [Double](repeating: level, count: channels)
    }

    func storedDevice(of stream: SimulatedStream) -> DeviceID? {
        guard let name = stream.info.restoreKey.flatMap({ store[$0]?.device }) else { return nil }
        return devices.values.first { $0.name == name && $0.id.direction == stream.info.id.direction }?.id
    }

    /// PulseAudio: at each event of a stream, whatever of it somebody has ever set.
    func storeOnPulseAudio(_ id: StreamID) {
        guard storesVolumes, let state = streams[id], let key = state.info.restoreKey else { return }
        let old = store[key]
        var entry = old ?? RestoreEntry(key: key, volume: [], channelMap: "", isMuted: false, device: nil)
        if state.savesVolume {
            entry.volume = state.info.volume
            entry.channelMap = channelMap(entry.volume.count)
        }
        if state.savesMute { entry.isMuted = state.info.isMuted }
        if state.savesDevice { entry.device = state.info.device.flatMap { devices[$0]?.name } }
        guard entry != old else { return }
        store[key] = entry
        storeChanged()
    }

    /// PipeWire: the session manager keeps what a user has set, and never a soft gain.
    func storeOnPipeWire(_ id: StreamID) {
        guard let state = streams[id], let key = state.info.restoreKey else { return }
        store[key] = RestoreEntry(
            key: key, volume: state.info.volume, channelMap: channelMap(state.info.volume.count),
            isMuted: state.info.isMuted, device: store[key]?.device)
    }

    /// PipeWire: the session manager keeps where a stream was last asked to go; `nil`: to the default device.
    func storeDeviceOnPipeWire(_ id: StreamID, _ device: DeviceID?) {
        guard !isPulseAudio, let key = streams[id]?.info.restoreKey else { return }
        store[key, default: RestoreEntry(key: key, volume: [], channelMap: "", isMuted: false, device: nil)].device =
            device.flatMap { devices[$0]?.name }
    }

    func storeChanged() {
        guard isPulseAudio else { return }
        connection?.storeChanged()
    }

    func channelMap(_ count: Int) -> String {
        let names = ["front-left", "front-right", "rear-left", "rear-right", "front-center", "lfe"]
        if count == 1 { return "mono" }
        return (0..<count).map { names[$0 % names.count] }.joined(separator: ",")
    }
}
