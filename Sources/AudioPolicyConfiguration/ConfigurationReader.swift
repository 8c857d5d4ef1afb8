internal import AudioPolicy
internal import AudioSession

/// Gathers settings out of files, in the order they are read; later ones override earlier ones key by key.
struct ConfigurationReader {
    private(set) var settings = PolicySettings()
    private(set) var problems: [ConfigurationProblem] = []
    /// Rules as written, by file: they need the levels, which a later file may still change. The last read comes first:
    /// what is nearer to the user has precedence.
    private var ruleFiles: [(file: String, rules: [SPANode])] = []
    private var tableFiles: [(file: String, rules: [SPANode])] = []

    private static let sections = [
        "session", "levels", "effects", "timing", "observed", "bluetooth", "pulseaudio", "rules", "applications",
    ]
    private static let keys = Dictionary(SettingKey.all.map { ($0.path, $0) }) { first, _ in first }

    /// `replacesTable`: the file is the whole application table, in place of those before.
    mutating func read(_ text: String, file: String, replacesTable: Bool = false) {
        if replacesTable { tableFiles = [] }
        do {
            for member in try SPAReader.members(of: text) { read(member, path: [], file) }
        } catch {
            problems.append(ConfigurationProblem(file: file, line: error.line, message: error.message))
        }
    }

    mutating func fail(_ file: String, _ line: Int, _ message: String) {
        problems.append(ConfigurationProblem(file: file, line: line, message: message))
    }

    /// The settings, once every file has been read.
    mutating func finish() -> PolicySettings {
        var reader = RuleReader(effects: settings.effects, warnsOfSharedNames: true)
        settings.rules = ruleFiles.reversed().flatMap { reader.rules($0.rules, file: $0.file) }
        var tableReader = RuleReader(effects: settings.effects, warnsOfSharedNames: false)
        settings.applications = tableFiles.reversed().flatMap { tableReader.rules($0.rules, file: $0.file) }
        problems += reader.problems + tableReader.problems
        return settings
    }

    private mutating func read(_ member: SPANode.Member, path: [String], _ file: String) {
        let path = path + member.key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        switch path.first {
        case "rules" where path.count == 1: gather(member, file, into: \.ruleFiles)
        case "applications" where path.count == 1: gather(member, file, into: \.tableFiles)
        case "effects": readEffect(member, path, file)
        default: readKey(member, path, file)
        }
    }

    private mutating func gather(
        _ member: SPANode.Member, _ file: String,
        into list: WritableKeyPath<ConfigurationReader, [(file: String, rules: [SPANode])]>
    ) {
        guard case .array(let rules) = member.node.value else {
            return fail(file, member.line, "\(member.key) expects a list, [ … ], not \(member.node.noun)")
        }
        self[keyPath: list].append((file, rules))
    }

    private mutating func readKey(_ member: SPANode.Member, _ path: [String], _ file: String) {
        let name = path.joined(separator: ".")
        let isSection = Self.keys.keys.contains { $0.hasPrefix(name + ".") }
        switch member.node.value {
        case .object(let members) where isSection:
            for inner in members { read(inner, path: path, file) }
        case .scalar(let text, _):
            guard let key = Self.keys[name] else {
                return isSection
                    ? fail(file, member.line, "\(name) expects { … }, not \(member.node.noun)")
                    : failUnknown(name, member, file)
            }
            if !key.set(text, &settings) {
                fail(file, member.node.line, "\(name) expects \(key.expects), not \(member.node.noun)")
            }
        default:
            guard let key = Self.keys[name] else {
                return isSection
                    ? fail(file, member.line, "\(name) expects { … }, not \(member.node.noun)")
                    : failUnknown(name, member, file)
            }
            fail(file, member.node.line, "\(name) expects \(key.expects), not \(member.node.noun)")
        }
    }

    private mutating func failUnknown(_ name: String, _ member: SPANode.Member, _ file: String) {
        let section = name.split(separator: ".").first.map(String.init) ?? name
        let names = Self.sections.contains(section) ? Self.keys.keys.sorted() : Self.sections + Self.keys.keys.sorted()
        fail(file, member.line, "there is no key \(Escaping.shown(name))" + NearestName.hint(name, among: names))
    }

    // MARK: The effect table

    private mutating func readEffect(_ member: SPANode.Member, _ path: [String], _ file: String) {
        if case .object(let members) = member.node.value, path.count < 3 {
            if path.count == 2, kind(path[1], member.line, file) == nil { return }
            for inner in members { read(inner, path: path, file) }
            return
        }
        guard path.count == 3 else {
            let name = path.joined(separator: ".")
            return fail(file, member.line, "\(Escaping.shown(name)) expects { … }, not \(member.node.noun)")
        }
        guard let holder = kind(path[1], member.line, file), let victim = kind(path[2], member.line, file) else {
            return
        }
        guard let text = member.node.text, let cell = SettingKey.cell(text) else {
            let name = path.joined(separator: ".")
            return fail(file, member.node.line, "\(name) expects \(SettingKey.effectExpects), not \(member.node.noun)")
        }
        guard holder != victim || cell == .none else {
            return fail(
                file, member.line,
                "\(holder.rawValue) would act on itself: what plays would be turned down because it plays")
        }
        settings.effects.cells[holder, default: [:]][victim] = cell
    }

    private mutating func kind(_ name: String, _ line: Int, _ file: String) -> AudioSessionClientKind? {
        if let kind = AudioSessionClientKind(rawValue: name) { return kind }
        let names = AudioSessionClientKind.allCases.map(\.rawValue)
        fail(file, line, "there is no kind \(Escaping.shown(name))" + NearestName.hint(name, among: names))
        return nil
    }
}
