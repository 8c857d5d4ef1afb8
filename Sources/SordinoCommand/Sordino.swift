import AudioPolicy
import Glibc
import SordinoDaemon

/// The command `sordino`.
public enum Sordino {
    static let version = "0.1.0"

    /// Runs the command line of this process and ends it.
    public static func main() -> Never { exit(run(Array(CommandLine.arguments.dropFirst()), .process())) }

    /// Runs one command line. Returns the exit code.
    static func run(_ arguments: [String], _ context: Context) -> Int32 {
        do throws(CommandFailure) {
            return try perform(parse(arguments), context)
        } catch {
            for line in error.message.split(separator: "\n") { context.err("sordino: \(line)\n") }
            return error.code
        }
    }

    private static func parse(_ arguments: [String]) throws(CommandFailure) -> ParsedLine {
        do throws(UsageError) {
            return try CommandParser.parse(arguments)
        } catch {
            throw CommandFailure(ExitCode.usage, error.message)
        }
    }

    private static func perform(_ line: ParsedLine, _ context: Context) throws(CommandFailure) -> Int32 {
        switch line {
        case .overview(let family):
            context.out(family.map(HelpText.family) ?? HelpText.overview())
            return ExitCode.ok
        case .version:
            context.out("sordino \(version)\n")
            return ExitCode.ok
        case .invocation(let invocation) where invocation.wantsHelp:
            context.out(HelpText.command(CommandTable.spec(invocation.command)))
            return ExitCode.ok
        case .invocation(let invocation):
            return try perform(invocation, context)
        }
    }

    private static func perform(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        switch invocation.command {
        case .run: return try DaemonCommands.run(invocation, context)
        case .headless: return try HeadlessCommands.headless(invocation, context)
        case .demo: return try HeadlessCommands.demo(invocation, context)
        case .hold: return try HoldCommand.run(invocation, context)
        case .status: try SessionCommands.status(invocation, context)
        case .devices: try SessionCommands.devices(invocation, context)
        case .select: try SessionCommands.select(invocation, context)
        case .monitor: try SessionCommands.monitor(invocation, context)
        case .off: try SessionCommands.off(invocation, context)
        case .on: try SessionCommands.on(context)
        case .explain: try SessionCommands.explain(invocation, context)
        case .restore: try DaemonCommands.restore(invocation, context)
        case .ignore: try ConfigurationCommands.ignore(invocation, context)
        case .classify: try ConfigurationCommands.classify(invocation, context)
        case .configCheck: try ConfigurationCommands.check(invocation, context)
        case .configShow: try ConfigurationCommands.show(context)
        case .configReload: try SessionCommands.reload(context)
        case .help: try HelpCommand.run(invocation, context)
        }
        return ExitCode.ok
    }
}
