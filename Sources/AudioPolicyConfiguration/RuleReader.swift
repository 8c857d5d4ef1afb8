internal import AudioPolicy
internal import AudioSession

/// Reads the entries of `rules` and of the application table.
struct RuleReader {
    /// With the levels that named levels stand for.
    let effects: EffectTable
    /// Whether a rule that fits whole families of programs is worth a warning. The application table means to.
    let warnsOfSharedNames: Bool
    private(set) var problems: [ConfigurationProblem] = []

    private static let ruleKeys = ["name", "matches", "actions"]
    private static let actionKeys = ConfigurationReference.actions.map(\.name)

    init(effects: EffectTable, warnsOfSharedNames: Bool) {
        self.effects = effects
        self.warnsOfSharedNames = warnsOfSharedNames
    }

    mutating func rules(_ nodes: [SPANode], file: String) -> [Rule] {
        nodes.compactMap { rule($0, file) }
    }

    private mutating func fail(_ file: String, _ line: Int, _ message: String, isWarning: Bool = false) {
        problems.append(ConfigurationProblem(file: file, line: line, message: message, isWarning: isWarning))
    }

    private mutating func rule(_ node: SPANode, _ file: String) -> Rule? {
        guard case .object(let members) = node.value else {
            fail(file, node.line, "a rule is { matches = [ … ] actions = { … } }, not \(node.noun)")
            return nil
        }
        checkKeys(members, Self.ruleKeys, "a rule", file)
        guard let matchesNode = node["matches"], let actionsNode = node["actions"] else {
            fail(file, node.line, "a rule needs both matches and actions")
            return nil
        }
        let place = "\(file):\(node.line)"
        let name = node["name"]?.text.map { $0.isEmpty ? place : $0 } ?? place
        let alternatives: [SPANode]
        switch matchesNode.value {
        case .array(let list): alternatives = list
        case .object: alternatives = [matchesNode]
        case .scalar:
            fail(file, matchesNode.line, "matches expects a list of { property = value }, not \(matchesNode.noun)")
            return nil
        }
        let before = problems.count
        let matches = alternatives.map { self.match($0, file) }
        if alternatives.isEmpty { fail(file, matchesNode.line, "matches is empty: the rule would never apply") }
        var actions = self.actions(actionsNode, file)
        actions.ignoredBy = actions.ignore ? place : nil
        guard !problems[before...].contains(where: { !$0.isWarning }) else { return nil }
        return Rule(name: name, matches: matches, actions: actions)
    }

    private mutating func checkKeys(_ members: [SPANode.Member], _ names: [String], _ place: String, _ file: String) {
        for member in members where !names.contains(member.key) {
            let key = Escaping.shown(member.key)
            fail(file, member.line, "\(place) has no \(key)" + NearestName.hint(member.key, among: names))
        }
    }

    // MARK: Matches

    private mutating func match(_ node: SPANode, _ file: String) -> [Rule.Condition] {
        guard case .object(let members) = node.value else {
            fail(file, node.line, "a match is { property = value }, not \(node.noun)")
            return []
        }
        if members.isEmpty { fail(file, node.line, "a match without conditions would fit every stream") }
        var patterns: [(property: String, pattern: ValuePattern)] = []
        for member in members {
            checkProperty(member, file)
            do {
                let pattern = try ValuePattern(member.node)
                for earlier in patterns where earlier.property == member.key {
                    guard earlier.pattern.excludes(pattern, on: member.key) else { continue }
                    let both = "\(Escaping.shown(earlier.pattern.text)) and \(Escaping.shown(pattern.text))"
                    fail(file, member.line, "\(member.key) cannot be both \(both): the rule would never apply")
                }
                patterns.append((member.key, pattern))
            } catch {
                fail(file, member.node.line, "\(Escaping.shown(member.key)): \(error.message)")
            }
        }
        if warnsOfSharedNames, let message = SharedNames.ambiguity(of: patterns) {
            fail(file, node.line, message, isWarning: true)
        }
        return patterns.map { $0.pattern.condition(on: $0.property) }
    }

    private mutating func checkProperty(_ member: SPANode.Member, _ file: String) {
        guard !PropertyNames.isKnown(member.key) else { return }
        let hint = NearestName.hint(member.key, among: PropertyNames.all)
        fail(
            file, member.line,
            "there is no property \(Escaping.shown(member.key))\(hint) (properties of your own begin with x-)")
    }

    // MARK: Actions

    private mutating func actions(_ node: SPANode, _ file: String) -> RuleActions {
        var actions = RuleActions()
        guard case .object(let members) = node.value else {
            fail(file, node.line, "actions expects { … }, not \(node.noun)")
            return actions
        }
        if members.isEmpty { fail(file, node.line, "a rule without actions does nothing") }
        checkKeys(members, Self.actionKeys, "actions", file)
        for member in members { read(member, &actions, file) }
        if let kind = actions.kind, let effect = actions.effects[kind], effect != .none {
            fail(
                file, node.line,
                "\(kind.rawValue) would act on itself: streams that this rule makes \(kind.rawValue) "
                    + "would be turned down because they play")
        }
        return actions
    }

    private mutating func read(_ member: SPANode.Member, _ actions: inout RuleActions, _ file: String) {
        let node = member.node
        switch member.key {
        case "kind": actions.kind = kind(node.text ?? node.noun, node.line, file)
        case "ignore": actions.ignore = boolean(member, file)
        case "plumbing": actions.isPlumbing = boolean(member, file)
        case "exempt-from":
            for item in node.text == nil ? node.elements : [node] {
                if let kind = kind(item.text ?? item.noun, item.line, file) { actions.exemptFrom.insert(kind) }
            }
            if node.text == nil, node.elements.isEmpty {
                fail(file, node.line, "exempt-from expects a kind or a list of kinds, not \(node.noun)")
            }
        case "effects": actions.effects = effects(member, file)
        case "level": actions.level = level(member, file)
        case "claims":
            actions.makesNoClaim = node.text == "none"
            if node.text != "none" { fail(file, node.line, "claims expects none, not \(node.noun)") }
        default: break
        }
    }

    private mutating func kind(_ name: String, _ line: Int, _ file: String) -> AudioSessionClientKind? {
        if let kind = AudioSessionClientKind(rawValue: name) { return kind }
        let names = AudioSessionClientKind.allCases.map(\.rawValue)
        fail(file, line, "there is no kind \(Escaping.shown(name))" + NearestName.hint(name, among: names))
        return nil
    }

    private mutating func boolean(_ member: SPANode.Member, _ file: String) -> Bool {
        if let text = member.node.text, let value = Bool(text) { return value }
        fail(file, member.node.line, "\(member.key) expects true or false, not \(member.node.noun)")
        return false
    }

    private mutating func level(_ member: SPANode.Member, _ file: String) -> Decibels? {
        if let text = member.node.text {
            if let level = DuckLevel(rawValue: text) { return effects.levels[level] }
            if let value = SettingKey.decibels(text) { return value }
        }
        let names = DuckLevel.allCases.map(\.rawValue).joined(separator: ", ")
        fail(
            file, member.node.line,
            "level expects one of \(names), or decibels from -100 to 0, not \(member.node.noun)")
        return nil
    }

    private mutating func effects(
        _ member: SPANode.Member, _ file: String
    ) -> [AudioSessionClientKind: Effect] {
        var result: [AudioSessionClientKind: Effect] = [:]
        if member.node.text != nil {
            guard let effect = effect(member, file) else { return [:] }
            return Dictionary(uniqueKeysWithValues: AudioSessionClientKind.allCases.map { ($0, effect) })
        }
        guard case .object(let members) = member.node.value else {
            fail(file, member.node.line, "effects expects { holder = effect }, not \(member.node.noun)")
            return [:]
        }
        for inner in members {
            guard let holder = kind(inner.key, inner.line, file), let effect = effect(inner, file) else { continue }
            result[holder] = effect
        }
        return result
    }

    private mutating func effect(_ member: SPANode.Member, _ file: String) -> Effect? {
        guard let text = member.node.text, let cell = SettingKey.cell(text) else {
            fail(
                file, member.node.line,
                "\(Escaping.shown(member.key)) expects \(SettingKey.effectExpects), not \(member.node.noun)")
            return nil
        }
        switch cell {
        case .none: return Effect.none
        case .pause: return .pause
        case .mute: return .mute
        case .duck(let level): return .duck(effects.levels[level] ?? Decibels(0))
        case .decibels(let value): return .duck(value)
        }
    }
}
