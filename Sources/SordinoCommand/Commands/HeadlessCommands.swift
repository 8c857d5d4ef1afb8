import Glibc
import HeadlessAudio
import SordinoDaemon
import SordinoDemo

/// Private sound servers.
enum HeadlessCommands {
    static func headless(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        var options = HeadlessOptions(server: kind(invocation))
        if let sinks = invocation.values["sink"] { options.sinks = sinks.map { HeadlessOptions.Device($0) } }
        if let sources = invocation.values["source"] {
            options.sources = sources.map { HeadlessOptions.Device($0, channels: 1) }
        }
        if invocation.values["card"] != nil {
            throw CommandFailure(ExitCode.usage, "there are no virtual cards yet: --card cannot be used")
        }
        do throws(HeadlessError) {
            return try runHeadless(options, command: invocation.program)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The daemon that it shows is this program, as it is.
    static func demo(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        let options = DemoOptions(
            server: kind(invocation), svg: invocation.value("svg"), daemon: [try ownExecutable(), "run"],
            isTerminal: isatty(STDOUT_FILENO) != 0)
        let out = context.out
        do {
            return try runDemo(options, out) ? ExitCode.ok : ExitCode.software
        } catch let error as HeadlessError {
            throw CommandFailure(error)
        } catch {
            throw CommandFailure(ExitCode.unavailable, "\(error)")
        }
    }

    private static func ownExecutable() throws(CommandFailure) -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        guard count > 0, count < path.count else {
            throw CommandFailure(ExitCode.software, "cannot find the program's own file")
        }
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The one that was asked for, else the first that is installed.
    private static func kind(_ invocation: Invocation) -> HeadlessServerKind {
        invocation.value("server").flatMap(HeadlessServerKind.init(rawValue:))
            ?? HeadlessServerKind.installed.first ?? .pipewire
    }
}

extension CommandFailure {
    /// A command that is not found or cannot be run ends as in a shell.
    init(_ error: HeadlessError) {
        let code: Int32 =
            switch error.code {
            case .notReady: ExitCode.unavailable
            case .commandNotFound: 127
            case .commandNotExecutable: 126
            }
        self.init(code, error.description)
    }
}
