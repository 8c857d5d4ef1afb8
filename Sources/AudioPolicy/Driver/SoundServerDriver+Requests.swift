import AudioSession
import EventLoop

/// What the session is asked for.
extension SoundServerDriver {
    /// Off: all effects undone, claims kept.
    public func setEnabled(_ enabled: Bool) {
        guard enabled != isEnabled else { return }
        turn {
            isEnabled = enabled
            everythingIsDirty = true
        }
    }

    /// Begins nothing new from now on, or begins what was kept back.
    public func setHeldBack(_ heldBack: Bool) {
        guard heldBack != isHeldBack else { return }
        turn {
            isHeldBack = heldBack
            everythingIsDirty = true
        }
    }

    /// Undoes everything in force, and leaves it so until the present holders are gone.
    public func restore() {
        turn {
            isRestoring = true
            reconciler?.overrideAll()
            leavePausedStreams()
            everythingIsDirty = true
        }
    }

    /// Undoes everything at once, without fades, and calls `done` when the server has confirmed it.
    public func end(_ done: @escaping () -> Void) {
        onRestored = done
        turn {
            isEnabled = false
            everythingIsDirty = true
            movedStreams.formUnion(graph.streams.keys)
            reconciler?.giveBackPolicies()
        }
    }

    /// Takes other settings; what is in force is brought to them.
    public func setSettings(_ settings: PolicySettings) {
        turn {
            self.settings = settings
            let holders = planner.holders
            planner = SessionPlanner(settings: settings)
            for holder in holders.values { _ = planner.setHolder(holder) }
            reconciler?.timing = settings.timing
            reconciler?.healsRestoreEntries = settings.restoreEntries == .heal
            startClassifier()
            observed.setSettings(settings)
            advanced.setSettings(settings)
            guard let kind = info?.kind else { return }
            _ = classifier.update(Self.changes(of: graph), graph: graph, kind: kind)
            planner.foreignPolicies =
                takesOverRoleModules ? [] : graph.foreignPolicies.compactMap(RolePolicy.init)
            dirtyStreams.formUnion(graph.streams.keys)
            everythingIsDirty = true
        }
    }
}
