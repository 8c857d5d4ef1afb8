import AudioPolicyConfiguration

/// The reference of the configuration, told once: as `sordino.conf(5)` and as a page of the documentation.
struct ConfigurationPage {
    enum Block {
        case heading(String)
        /// Words of a file stand between backticks.
        case text(String)
        /// Lines as they are.
        case lines(String)
        case terms([(term: String, text: String)])
        case entries([ConfigurationReference.Entry])
        /// Who does what to whom.
        case effects
    }

    static let summary = "the configuration of Sordino"

    static let blocks: [Block] =
        [
            .text(
                """
                Sordino works without any configuration. What is to be different is written into a file of your own, \
                with only the keys that differ:
                """),
            .lines(
                """
                # ~/.config/sordino/sordino.conf.d/my.conf
                levels = { medium = -15 }
                timing.silence-s.voice = 10
                rules = [
                    { matches = [ { application.process.binary = "~^podcasts" } ]  actions = { kind = playback } }
                ]
                """),
            .text(
                """
                The syntax is that of PipeWire's and WirePlumber's files: JSON, in which commas and the quotes of \
                simple words may be left out, `=` may stand for `:`, the outermost braces may be missing and `#` begins \
                a comment. A key may be written nested or with dots: `timing = { hold-ms = 0 }` and \
                `timing.hold-ms = 0` are the same.
                """),
            .text(
                """
                `sordino config check` names the file, the line and the nearest right name of whatever is wrong: an \
                unknown key, a value of the wrong type or out of its range, a pattern that does not compile, conditions \
                that exclude each other. `sordino config show` prints what all files together come to. \
                `sordino config reload`, or SIGHUP, has the running daemon read them again; it keeps its last good \
                configuration where the new one is bad. A daemon that is started on a bad one ends with exit status 78.
                """),
        ] + files + settings + effects + rules + applications

    private static let files: [Block] = [
        .heading("Files"),
        .text("Read in this order. Later files override earlier ones key by key; rules add up."),
        .terms([
            ("built in", "every key at its default, and the application table"),
            ("/usr/share/sordino", "the distribution's"),
            ("/etc/sordino", "the machine's"),
            ("$XDG_CONFIG_HOME/sordino", "the user's; ~/.config/sordino where the variable is not set"),
        ]),
        .text(
            """
            In each directory: `applications.conf`, which takes the place of the application tables before it, \
            `sordino.conf`, and `sordino.conf.d/*.conf` in the order of their names. `sordino run --config FILE` reads \
            that file alone. A file is UTF-8 text of at most 1 MiB.
            """),
    ]

    private static let settings: [Block] = [
        .heading("Settings"),
        .text(
            """
            Levels are in decibels of amplitude below what a stream has of its own: -6 is half, -20 a tenth. Nothing is \
            ever made louder than its user made it.
            """),
        .entries(ConfigurationReference.keys),
    ]

    private static let effects: [Block] = [
        .heading("Effects"),
        .text(
            """
            `effects = { HOLDER = { VICTIM = effect } }` says what one kind does to the streams of another while it is \
            held. An effect is \(ConfigurationReference.effect). The name of a level stands for what `levels` says. \
            What is not listed is `none`. Of several effects on one stream the strongest applies: `pause` before \
            `mute`, `mute` before any level. A kind cannot act on itself. `pause` and `mute` act only on streams that \
            played already; one that somebody starts meanwhile is turned down instead, as far as the holder turns down \
            music.
            """),
        .text("Kinds are"),
        .terms([
            ("ambient", "event sounds"),
            ("playback", "spoken: voice messages, podcasts"),
            ("mediaPlayback", "music and film"),
            ("game", "games"),
            ("speech", "text to speech, assistants, screen readers"),
            ("recording", "a microphone; acts on others only when a program asked for it"),
            ("call", "between two"),
            ("groupCall", "voice rooms, meetings"),
            ("alarm", "alarms, timers, ringing"),
        ]),
        .text("What each does to others where nobody has changed it:"),
        .effects,
    ]

    private static let rules: [Block] = [
        .heading("Rules"),
        .text(
            """
            `rules = [ { name = NAME  matches = [ { property = pattern … } … ]  actions = { … } } … ]` makes exceptions \
            for single programs. A rule fits a stream if all conditions of one entry of `matches` hold. `name` may be \
            left out. Where several rules fit, `exempt-from`, `ignore`, `claims` and `plumbing` add up; of the other \
            actions the first one counts, in the file read last, and within one file from the top.
            """),
        .text("A pattern is"),
        .terms([
            ("text", "the value itself. Roles are the same in PulseAudio's and PipeWire's spelling, in whatever case."),
            ("~expression", "a POSIX extended regular expression that is found somewhere in the value"),
            ("!text, !~expression", "the opposite; a property that the stream does not have fits too"),
            ("null", "the stream does not have the property"),
        ]),
        .text("Actions:"),
        .entries(ConfigurationReference.actions),
        .text(
            """
            A property is one of the stream's, or else of its client's; `pactl list sink-inputs` shows them. Properties \
            of your own, given to a program with `PULSE_PROP` or `PIPEWIRE_PROPS`, must begin with `x-`. Values are cut \
            at 4 KiB before a pattern sees them. Besides the servers' properties there are:
            """),
        .entries(ConfigurationReference.properties),
        .text("Of the servers' properties these are known; any other name is an error:"),
        .text(ConfigurationReference.serverProperties.map { "`\($0)`" }.joined(separator: ", ") + "."),
        .text(
            """
            A rule that fits every program of a toolkit (`application.name = Chromium`) is a warning: add what tells \
            yours apart.
            """),
    ]

    private static let applications: [Block] = [
        .heading("The application table"),
        .text(
            """
            `applications`, of the same form as `rules`, holds the programs whose role lies or is lacking. It is asked \
            after the rules and before a stream's role. To change an entry, write a rule: `sordino explain` says which \
            entry decided.
            """),
    ]
}

// MARK: The two forms

extension ConfigurationPage {
    static func man(version: String) -> String {
        """
        .TH SORDINO.CONF 5 "" "sordino \(version)" "File Formats"
        .SH NAME
        sordino.conf \\- \(summary)


        """ + roff([.heading("Description")] + blocks) + """
            .SH SEE ALSO
            .BR sordino (1),
            .BR regex (7)

            """
    }

    static func markdown() -> String {
        """
        # Configuration reference

        *Made by `sordino help --reference markdown`; the same as the manual page sordino.conf(5).*

        """ + blocks.map { "\n" + markdown($0) + "\n" }.joined()
    }

    private static func roff(_ blocks: [Block]) -> String {
        var isFirst = false
        return blocks.map { block in
            defer { if case .heading = block { isFirst = true } else { isFirst = false } }
            // A section's first paragraph needs no mark of its own.
            if case .text(let text) = block, isFirst { return Roff.prose(text) }
            return roff(block)
        }.joined()
    }

    private static func roff(_ block: Block) -> String {
        switch block {
        case .heading(let text): ".SH \(Roff.escaped(text.uppercased()))\n"
        case .text(let text): ".PP\n" + Roff.prose(text)
        case .lines(let text):
            ".PP\n.nf\n" + text.split(separator: "\n").map { Roff.line(String($0)) }.joined() + ".fi\n"
        case .terms(let terms): terms.map { ".TP\n.B \(Roff.escaped($0.term))\n" + Roff.prose($0.text) }.joined()
        case .entries(let entries): entries.map(roff).joined()
        case .effects:
            ConfigurationReference.effects.map { holder, cells in
                let row = cells.map { "\($0.victim) `\($0.effect)`" }.joined(separator: ", ")
                return ".TP\n.B \(Roff.escaped(holder))\n" + Roff.prose(row)
            }.joined()
        }
    }

    private static func roff(_ entry: ConfigurationReference.Entry) -> String {
        let standard = entry.standard.map { "; `\($0)` by default" } ?? ""
        return ".TP\n.B \(Roff.escaped(entry.name))\n" + Roff.prose(entry.meaning)
            + Roff.prose("(" + entry.expects + standard + ")")
    }

    private static func markdown(_ block: Block) -> String {
        switch block {
        case .heading(let text): "## \(text)"
        case .text(let text): text
        case .lines(let text): "```conf\n\(text)\n```"
        case .terms(let terms): terms.map { "- `\($0.term)`: \($0.text)" }.joined(separator: "\n")
        case .entries(let entries): table(entries)
        case .effects: effectTable
        }
    }

    private static func table(_ entries: [ConfigurationReference.Entry]) -> String {
        let hasStandard = entries.contains { $0.standard != nil }
        let rows = entries.map { entry in
            ["`\(entry.name)`", entry.meaning, entry.expects] + (hasStandard ? ["`\(entry.standard ?? "")`"] : [])
        }
        return table(["name", "meaning", "values"] + (hasStandard ? ["default"] : []), rows)
    }

    /// The table of effects as Markdown.
    static var effectTable: String {
        let victims = ConfigurationReference.kinds.filter { kind in
            ConfigurationReference.effects.contains { $0.cells.contains { $0.victim == kind } }
        }
        let rows = ConfigurationReference.effects.map { holder, cells in
            [holder] + victims.map { victim in cells.first { $0.victim == victim }?.effect ?? "" }
        }
        return table(["holder ↓ acts on →"] + victims, rows)
    }

    private static func table(_ header: [String], _ rows: [[String]]) -> String {
        ([header, header.map { _ in "---" }] + rows).map { "| \($0.joined(separator: " | ")) |" }
            .joined(separator: "\n")
    }
}
