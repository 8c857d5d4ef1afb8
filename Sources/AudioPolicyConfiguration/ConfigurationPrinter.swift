public import AudioPolicy
internal import AudioSession

extension PolicyConfiguration {
    /// The settings in force as SPA-JSON that reads back as the same.
    public static func print(_ settings: PolicySettings) -> String {
        let timing = settings.timing
        var lines = [
            section(
                "session",
                [
                    ("server", settings.server.rawValue), ("scope", settings.scope.rawValue),
                    ("resume", settings.resume == .auto ? "true" : "false"),
                    ("resume.delay-ms", milliseconds(settings.resumeDelay)),
                ]),
            section(
                "levels",
                DuckLevel.allCases.map { level in
                    (level.rawValue, number(settings.effects.levels[level]?.value ?? 0))
                }),
            effects(settings.effects),
            section(
                "timing",
                [
                    ("attack-ms", milliseconds(timing.attack)), ("fade-down-ms", milliseconds(timing.fadeDown)),
                    ("fade-up-ms", milliseconds(timing.fadeUp)), ("hold-ms", milliseconds(timing.hold)),
                    ("silence-s", silence(timing)),
                ]),
            section(
                "observed",
                [
                    ("enabled", String(settings.observedEnabled)),
                    ("recording.effects", String(settings.observedRecordingEffects)),
                    ("recording.refuse", settings.observedRecordingRefusal.rawValue),
                ]),
            section("bluetooth", [("headset-hold-ms", milliseconds(settings.headsetHold))]),
            section(
                "pulseaudio",
                [
                    ("take-over-role-modules", String(settings.takeOverRoleModules)),
                    ("restore-entries", settings.restoreEntries.rawValue),
                ]),
        ]
        lines += rules("rules", settings.rules, settings.effects)
        lines += rules("applications", settings.applications, settings.effects)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(_ name: String, _ pairs: [(String, String)]) -> String {
        ([name + " = {"] + pairs.map { "    \($0) = \($1)" } + ["}"]).joined(separator: "\n")
    }

    private static func silence(_ timing: PolicySettings.Timing) -> String {
        let groups = AudioSessionClientKind.SilenceGroup.allCases.map { group in
            "\(group.rawValue) = \(number(seconds(timing.silence[group] ?? .zero)))"
        }
        return "{ \(groups.joined(separator: "  ")) }"
    }

    private static func effects(_ table: EffectTable) -> String {
        let rows = AudioSessionClientKind.allCases.compactMap { holder -> (String, String)? in
            guard let row = table.cells[holder], !row.isEmpty else { return nil }
            let cells = AudioSessionClientKind.allCases.compactMap { victim in
                row[victim].map { "\(victim.rawValue) = \(text($0))" }
            }
            return (holder.rawValue, "{ \(cells.joined(separator: "  ")) }")
        }
        return section("effects", rows)
    }

    private static func text(_ cell: EffectTable.Cell) -> String {
        switch cell {
        case .none: "none"
        case .pause: "pause"
        case .mute: "mute"
        case .duck(let level): level.rawValue
        case .decibels(let value): number(value.value)
        }
    }

    private static func text(_ effect: Effect) -> String {
        switch effect {
        case .none: "none"
        case .pause: "pause"
        case .mute: "mute"
        case .duck(let value): number(value.value)
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
        if let level = actions.level { parts.append("level = \(number(level.value))") }
        if actions.makesNoClaim { parts.append("claims = none") }
        if actions.isPlumbing { parts.append("plumbing = true") }
        return parts.joined(separator: "  ")
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private static func milliseconds(_ duration: Duration) -> String { number(seconds(duration) * 1000) }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}
