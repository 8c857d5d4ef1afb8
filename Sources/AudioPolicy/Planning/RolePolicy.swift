import AudioSession

/// A role policy of the sound server's own that stays in charge: what it ducks or pauses is left to it, so that nothing
/// is turned down twice.
struct RolePolicy: Equatable, Sendable {
    var name: String
    private var triggerRoles: Set<String>
    private var victimRoles: Set<String> = []
    private var victimSinks: Set<String> = []

    /// `module-role-ducking` and `module-role-cork`, with the defaults of their arguments, and a role sink of
    /// WirePlumber's; `nil` for anything else.
    init?(_ policy: ForeignPolicy) {
        name = policy.name
        let arguments = Self.arguments(policy.arguments)
        triggerRoles = Self.list(arguments["trigger_roles"] ?? "phone")
        switch policy.name {
        case "module-role-ducking": victimRoles = Self.list(arguments["ducking_roles"] ?? "music,video")
        case "module-role-cork": victimRoles = Self.list(arguments["cork_roles"] ?? "music,video")
        case "wireplumber-role-policy": victimSinks = Self.list(arguments["ducking_sinks"] ?? "")
        default: return nil
        }
    }

    /// Whether the server itself acts on the victim when a stream of such a holder plays.
    func acts(for holder: AudioSessionClientKind, on victim: PlannedStream) -> Bool {
        guard !triggerRoles.isDisjoint(with: holder.traits.pulseAudioRoles + holder.traits.pipeWireRoles) else {
            return false
        }
        if let device = victim.stream.device, victimSinks.contains(String(device.serial)) { return true }
        guard let role = victim.stream.properties["media.role"], !role.isEmpty else {
            return victimRoles.contains("no_role")
        }
        return victimRoles.contains(role) || victimRoles.contains("any_role")
    }

    private static func arguments(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        for word in text.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { found[String(parts[0])] = parts[1].filter { $0 != "\"" } }
        }
        return found
    }

    private static func list(_ text: String) -> Set<String> {
        Set(text.split { $0 == "," || $0 == "/" }.map(String.init))
    }
}
