import AudioSession

/// The session as it is told to people and programs.
extension SoundServerDriver {
    var serverStatus: SessionStatus.Server {
        .init(kind: info?.kind.rawValue, version: info?.version, connected: isConnected)
    }

    func status(arbiter: Arbiter) -> SessionStatus {
        SessionStatus(
            server: serverStatus, enabled: isEnabled,
            session: .init(
                state: !isConnected || arbiter.isInterrupted
                    ? "interrupted" : arbiter.winner == nil ? "passive" : "active",
                winner: arbiter.winner?.description),
            claims: arbiter.entries.map(claimStatus), streams: graph.streams.keys.sorted().compactMap(streamStatus),
            devices: deviceStatus, ledger: .init(entries: ledgerCount),
            warnings: warnings + [missingSessionManager].compactMap(\.self) + hiddenGains)
    }

    func claimStatus(_ entry: SessionState.Entry) -> SessionStatus.Claim {
        let claim = entry.claim
        let streams = entry.observed.map { observed.streams(of: $0) } ?? streams(of: claim.id)
        return .init(
            id: claim.id.description, kind: claim.kind.rawValue, origin: claim.origin.rawValue,
            owner: .init(name: claim.owner.name, pid: claim.owner.pid, sandbox: claim.owner.sandbox),
            output: claim.output.rawValue, standing: entry.standing.rawValue, activated: claim.isActivated,
            counts: claim.counts, streams: streams.sorted().map(\.description))
    }

    func streamStatus(_ id: StreamID) -> SessionStatus.Stream? {
        guard let stream = graph.streams[id], let classification = classifier[id] else { return nil }
        let baseline = reconciler?.baseline(of: stream)
        let isOverridden = reconciler?.isOverridden(id) ?? false
        return .init(
            id: id.description, direction: id.direction.rawValue, application: classification.owner.name,
            role: stream.properties["media.role"], kind: classification.kind?.rawValue,
            classifiedBy: classification.source.text, plumbing: classification.isPlumbing,
            claim: claim(of: id)?.description, device: stream.device.flatMap { graph.devices[$0]?.name },
            corked: stream.isCorked, muted: baseline?.isMuted ?? stream.isMuted,
            baseline: baseline?.volume ?? stream.volume, overridden: isOverridden,
            effect: isOverridden ? nil : records[id].flatMap { effectStatus($0.plan) })
    }

    private func effectStatus(_ plan: StreamPlan) -> SessionStatus.StreamEffect? {
        let because = plan.because.map(\.description)
        return switch plan.effect {
        case .none: nil
        case .duck(let level): .init(action: "duck", decibels: level.value, because: because)
        case .pause: .init(action: "pause", decibels: nil, because: because)
        case .mute: .init(action: "mute", decibels: nil, because: because)
        }
    }

    private var deviceStatus: [SessionStatus.Device] {
        graph.devices.values.filter { $0.monitorOf == nil }
            .sorted { ($0.id.direction.rawValue, $0.id.serial) > ($1.id.direction.rawValue, $1.id.serial) }
            .map(deviceStatus)
    }

    func deviceStatus(_ device: ServerDevice) -> SessionStatus.Device {
        .init(
            id: device.name, name: device.description, type: DeviceType(device).rawValue,
            direction: device.id.direction.rawValue, available: true,
            current: device.id == (device.id.direction == .output ? routedOutput : graph.defaultInput))
    }

    /// Without one PipeWire connects no stream to anything.
    var missingSessionManager: String? {
        guard isConnected, info?.kind == .pipewire, graph.defaultOutput == nil, graph.defaultInput == nil else {
            return nil
        }
        let isThere = graph.clients.values.contains { client in
            let name = client.properties["application.name"]?.lowercased() ?? ""
            return name.contains("wireplumber") || name.contains("media-session")
        }
        return isThere
            ? nil : "no session manager (WirePlumber) is running: PipeWire connects streams to nothing without one"
    }

    /// PipeWire's gain that no mixer shows, left behind by another tool: named, and cleared only when its user asks.
    private var hiddenGains: [String] {
        graph.streams.values.filter { $0.hiddenGain != 1 }.sorted { $0.id < $1.id }.map { stream in
            "stream \(stream.id) has a gain of \(stream.hiddenGain) that no mixer shows; "
                + "`sordino restore --hidden-gain` clears it"
        }
    }
}
