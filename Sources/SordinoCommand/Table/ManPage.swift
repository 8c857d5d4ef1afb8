/// `sordino(1)` as roff (man macros), made from the table.
enum ManPage {
    static func text(version: String) -> String {
        var page = ".TH SORDINO 1 \"\" \"sordino \(version)\" \"User Commands\"\n"
        page += ".SH NAME\nsordino \\- \(escaped(CommandTable.summary))\n"
        page += ".SH SYNOPSIS\n" + CommandTable.commands.map { synopsis($0) }.joined(separator: ".br\n")
        page += ".SH DESCRIPTION\n\(line(CommandTable.description))"
        page += ".SH COMMANDS\n" + CommandTable.commands.map(command).joined()
        page += ".SH EXIT STATUS\n"
        for (code, meaning) in CommandTable.exitCodes { page += ".TP\n.B \(code)\n\(line(meaning))" }
        page += ".SH ENVIRONMENT\n"
        for (name, meaning) in CommandTable.environment { page += ".TP\n.B \(escaped(name))\n\(line(meaning))" }
        return page + files
    }

    private static let files = """
        .SH FILES
        .TP
        .I $XDG_CONFIG_HOME/sordino/sordino.conf, sordino.conf.d/*.conf
        the user\\(cqs configuration
        .TP
        .I /etc/sordino, /usr/share/sordino
        the system\\(cqs, and the one that came with the program
        .TP
        .I $XDG_RUNTIME_DIR/sordino/ledger
        every change that must be undone
        .SH SEE ALSO
        .BR pactl (1),
        .BR wpctl (1),
        .BR systemd.unit (5)

        """

    private static func synopsis(_ spec: CommandSpec) -> String {
        ".B sordino \(escaped(spec.name.rawValue))\n" + tail(spec)
    }

    private static func tail(_ spec: CommandSpec) -> String {
        spec.usageParts.isEmpty ? "" : line(spec.usageParts.joined(separator: " "))
    }

    private static func command(_ spec: CommandSpec) -> String {
        var text = ".SS \(escaped(spec.name.rawValue))\n" + line(HelpText.capitalized(spec.summary) + ".")
        for paragraph in spec.details.split(separator: "\n\n") { text += ".PP\n" + line(String(paragraph)) }
        for option in spec.options { text += ".TP\n.B \(escaped(option.usage))\n" + line(option.summary) }
        for (placeholder, summary) in spec.words { text += ".TP\n.I \(escaped(placeholder))\n" + line(summary) }
        return text
    }

    /// A line of running text. A leading dot or quote would be taken for a request.
    private static func line(_ text: String) -> String {
        let text = escaped(text)
        return (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + text + "\n"
    }

    /// `-` is a minus that can be copied; what is outside of ASCII is written by its name, whatever the output device.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "\\&..."
            case "“": result += "\\(lq"
            case "”": result += "\\(rq"
            case "’": result += "\\(cq"
            case "'": result += "\\(aq"
            case _ where !scalar.isASCII: result += "\\[u\(hex(scalar))]"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func hex(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
