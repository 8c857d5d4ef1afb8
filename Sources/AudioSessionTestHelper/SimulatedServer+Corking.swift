import AudioPolicy
import EventLoop

/// `module-role-cork` under a trigger of ours, with its faults.
struct SimulatedCorkModule {
    /// What the client asked for last.
    var wanted: Set<String> = []
    /// What the trigger acts on.
    var active: Set<String> = []
    var applied: Set<StreamID> = []
}

extension SimulatedServer {
    /// The module is loaded and the trigger opened only after some replies; it is gone at once.
    func setCorkedRoles(_ roles: Set<String>) {
        corks.wanted = roles
        releaseCorks()
        guard !roles.isEmpty else { return }
        for (id, state) in streams where roles.contains(state.info.properties["media.role"] ?? "") {
            if state.info.isMuted, state.hasUnseenMute { reportOvertaken(id, .mute) }
        }
        let instance = instance
        loop.schedule(after: latency() + latency() + latency()) { [weak self] in
            guard let self, self.instance == instance, corks.wanted == roles else { return }
            corks.active = roles
            evaluateCorks()
        }
    }

    /// At each event of any stream: mutes, without storing it, and asks, whoever of the roles plays and is not muted, and
    /// so does it again to one that a user has unmuted.
    func evaluateCorks() {
        guard !corks.active.isEmpty else { return }
        for (id, state) in streams.sorted(by: { $0.key < $1.key }) {
            guard id.direction == .output, let role = state.info.properties["media.role"], corks.active.contains(role),
                !state.info.isCorked, !state.info.isMuted
            else { continue }
            corks.applied.insert(id)
            streams[id]?.info.isMuted = true
            post(.stream(id), .change)
            request(id, cork: true)
        }
    }

    /// The trigger is gone, by whatever way.
    func releaseCorks() {
        let applied = corks.applied
        corks.active = []
        corks.applied = []
        for id in applied.sorted() where streams[id] != nil {
            streams[id]?.info.isMuted = false
            post(.stream(id), .change)
            request(id, cork: false)
        }
    }

    /// A program counts the requests: it plays again only after as many of the one as of the other.
    private func request(_ id: StreamID, cork: Bool) {
        loop.schedule(after: latency()) { [weak self] in
            guard let self, var state = streams[id], state.obeysCorkRequests else { return }
            state.corkRequests += cork ? 1 : -1
            streams[id] = state
            if cork, !state.info.isCorked {
                self.cork(id, true)
                streams[id]?.isCorkedByRequest = true
            }
            if !cork, state.corkRequests <= 0, state.isCorkedByRequest { self.cork(id, false) }
        }
    }
}
