/// `sordino(1)` as roff (man macros), made from the table.
enum ManPage {
    static func text(version: String) -> String {
        var page = ".TH SORDINO 1 \"\" \"sordino \(version)\" \"User Commands\"\n"
        page += ".SH NAME\nsordino \\- \(Roff.escaped(CommandTable.summary))\n"
        page += ".SH SYNOPSIS\n" + CommandTable.commands.map { synopsis($0) }.joined(separator: ".br\n")
        page += ".SH DESCRIPTION\n\(Roff.line(CommandTable.description))"
        page += ".SH COMMANDS\n" + CommandTable.commands.map(command).joined()
        page += ".SH EXIT STATUS\n"
        for (code, meaning) in CommandTable.exitCodes { page += ".TP\n.B \(code)\n\(Roff.line(meaning))" }
        page += ".SH ENVIRONMENT\n"
        for (name, meaning) in CommandTable.environment {
            page += ".TP\n.B \(Roff.escaped(name))\n\(Roff.line(meaning))"
        }
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
        .BR sordino.conf (5),
        .BR pactl (1),
        .BR wpctl (1),
        .BR systemd.unit (5)

        """

    private static func synopsis(_ spec: CommandSpec) -> String {
        ".B sordino \(Roff.escaped(spec.name.rawValue))\n" + tail(spec)
    }

    private static func tail(_ spec: CommandSpec) -> String {
        spec.usageParts.isEmpty ? "" : Roff.line(spec.usageParts.joined(separator: " "))
    }

    private static func command(_ spec: CommandSpec) -> String {
        var text = ".SS \(Roff.escaped(spec.name.rawValue))\n" + Roff.line(HelpText.capitalized(spec.summary) + ".")
        for paragraph in spec.details.split(separator: "\n\n") { text += ".PP\n" + Roff.line(String(paragraph)) }
        for option in spec.options { text += ".TP\n.B \(Roff.escaped(option.usage))\n" + Roff.line(option.summary) }
        for (placeholder, summary) in spec.words {
            text += ".TP\n.I \(Roff.escaped(placeholder))\n" + Roff.line(summary)
        }
        return text
    }
}
