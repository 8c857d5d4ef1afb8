/// What a value on the command line may be.
enum ValueKind: Equatable, Sendable {
    case word
    case choice([String])
    case file
    /// A time in seconds, greater than 0, at most a year; fractions allowed.
    case seconds
}

/// One option, written `--name` or `--name=VALUE`.
struct OptionSpec: Sendable {
    let name: String
    /// The value's name in help (`FILE`) and what it may be; `nil` for a flag.
    let value: (placeholder: String, kind: ValueKind)?
    let repeats: Bool
    let summary: String

    static func flag(_ name: String, _ summary: String) -> OptionSpec {
        OptionSpec(name: name, value: nil, repeats: false, summary: summary)
    }

    static func value(
        _ name: String, _ placeholder: String, _ kind: ValueKind = .word, repeats: Bool = false, _ summary: String
    ) -> OptionSpec {
        OptionSpec(name: name, value: (placeholder, kind), repeats: repeats, summary: summary)
    }

    /// `--server auto|pipewire|pulseaudio`, `--config FILE`, `--json`.
    var usage: String { value.map { "--\(name) \($0.placeholder)" } ?? "--\(name)" }
}

/// The words after the options.
struct ArgumentSpec: Sendable {
    enum Count: Sendable {
        case one, optional, any, oneOrMore
    }

    let placeholder: String
    let kind: ValueKind
    let count: Count
    let summary: String

    var usage: String {
        switch count {
        case .one: placeholder
        case .optional: "[\(placeholder)]"
        case .any: "[\(placeholder)…]"
        case .oneOrMore: "\(placeholder)…"
        }
    }
}

/// A program and its arguments, after `--`.
struct ProgramSpec: Sendable {
    let isRequired: Bool
    let summary: String

    static let placeholder = "COMMAND"

    var usage: String { isRequired ? "-- \(Self.placeholder)…" : "[-- \(Self.placeholder)…]" }
}

/// Every command that there is. Its text is what is typed, a space between the words.
enum CommandName: String, CaseIterable, Sendable {
    case run, status, monitor, hold, off, on, devices, select, ignore, explain, classify, restore
    case configCheck = "config check"
    case configShow = "config show"
    case configReload = "config reload"
    case headless, demo, help

    var words: [String] { rawValue.split(separator: " ").map(String.init) }
}

/// One row of the table that parsing, help, the manual page and the completions are made from.
struct CommandSpec: Sendable {
    let name: CommandName
    /// A few words, in the imperative.
    let summary: String
    /// Sentences for the command's own help and the manual page; paragraphs are divided by an empty line.
    let details: String
    let options: [OptionSpec]
    let argument: ArgumentSpec?
    let program: ProgramSpec?

    init(
        _ name: CommandName, _ summary: String, details: String = "", options: [OptionSpec] = [],
        argument: ArgumentSpec? = nil, program: ProgramSpec? = nil
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.options = options
        self.argument = argument
        self.program = program
    }

    /// `[--server auto|pipewire|pulseaudio]`, `[--config FILE]`, …
    var usageParts: [String] {
        let options = options.map { $0.repeats ? "[\($0.usage)]…" : "[\($0.usage)]" }
        let words = [argument?.usage].compactMap(\.self)
        // A program of its own takes all that follows; beside one, an argument comes first.
        return (program == nil ? options + words : words + options) + [program?.usage].compactMap(\.self)
    }

    /// The words after the options and what they are, for help.
    var words: [(placeholder: String, summary: String)] {
        [argument.map { ($0.placeholder, $0.summary) }, program.map { (ProgramSpec.placeholder, $0.summary) }]
            .compactMap(\.self)
    }

    /// `run [--server auto|pipewire|pulseaudio] [--config FILE] [--replace]`.
    var usage: String { ([name.rawValue] + usageParts).joined(separator: " ") }

    func option(named name: String) -> OptionSpec? { options.first { $0.name == name } }
}
