import AudioPolicy

/// A sink of WirePlumber's own role policy (0.5.4 and later, off by default): streams of its roles are linked to it, and
/// while it is used it turns down what plays on those of lower priority, or of the same.
struct RoleSink {
    let serial: UInt64
    private let roles: [String]
    private let priority: Int
    private let actsOnLower: Bool
    private let actsOnSame: Bool

    /// `nil` for a node that is none.
    init?(_ node: NodeObject) {
        guard let priority = node["policy.role-based.priority"] else { return nil }
        serial = node.serial
        self.priority = Int(priority) ?? 0
        // A list in SPA's JSON, with or without commas.
        roles = (node["device.intended-roles"] ?? "").split { "[]\", \t\n".contains($0) }.map(String.init)
        func acts(_ key: String) -> Bool { ["duck", "cork"].contains(node["policy.role-based.action.\(key)"]) }
        actsOnLower = acts("lower-priority")
        actsOnSame = acts("same-priority")
    }

    /// What it turns down of the others; `nil`: nothing.
    func policy(among sinks: some Sequence<RoleSink>) -> ForeignPolicy? {
        let others = sinks.filter { other in
            if other.priority == priority {
                actsOnSame && other.serial != serial
            } else {
                actsOnLower && other.priority < priority
            }
        }
        guard !others.isEmpty else { return nil }
        return ForeignPolicy(
            name: "wireplumber-role-policy",
            arguments: "trigger_roles=\(roles.joined(separator: ",")) "
                + "ducking_sinks=\(others.map(\.serial).sorted().map(String.init).joined(separator: ","))")
    }
}
