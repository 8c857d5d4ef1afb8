import AudioPolicy

/// A command line that fits the table.
struct Invocation: Equatable, Sendable {
    var command: CommandName
    /// Flags that were given.
    var flags: Set<String> = []
    /// The values of options, in the order given.
    var values: [String: [String]] = [:]
    var arguments: [String] = []
    /// The program and its arguments, after `--`, where the command takes one.
    var program: [String] = []
    /// `--help`: only explain the command.
    var wantsHelp = false

    func has(_ flag: String) -> Bool { flags.contains(flag) }
    func value(_ option: String) -> String? { values[option]?.last }
}

enum ParsedLine: Equatable, Sendable {
    case invocation(Invocation)
    /// No command, or `--help` before one; of one family of commands, where its name stands before `--help`.
    case overview(family: String?)
    case version
}

/// What is wrong with a command line, in one line.
struct UsageError: Error, Equatable {
    let message: String
}

/// Reads a command line by the table. (The C library's `getopt_long` is not in Swift's view of it, keeps its place in
/// global variables, and does not know the nearest right word.)
struct CommandParser {
    private var rest: ArraySlice<String>
    private var invocation = Invocation(command: .help)
    private var spec = CommandTable.spec(.help)

    /// `arguments` are those after the program's own name.
    static func parse(_ arguments: [String]) throws(UsageError) -> ParsedLine {
        var parser = CommandParser(rest: arguments[...])
        return try parser.parse()
    }

    private init(rest: ArraySlice<String>) { self.rest = rest }

    private mutating func parse() throws(UsageError) -> ParsedLine {
        guard let first = rest.first else { return .overview(family: nil) }
        switch first {
        case "--help", "-h": return .overview(family: nil)
        case "--version", "-V": return .version
        default: break
        }
        if first.hasPrefix("-"), first != "-" {
            throw unknown("option", first, among: ["--help", "--version"])
        }
        guard let name = try commandName() else { return .overview(family: first) }
        invocation.command = name
        spec = CommandTable.spec(name)
        while let word = rest.popFirst() { try take(word) }
        if !invocation.wantsHelp { try checkArguments() }
        return .invocation(invocation)
    }

    /// Takes the command's words off the line. `nil` for a family's name with `--help`.
    private mutating func commandName() throws(UsageError) -> CommandName? {
        let first = rest.removeFirst()
        if let name = CommandName(rawValue: first) { return name }
        let family = CommandName.allCases.filter { $0.words.count == 2 && $0.words[0] == first }
        guard !family.isEmpty else {
            let words = CommandName.allCases.map { $0.words[0] }
            throw unknown("command", first, among: words)
        }
        let seconds = family.map { $0.words[1] }
        guard let second = rest.popFirst() else {
            throw UsageError(message: "“\(first)” needs one of \(listed(seconds))")
        }
        if second == "--help" || second == "-h" { return nil }
        guard let name = family.first(where: { $0.words[1] == second }) else {
            throw unknown("\(first) command", second, among: seconds)
        }
        return name
    }

    private mutating func take(_ word: String) throws(UsageError) {
        if word == "--" {
            if spec.program != nil { invocation.program = Array(rest) } else { invocation.arguments += rest }
            rest = []
        } else if word == "--help" || word == "-h" {
            invocation.wantsHelp = true
        } else if word.hasPrefix("-"), word != "-" {
            try takeOption(word)
        } else if spec.program != nil, spec.argument == nil || !invocation.arguments.isEmpty {
            throw UsageError(message: "“\(spec.name.rawValue)” takes its command after --, not “\(word.shown())”")
        } else {
            invocation.arguments.append(word)
        }
    }

    private mutating func takeOption(_ word: String) throws(UsageError) {
        let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let written = String(halves[0])
        guard written.hasPrefix("--"), let option = spec.option(named: String(written.dropFirst(2))) else {
            throw unknown(
                "option", written, of: spec.name, among: spec.options.map { "--\($0.name)" } + ["--help"])
        }
        guard let (placeholder, kind) = option.value else {
            guard halves.count == 1 else { throw UsageError(message: "\(written) takes no value") }
            invocation.flags.insert(option.name)
            return
        }
        guard let value = halves.count == 2 ? String(halves[1]) : rest.popFirst() else {
            throw UsageError(message: "\(written) needs a value: \(placeholder)")
        }
        try check(value, of: written, kind)
        if !option.repeats, invocation.values[option.name] != nil {
            throw UsageError(message: "\(written) is given twice")
        }
        invocation.values[option.name, default: []].append(value)
    }

    private func check(_ value: String, of option: String, _ kind: ValueKind) throws(UsageError) {
        switch kind {
        case .choice(let words) where !words.contains(value):
            throw UsageError(
                message: "\(option) takes \(listed(words)), not “\(value.shown())”"
                    + suggestion(for: value, among: words))
        case .seconds where !(Double(value).map { $0 > 0 && $0 <= 31_536_000 } ?? false):
            throw UsageError(message: "\(option) takes a number of seconds greater than 0, not “\(value.shown())”")
        case .word where value.isEmpty, .file where value.isEmpty:
            throw UsageError(message: "\(option) needs a value that is not empty")
        default: break
        }
    }

    private func checkArguments() throws(UsageError) {
        if let program = spec.program, program.isRequired, invocation.program.isEmpty {
            throw UsageError(message: "“\(spec.name.rawValue)” needs \(program.usage): \(program.summary)")
        }
        let count = invocation.arguments.count
        guard let argument = spec.argument else {
            guard count == 0 else {
                throw UsageError(
                    message:
                        "“\(spec.name.rawValue)” takes no arguments, and was given “\(invocation.arguments[0].shown())”"
                )
            }
            return
        }
        switch argument.count {
        case .one, .oneOrMore:
            if count == 0 {
                throw UsageError(message: "“\(spec.name.rawValue)” needs \(argument.usage): \(argument.summary)")
            }
        case .optional, .any: break
        }
        switch argument.count {
        case .one where count > 1, .optional where count > 1:
            throw UsageError(
                message: "“\(spec.name.rawValue)” takes one \(argument.placeholder), and was also given "
                    + "“\(invocation.arguments[1].shown())”")
        default: break
        }
        for word in invocation.arguments {
            guard !word.isEmpty else {
                throw UsageError(message: "“\(spec.name.rawValue)” was given an empty \(argument.placeholder)")
            }
            try check(word, of: "“\(spec.name.rawValue)”", argument.kind)
        }
    }

    private func unknown(
        _ what: String, _ word: String, of command: CommandName? = nil, among words: [String]
    ) -> UsageError {
        let place = command.map { " of “\($0.rawValue)”" } ?? ""
        let near = suggestion(for: word, among: words)
        let hint = near.isEmpty ? "; see “sordino \(command.map { "help \($0.rawValue)" } ?? "help")”" : near
        return UsageError(message: "unknown \(what)\(place) “\(word.shown())”\(hint)")
    }
}

/// `; did you mean “status”?`, or nothing.
func suggestion(for word: String, among words: [String]) -> String {
    nearestWord(to: word, among: words).map { "; did you mean “\($0)”?" } ?? ""
}

/// `auto, pipewire or pulseaudio`.
func listed(_ words: [String]) -> String {
    guard words.count > 1, let last = words.last else { return words.joined() }
    return words.dropLast().joined(separator: ", ") + " or " + last
}
