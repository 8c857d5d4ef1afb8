/// The help, made from the table.
enum HelpText {
    static let width = 79

    static func overview() -> String {
        let commands = CommandTable.commands.map { ($0.name.rawValue, $0.summary) }
        return """
            sordino: \(CommandTable.summary)

            Usage: sordino COMMAND [OPTION…] [ARGUMENT…]

            Commands:
            \(columns(commands))

            “sordino help COMMAND” or “sordino COMMAND --help” explains one; “man sordino” has it all.

            """
    }

    /// The commands whose words begin with these.
    static func family(_ word: String) -> String {
        let commands = CommandTable.commands.filter { $0.name.words.first == word }
        return "Usage:\n\(columns(commands.map { ("sordino " + $0.usage, $0.summary) }))\n"
    }

    static func command(_ spec: CommandSpec) -> String {
        var parts = [usage(spec), wrap(capitalized(spec.summary) + ".", indent: 0)]
        parts += spec.details.split(separator: "\n\n").map { wrap(String($0), indent: 0) }
        let rows = spec.options.map { ($0.usage, $0.summary) } + spec.words
        if !rows.isEmpty { parts.append(columns(rows)) }
        return parts.joined(separator: "\n\n") + "\n"
    }

    /// Broken between options, never inside of one.
    private static func usage(_ spec: CommandSpec) -> String {
        var lines = ["Usage: sordino \(spec.name.rawValue)"]
        for part in spec.usageParts {
            let line = lines[lines.count - 1] + " " + part
            if line.count <= width { lines[lines.count - 1] = line } else { lines.append("           " + part) }
        }
        return lines.joined(separator: "\n")
    }

    static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    /// Two columns, the second wrapped; a first one too wide for its column stands on a line of its own.
    private static func columns(_ rows: [(String, String)]) -> String {
        let column = min(rows.map { $0.0.count }.max() ?? 0, 26)
        return rows.map { name, text in
            let wrapped = wrap(text, indent: column + 4)
            guard name.count <= column else { return "  \(name)\n\(wrapped)" }
            return "  " + name + String(repeating: " ", count: column + 2 - name.count) + wrapped.dropFirst(column + 4)
        }.joined(separator: "\n")
    }

    /// Breaks text at spaces into lines of at most `width`, each led by `indent` spaces.
    static func wrap(_ text: String, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        lines.append(line)
        let lead = String(repeating: " ", count: indent)
        return lines.map { lead + $0 }.joined(separator: "\n")
    }
}
