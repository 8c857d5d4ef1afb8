import AudioPolicy
import Glibc

/// What the command line asks for.
enum BenchCommand {
    struct Options {
        enum Output { case text, json, markdown }

        var output = Output.text
        /// Groups of rows; empty: all.
        var only: [Bench.Group] = []
        /// Bursts of the voice for each contestant.
        var runs = 60
        /// Seconds that an idle daemon is watched.
        var idleSeconds = 60
    }

    case measure(Options)
    /// A session in this process whose reactions are timed from within; for the bench's own use.
    case session(ServerKind, victims: Int)
    case help
    case wrong(String)

    static let helpText = """
        sordino-bench [--json | --markdown] [--only NAME…] [--runs N] [--quick]

        Measures Sordino beside its peers and beside clients without any policy, on private sound servers.
        --only   one or more of: \(Bench.Group.allCases.map(\.rawValue).joined(separator: " "))
        --runs   how often each is heard (60)
        --quick  few runs and short waits: whether it works, not how fast it is
        """

    static func parse(_ arguments: [String]) -> BenchCommand {
        if arguments.first == "session" { return session(arguments) }
        var options = Options()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .help
            case "--json": options.output = .json
            case "--markdown": options.output = .markdown
            case "--quick":
                options.runs = 6
                options.idleSeconds = 5
            case "--runs":
                guard let value = rest.popFirst(), let runs = Int(value), runs > 0 else {
                    return .wrong("--runs takes a number above 0")
                }
                options.runs = runs
            case "--only":
                while let name = rest.first, !name.hasPrefix("--") {
                    rest.removeFirst()
                    guard let group = Bench.Group(rawValue: name) else {
                        return .wrong(
                            "there is no '\(name)'; there are \(Bench.Group.allCases.map(\.rawValue).joined(separator: ", "))"
                        )
                    }
                    options.only.append(group)
                }
                guard !options.only.isEmpty else { return .wrong("--only takes names") }
            default: return .wrong("unknown option '\(argument)'; --help lists them")
            }
        }
        return .measure(options)
    }

    private static func session(_ arguments: [String]) -> BenchCommand {
        guard arguments.count == 3, let kind = ServerKind(rawValue: arguments[1]), let victims = Int(arguments[2])
        else { return .wrong("session KIND VICTIMS") }
        return .session(kind, victims: victims)
    }
}

func writeError(_ line: String) { write(line, to: 2) }

/// A line on standard output, at once.
func say(_ line: String) { write(line, to: 1) }

private func write(_ line: String, to descriptor: Int32) {
    let bytes = Array((line + "\n").utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
}
