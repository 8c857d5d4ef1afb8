import AudioPolicy
import AudioPolicyConfiguration
import Glibc
import SessionBus
import SordinoDaemon

/// Configuration files, and what they make of streams.
enum ConfigurationCommands {
    // MARK: config

    /// Each problem is a line with file and line; errors go to the standard error and are exit 78.
    static func check(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let found =
            invocation.arguments.isEmpty
            ? PolicyConfiguration.load() : PolicyConfiguration.load(files: invocation.arguments)
        for warning in found.warnings { context.out("\(warning)\n") }
        try found.refuse()
        let files = found.files.isEmpty ? "the built-in configuration" : listed(found.files)
        context.out("\(files): no errors\n")
    }

    static func show(_ context: Context) throws(CommandFailure) {
        let found = PolicyConfiguration.load()
        try found.refuse()
        for file in found.files { context.out("# \(file)\n") }
        context.out(PolicyConfiguration.print(found.settings))
    }

    // MARK: ignore

    /// Writes the rule, and has a running daemon read it.
    static func ignore(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let application = invocation.arguments[0]
        guard let directory = PolicyConfiguration.userDirectory() else {
            throw CommandFailure(ExitCode.cannotCreate, "there is no home directory to keep the rule in")
        }
        let rule = IgnoreRule(for: application)
        let path = "\(directory)/sordino.conf.d/\(rule.fileName)"
        try writeUserFile(path, rule.content)
        context.out("\(application.shown()) is left alone from now on; delete \(path.shown(limit: 400)) to undo that\n")
        do throws(BusError) {
            try SessionBusClient(address: BusContract.address(in: context.environment)).reload()
        } catch {
            switch error.code {
            case .noBus, .noDaemon: break
            case .refused: throw CommandFailure(ExitCode.configuration, error.message)
            default: throw CommandFailure(error)
            }
        }
    }

    // MARK: classify

    static func classify(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let settings = try SettingsSource().load().settings
        var streams: [ClassifiedStream] = []
        for file in invocation.arguments {
            do throws(StreamDump.FormatError) {
                streams += try classifyDump(file, settings: settings)
            } catch {
                let isThere = file == "-" || access(file, R_OK) == 0
                throw CommandFailure(
                    isThere ? ExitCode.dataFormat : ExitCode.noInput,
                    "\(file.shown(limit: 200)):\(error.line): \(error.message.shown(limit: 300))")
            }
        }
        if invocation.has("json") {
            for stream in streams { context.out(SessionJSON.encode(stream) + "\n") }
        } else {
            context.out(table(streams))
        }
    }

    private static func table(_ streams: [ClassifiedStream]) -> String {
        guard !streams.isEmpty else { return "no streams\n" }
        var table = TextTable("Streams", ["FILE", "DIRECTION", "INDEX", "KIND", "CAPTURES", "BY"])
        for stream in streams {
            table.add(
                stream.file.shown(limit: 40), stream.direction, "\(stream.index)",
                stream.plumbing ? "plumbing" : stream.kind ?? "nothing", stream.capture ?? "",
                stream.classifiedBy + (stream.rule.map { " \($0.shown())" } ?? ""))
        }
        return String(table.text.dropFirst())
    }
}
