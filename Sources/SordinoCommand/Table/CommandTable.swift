import AudioSession

/// The command line of `sordino`, in one table.
enum CommandTable {
    static let summary = "lowers or pauses what must give way to a call, and puts it back exactly as it was"

    static let description = """
        Sordino is the one owner of a Linux desktop's audio session. It watches the streams on the running sound server, \
        PulseAudio or PipeWire, takes each for what it is (a call, music, an alarm, a screen reader), lowers or pauses \
        what must give way, says who lost what and why, and puts everything back exactly as it was.
        """

    static let exitCodes: [(code: Int32, meaning: String)] = [
        (0, "all went well"),
        (64, "the command line is wrong"),
        (65, "a dump of streams is malformed"),
        (66, "a file cannot be read"),
        (69, "no sound server, or no running Sordino"),
        (70, "an internal fault"),
        (73, "a file cannot be written"),
        (75, "busy with a call: a recording is refused"),
        (77, "not permitted"),
        (78, "the configuration is wrong"),
    ]

    static let environment: [(name: String, meaning: String)] = [
        ("PULSE_SERVER, PULSE_RUNTIME_PATH", "where PulseAudio's socket is"),
        ("PIPEWIRE_REMOTE, PIPEWIRE_RUNTIME_DIR", "where PipeWire's socket is"),
        ("XDG_RUNTIME_DIR", "sordino/lock and sordino/ledger are kept there"),
        ("XDG_STATE_HOME", "sordino/ledger there is a copy of what outlives a restart of the machine"),
        ("XDG_CONFIG_HOME", "sordino/sordino.conf and sordino/sordino.conf.d are the user's configuration"),
        ("DBUS_SESSION_BUS_ADDRESS", "the session bus"),
    ]

    private static let json = OptionSpec.flag("json", "print JSON instead of a table")

    private static func server(_ choices: [String], _ summary: String) -> OptionSpec {
        .value("server", choices.joined(separator: "|"), .choice(choices), summary)
    }

    static let commands: [CommandSpec] = session + streams + configuration + workshop

    /// The daemon and the session as a whole.
    private static let session: [CommandSpec] = [
        CommandSpec(
            .run, "run the daemon in the foreground",
            details: """
                Takes the sound server that answers, and waits for one where none does. A second daemon of the same \
                user is refused. SIGTERM and SIGINT undo every effect before it ends; SIGHUP reads the configuration \
                again.
                """,
            options: [
                server(["auto", "pipewire", "pulseaudio"], "which sound server to use; auto by default"),
                .value("config", "FILE", .file, "read this configuration instead of the user's and the system's"),
                .flag("replace", "end the daemon that is running and take its place"),
            ]),
        CommandSpec(.status, "show the session: server, claims, streams, devices", options: [json]),
        CommandSpec(
            .monitor, "print one line for each event, until interrupted",
            details: "With --json each line is one JSON object with the keys time and event and the object concerned.",
            options: [.flag("json", "print JSON Lines")]),
        hold,
        CommandSpec(
            .off, "undo all effects and leave every stream alone; claims are kept",
            options: [.value("for", "SECONDS", .seconds, "stay in the foreground that long, then switch on again")]),
        CommandSpec(.on, "let effects act again"),
        CommandSpec(.devices, "show the devices: id, name, type, which are in use", options: [json]),
        CommandSpec(
            .select, "take what wins to a device",
            details: """
                The playback of the winning claim, a call for example, goes to the device from now on, and back to where \
                it was with “sordino select automatic”, when the claim is over or the device is gone. Everything else \
                stays where it is, and so does the default device.
                """,
            argument: ArgumentSpec(
                placeholder: "DEVICE", kind: .word, count: .one,
                summary: "a playback device's id as “sordino devices” shows it, or automatic")),
        CommandSpec(
            .restore, "undo everything in the ledger, with or without a daemon",
            details: """
                Run it when a stream stayed low or muted after a crash. It needs a sound server, and no daemon.
                """,
            options: [
                .flag("hidden-gain", "also clear a gain on PipeWire streams that no mixer shows, whoever left it")
            ]),
    ]

    private static let kinds = AudioSessionClientKind.allCases.map(\.rawValue)
    private static let outputs = AudioSessionOutput.allCases.map(\.rawValue)

    private static let hold = CommandSpec(
        .hold, "hold a claim while a command, a time or the terminal lasts",
        details: """
            What the command plays and records belongs to the claim: it is taken for what KIND says, gives way to nothing \
            that the claim does, and everything else gives way as the table of effects has it. A call is activated at \
            once. Signals are passed on to the command, and its exit status is this command's, 128 + n for a signal. \
            With a time and a command, the claim ends with whichever ends first, and the command goes on.

            A recording is refused while a call lasts: exit 75, with a line that names who is in it. When the daemon \
            restarts, the claim is acquired again.
            """,
        options: [
            .value(
                "output", outputs.joined(separator: "|"), .choice(outputs), "where it is to sound; system by default"),
            .value("name", "NAME", .word, "what the claim's owner is called; by default the command's name"),
            .value("for", "SECONDS", .seconds, "hold the claim no longer than this"),
            .flag("interrupting", "interrupt the calls and recordings of others while it is held"),
            .flag("ducking-advanced", "turn others down only while somebody speaks, on either side"),
            .flag("verbose", "say on the standard error what the claim is told, a line for each event"),
        ],
        argument: ArgumentSpec(
            placeholder: "KIND", kind: .choice(kinds), count: .one, summary: "one of \(listed(kinds))"),
        program: ProgramSpec(isRequired: false, summary: "the program and its arguments; without one, Ctrl-C ends it"))

    /// Single streams and programs.
    private static let streams: [CommandSpec] = [
        CommandSpec(
            .ignore, "leave one program alone from now on",
            details: "Writes a rule into sordino.conf.d in the user's configuration, and has a running daemon read it.",
            argument: ArgumentSpec(
                placeholder: "APP", kind: .word, count: .one,
                summary: "the program's name as the status shows it, or its executable's")),
        CommandSpec(
            .explain, "say why a stream is as it is",
            argument: ArgumentSpec(
                placeholder: "STREAM", kind: .word, count: .one,
                summary: "a stream's number, or a part of its program's name")),
        CommandSpec(
            .classify, "say what the streams in a dump would be taken for",
            details: """
                Reads what pactl -f json list prints, or list sink-inputs or list source-outputs; - is the standard \
                input. Needs no sound server. With --json, one JSON object a line for each stream, in the file's order.
                """,
            options: [json],
            argument: ArgumentSpec(placeholder: "FILE", kind: .file, count: .oneOrMore, summary: "a dump")),
    ]

    private static let configuration: [CommandSpec] = [
        CommandSpec(
            .configCheck, "check configuration files",
            details: "Without a file, the configuration that the daemon would read.",
            argument: ArgumentSpec(placeholder: "FILE", kind: .file, count: .any, summary: "a configuration file")),
        CommandSpec(.configShow, "print the configuration in force, with the files that it comes from"),
        CommandSpec(.configReload, "have the running daemon read its configuration again"),
    ]

    /// Private servers.
    private static let workshop: [CommandSpec] = [
        CommandSpec(
            .headless, "run a command beside a private sound server and bus",
            details: """
                Everything that it starts lives in a directory of its own and ends with the command, whose exit status \
                is passed on. Nothing of the machine's own sound is used.
                """,
            options: [
                server(
                    ["pipewire", "pulseaudio"], "which sound server to start; by default pipewire, if it is installed"),
                .value("sink", "NAME", repeats: true, "a null sink to have"),
                .value("source", "NAME", repeats: true, "a null source to have"),
                .value("card", "PRESET", repeats: true, "a virtual sound card to have"),
            ],
            program: ProgramSpec(isRequired: true, summary: "the program and its arguments")),
        CommandSpec(
            .demo, "show the whole thing on a private sound server, in under 30 s",
            options: [
                server(
                    ["pipewire", "pulseaudio"], "which sound server to start; by default pipewire, if it is installed"),
                .value("svg", "FILE", .file, "also write the plot of levels as an SVG image"),
            ]),
        CommandSpec(
            .help, "explain a command",
            options: [
                .flag("man", "print the manual page as roff"),
                .value(
                    "reference", "man|markdown", .choice(["man", "markdown"]),
                    "print the reference of the configuration, as sordino.conf(5) or as Markdown"),
                .value(
                    "completions", "bash|zsh", .choice(["bash", "zsh"]), "print the completions for this shell"),
            ],
            argument: ArgumentSpec(
                placeholder: "COMMAND", kind: .word, count: .any, summary: "the command's name")),
    ]

    static func spec(_ name: CommandName) -> CommandSpec {
        // Every name has a row: a test goes through all of them.
        commands.first { $0.name == name } ?? CommandSpec(name, "")
    }
}
