import AudioSession
import EventLoop

/// The claims that programs hold themselves, as the sound server shows them.
extension SoundServerDriver {
    /// The classifier's view of a claim; `nil` for an observed one, which has its streams by definition.
    func holder(_ entry: SessionState.Entry) -> StreamClassifier.Holder? {
        guard entry.claim.origin == .explicit else { return nil }
        return .init(
            claim: entry.claim.id, kind: entry.claim.kind,
            tag: entry.claim.owner.connection.map { entry.claim.kind.streamTag(connection: $0) },
            pid: entry.claim.owner.pid)
    }

    /// The explicit claim that a stream belongs to: the one that its tag names, else its owner's newest for the kind that
    /// the stream is.
    func explicitClaim(of id: StreamID) -> ClaimID? {
        guard let classification = classifier[id] else { return nil }
        if let claim = classification.claim { return claim }
        guard !classification.ownersClaims.isEmpty, let kind = classification.kind else { return nil }
        return classification.ownersClaims.filter { id in
            guard let held = claims[id]?.claim.kind else { return false }
            return held == kind || held.isCall && kind.isCall
        }.max()
    }

    func streams(of claim: ClaimID) -> Set<StreamID> {
        classifier.streams(coveredBy: claim).filter { explicitClaim(of: $0) == claim }
    }

    func playingStreams(of claim: ClaimID) -> Set<StreamID> {
        streams(of: claim).filter { graph.streams[$0]?.isCorked == false }
    }

    /// The claims that a change of a stream may make others: the one that it belongs to, and all of a microphone's holder.
    func claims(touchedBy id: StreamID) -> Set<ClaimID> {
        var touched: Set<ClaimID> = id.direction == .input ? classifier[id]?.ownersClaims ?? [] : []
        if let claim = claim(of: id) { touched.insert(claim) }
        return touched
    }

    /// What can be heard now of those who speak under a claim with advanced ducking: its own playback, and the microphones
    /// that its holder captures. `nil`: nobody needs to listen, or there has been no such stream yet, heard or not.
    func openVoices(of claim: Claim, _ holder: EffectHolder) -> Set<StreamID>? {
        guard claim.options.ducking.isAdvanced, isEnabled, planner.hasEffects(holder) else { return nil }
        let voices = classifier.streams(coveredBy: claim.id).filter { id in
            id.direction == .output
                ? explicitClaim(of: id) == claim.id : classifier[id]?.capture == .microphone
        }
        guard !voices.isEmpty || advanced.isListening(to: claim.id) else { return nil }
        return voices.filter { id in
            guard let stream = graph.streams[id] else { return false }
            return id.direction == .output ? isOpen(stream) : hears(stream)
        }
    }

    /// Whether something can reach a capture's program. Whoever has muted it or its source, it hears nobody.
    private func hears(_ capture: ServerStream) -> Bool {
        guard !capture.isCorked, !capture.isMuted, capture.softGain?.isMuted != true else { return false }
        return capture.device.flatMap { graph.devices[$0] }?.isMuted != true
    }

    /// The devices that a claim without a voice of its own asks for; `nil`: everywhere.
    func wishedOutputs(of claim: Claim) -> Set<DeviceID>? {
        let type: DeviceType
        switch claim.output {
        case .system: return nil
        case .speaker: type = .speaker
        case .receiver: type = .receiver
        }
        let devices = graph.devices.values.filter { $0.id.direction == .output && DeviceType($0) == type }
        return devices.isEmpty ? nil : Set(devices.map(\.id))
    }

    /// The device that the winner's sound comes out of.
    var routedOutput: DeviceID? { winner.flatMap { claims[$0]?.claim }.flatMap(wishedDevice) ?? graph.defaultOutput }

    var routeOutputs: Set<DeviceID> { routedOutput.map { topology.outputs(of: $0) } ?? [] }

    /// The one device that a claim's playback is to be on: the user's choice, else one of the claim's wish, the default
    /// one first. Virtual devices are never taken for a wish (field case RTE-05).
    private func wishedDevice(_ claim: Claim) -> DeviceID? {
        guard isEnabled, claim.isActivated else { return nil }
        if let selection, let device = graph.devices.values.first(where: { $0.name == selection }) { return device.id }
        guard let wished = wishedOutputs(of: claim) else { return nil }
        if let output = graph.defaultOutput, wished.contains(output) { return output }
        return wished.min { $0.serial < $1.serial }
    }

    /// Takes the winner's streams to where it wants them, and all others back to where they were.
    func settleRoutes() {
        var wanted: [StreamID: DeviceID] = [:]
        if let winner, let entry = claims[winner], let device = wishedDevice(entry.claim) {
            let streams = entry.observed.map(observed.streams) ?? streams(of: winner)
            for id in streams where id.direction == .output && graph.streams[id]?.hasVolume == true {
                wanted[id] = device
            }
        }
        guard !wanted.isEmpty || reconciler?.routes.isEmpty == false else {
            toldOfRoutes.removeAll()
            return
        }
        if isHeldBack { wanted = wanted.filter { reconciler?.routes[$0.key]?.target == $0.value } }
        reconciler?.route(wanted, in: graph, now: loop.now)
    }

    var currentOutputStatus: SessionStatus.Device? {
        routedOutput.flatMap { graph.devices[$0] }.map(deviceStatus)
    }
}

extension PolicySettings {
    /// What a claim that says how strongly it turns others down means; `nil`: the table decides.
    func level(_ ducking: AudioSessionDucking) -> Decibels? {
        switch ducking.level {
        case .standard: nil
        case .minimum: effects.levels[.minimum]
        case .medium: effects.levels[.medium]
        case .maximum: effects.levels[.maximum]
        }
    }
}
