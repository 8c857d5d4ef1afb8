import AudioPolicy
import EventLoop

/// What a client asks of the server.
extension SimulatedServer {
    /// Returns why not.
    func perform(_ operation: ServerOperation, knownGone: Bool) -> ServerFailure? {
        log.append((loop.now, operation))
        if knownGone { strayOperations.append(operation) }
        if let failure = refusal(operation) { return failure }
        switch operation {
        case .setVolume(let id, let volume):
            guard isPulseAudio else { return unknown }
            if streams[id]?.info.hasVolume == true {
                if streams[id]?.hasUnseenVolume == true { onOvertaken(id, .volume) }
                noteOvertakenStore(id)
            }
            return write(id) { $0.setVolume(volume, self) }
        case .setMute(let id, let isMuted):
            guard isPulseAudio else { return unknown }
            if streams[id]?.hasUnseenMute == true { onOvertaken(id, .mute) }
            noteOvertakenStore(id)
            return write(id) { $0.setMute(isMuted) }
        case .setSoftGain(let id, let gain):
            return isPulseAudio ? unknown : change(id) { if $0.info.hasVolume { $0.info.softGain = gain } }
        case .clearSoftGain(let id): return isPulseAudio ? unknown : change(id) { $0.info.softGain = nil }
        case .pause(let id): return isPulseAudio ? unknown : change(id) { $0.isPaused = !$0.info.isCorked }
        case .resume(let id): return isPulseAudio ? unknown : change(id) { $0.isPaused = false }
        case .setHiddenGain(let id, let gain): return isPulseAudio ? unknown : change(id) { $0.info.hiddenGain = gain }
        case .move(let id, let device):
            guard streams[id] != nil else { return gone }
            let target = device ?? (id.direction == .output ? defaultOutput : defaultInput)
            streams[id]?.savesDevice = device != nil
            storeDeviceOnPipeWire(id, device)
            relink(id, to: target)
        case .route(let id, let device, let back):
            guard !isPulseAudio else { return unknown }
            guard streams[id] != nil, devices[device] != nil else { return gone }
            storeDeviceOnPipeWire(id, back)
            relink(id, to: device)
        case .setCorkedRoles(let roles): setCorkedRoles(roles)
        case .writeRestoreEntry(let entry):
            if store[entry.key] != entry {
                store[entry.key] = entry
                storeChanged()
            }
        case .deleteRestoreEntry(let key): if store.removeValue(forKey: key) != nil { storeChanged() }
        case .unloadPolicy(let policy): setForeignPolicies(foreignPolicies.filter { $0.name != policy.name })
        case .loadPolicy(let policy): setForeignPolicies(foreignPolicies + [policy])
        }
        return nil
    }

    private func noteOvertakenStore(_ id: StreamID) {
        guard let key = streams[id]?.info.restoreKey, unreadKeys.removeValue(forKey: key) != nil else { return }
        onOvertaken(id, .stored)
    }

    private var gone: ServerFailure { ServerFailure(.noEntity, "no such entity") }
    private var unknown: ServerFailure { ServerFailure(.other, "not an operation on this server") }

    /// PulseAudio: an equal value causes no event, but is stored from now on all the same.
    private func write(_ id: StreamID, _ body: (inout SimulatedStream) -> Bool) -> ServerFailure? {
        guard var state = streams[id] else { return gone }
        let isNew = body(&state)
        streams[id] = state
        if isNew {
            raiseFlatSink(for: state.info)
            post(.stream(id), .change)
        }
        return nil
    }

    /// PipeWire: each write causes an event, also one that changes nothing.
    private func change(_ id: StreamID, _ body: (inout SimulatedStream) -> Void) -> ServerFailure? {
        guard var state = streams[id] else { return gone }
        body(&state)
        streams[id] = state
        post(.stream(id), .change)
        return nil
    }
}

extension SimulatedStream {
    fileprivate mutating func setVolume(_ volume: [Double], _ server: SimulatedServer) -> Bool {
        savesVolume = true
        volumeBeforeUnseen = nil
        // A compressed stream accepts a volume and ignores it.
        guard info.hasVolume else { return false }
        let volume = server.quantised(volume)
        defer { info.volume = volume }
        return volume != info.volume
    }

    fileprivate mutating func setMute(_ isMuted: Bool) -> Bool {
        savesMute = true
        muteBeforeUnseen = nil
        defer { info.isMuted = isMuted }
        return isMuted != info.isMuted
    }
}
