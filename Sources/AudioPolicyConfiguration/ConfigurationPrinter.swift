public import AudioPolicy
internal import AudioSession

extension PolicyConfiguration {
    /// The settings in force as SPA-JSON that reads back as the same.
    public static func print(_ settings: PolicySettings) -> String {
        var sections: [(name: String, pairs: [(String, String)])] = []
        for key in SettingKey.all {
            let parts = key.path.split(separator: ".", maxSplits: 1).map(String.init)
            if sections.last?.name != parts[0] { sections.append((parts[0], [])) }
            sections[sections.count - 1].pairs.append((parts[1], key.value(settings)))
        }
        var lines = sections.map { section($0.name, $0.pairs) } + [effects(settings.effects)]
        lines += rules("rules", settings.rules, settings.effects)
        lines += rules("applications", settings.applications, settings.effects)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(_ name: String, _ pairs: [(String, String)]) -> String {
        ([name + " = {"] + pairs.map { "    \($0) = \($1)" } + ["}"]).joined(separator: "\n")
    }

    private static func effects(_ table: EffectTable) -> String {
        let rows = AudioSessionClientKind.allCases.compactMap { holder -> (String, String)? in
            let cells = self.cells(of: holder, in: table)
            guard !cells.isEmpty else { return nil }
            let row = cells.map { "\($0.victim.rawValue) = \(Written.effect($0.cell))" }
            return (holder.rawValue, "{ \(row.joined(separator: "  ")) }")
        }
        return section("effects", rows)
    }

    /// A holder's row, in the order of kinds.
    static func cells(
        of holder: AudioSessionClientKind, in table: EffectTable
    ) -> [(victim: AudioSessionClientKind, cell: EffectTable.Cell)] {
        AudioSessionClientKind.allCases.compactMap { victim in table.cells[holder]?[victim].map { (victim, $0) } }
    }

    private static func text(_ effect: Effect) -> String {
        switch effect {
        case .none: "none"
        case .pause: "pause"
        case .mute: "mute"
        case .duck(let value): Written.number(value.value)
        }
    }

    private static func rules(_ name: String, _ rules: [Rule], _ table: EffectTable) -> [String] {
        guard !rules.isEmpty else { return ["\(name) = [ ]"] }
        let entries = rules.flatMap { rule in
            let matches = rule.matches.map { match in
                let conditions = match.map { "\(Escaping.quoted($0.property)) = \(pattern($0))" }
                return "        { \(conditions.joined(separator: "  ")) }"
            }
            return ["    { name = \(Escaping.quoted(rule.name))", "      matches = ["] + matches
                + ["      ]", "      actions = { \(actions(rule.actions)) } }"]
        }
        return ["\(name) = ["] + entries + ["]"]
    }

    private static func pattern(_ condition: Rule.Condition) -> String {
        // A bare null is the one pattern that an absent property fits and an empty text does not.
        condition.pattern == "null" && condition.fits(nil) ? "null" : Escaping.quoted(condition.pattern)
    }

    private static func actions(_ actions: RuleActions) -> String {
        var parts: [String] = []
        if let kind = actions.kind { parts.append("kind = \(kind.rawValue)") }
        if actions.ignore { parts.append("ignore = true") }
        if !actions.exemptFrom.isEmpty {
            parts.append("exempt-from = [ \(actions.exemptFrom.map(\.rawValue).sorted().joined(separator: " ")) ]")
        }
        if !actions.effects.isEmpty {
            let cells = AudioSessionClientKind.allCases.compactMap { holder in
                actions.effects[holder].map { "\(holder.rawValue) = \(text($0))" }
            }
            parts.append("effects = { \(cells.joined(separator: "  ")) }")
        }
        if let level = actions.level { parts.append("level = \(Written.number(level.value))") }
        if actions.makesNoClaim { parts.append("claims = none") }
        if actions.isPlumbing { parts.append("plumbing = true") }
        return parts.joined(separator: "  ")
    }
}
