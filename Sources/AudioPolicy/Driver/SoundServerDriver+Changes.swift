import AudioSession
import EventLoop

/// What the server says has changed, taken in.
extension SoundServerDriver {
    func changed(_ changes: [GraphChange]) {
        var before: [(stream: ServerStream, old: ServerStream?)] = []
        for change in changes {
            switch change {
            case .stream(let stream): before.append((stream, graph.streams[stream.id]))
            case .streamRemoved(let id): forget(id)
            case .device(let device):
                if device.isFlat, let old = graph.devices[device.id]?.volume.max(), let new = device.volume.max(),
                    old != new, old > 0
                {
                    reconciler?.flatChanges[device.id] = (new / old, loop.now)
                }
                if device.id.direction == .input, device.isMuted != graph.devices[device.id]?.isMuted {
                    dirtyClaims.formUnion(advanced.claims)
                }
                if topology.setDevice(device) { everythingIsDirty = true }
                if setLoudspeaker(device) { everythingIsDirty = true }
            case .deviceRemoved(let id):
                loudspeakers.remove(id)
                if topology.removeDevice(id) { everythingIsDirty = true }
            case .defaults(let output, _): if output != graph.defaultOutput { everythingIsDirty = true }
            case .foreignPolicies(let policies): foreignPolicies(policies)
            case .card, .cardRemoved, .client, .clientRemoved, .restoreEntry, .restoreEntryRemoved: break
            }
            if change.touchesDevices { watchRoute() }
            graph.apply(change)
        }
        guard let kind = info?.kind else { return }
        let classified = classifier.update(changes, graph: graph, kind: kind)
        dirtyStreams.formUnion(classified)
        for (stream, old) in before { observe(stream, before: old) }
        for id in classified { if let stream = graph.streams[id] { place(stream) } }
        for change in changes {
            switch change {
            case .restoreEntry(let entry): reconciler?.observeStored(entry.key, entry, now: loop.now)
            case .restoreEntryRemoved(let key): reconciler?.observeStored(key, nil, now: loop.now)
            default: break
            }
        }
    }

    private func observe(_ stream: ServerStream, before old: ServerStream?) {
        guard graph.streams[stream.id] == stream else { return }
        dirtyStreams.insert(stream.id)
        if let old, old.device != stream.device { movedStreams.insert(stream.id) }
        reconciler?.observe(stream, before: old, in: graph, now: loop.now)
        playerPauses.observe(stream, now: loop.now) { planned(stream.id) }
        place(stream)
    }

    private func place(_ stream: ServerStream) {
        let isPlumbing = classifier[stream.id]?.isPlumbing ?? false
        if topology.setStream(stream, isPlumbing: isPlumbing) { everythingIsDirty = true }
    }

    /// Returns whether it has become one, or is none any more.
    private func setLoudspeaker(_ device: ServerDevice) -> Bool {
        guard DeviceType(device).isLoudspeaker else { return loudspeakers.remove(device.id) != nil }
        return loudspeakers.insert(device.id).inserted
    }

    private func forget(_ id: StreamID) {
        playerPauses.removed(id) { planned(id) }
        dirtyClaims.formUnion(claims(touchedBy: id))
        reconciler?.removed(id, restoreKey: graph.streams[id]?.restoreKey, now: loop.now)
        records[id] = nil
        movedStreams.remove(id)
        if topology.removeStream(id) { everythingIsDirty = true }
        observed.setMember(id, nil, now: loop.now)
        dirtyStreams.insert(id)
    }

    /// Only PulseAudio's modules can be unloaded.
    var takesOverRoleModules: Bool { info?.kind == .pulseaudio && settings.takeOverRoleModules }

    private func foreignPolicies(_ policies: [ForeignPolicy]) {
        guard policies != graph.foreignPolicies else { return }
        if takesOverRoleModules && isEnabled {
            for policy in policies where policy.module != nil && !takenOver.contains(policy.name) {
                takenOver.insert(policy.name)
                reconciler?.takeOver(policy)
                warn("\(policy.name) is taken over while Sordino runs (pulseaudio.take-over-role-modules)")
            }
        } else {
            planner.foreignPolicies = policies.compactMap(RolePolicy.init)
            for policy in policies { warn("\(policy.name) is active too; what it turns down is left to it") }
            everythingIsDirty = true
        }
    }
}
