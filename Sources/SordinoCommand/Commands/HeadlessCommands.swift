import AudioPolicy
import HeadlessAudio
import SordinoDaemon

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
            return try runHeadless(options, command: invocation.arguments)
        } catch {
            throw CommandFailure(error)
        }
    }

    static func demo(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        throw CommandFailure(ExitCode.software, "“demo” is not there yet")
    }

    private static func kind(_ invocation: Invocation) -> HeadlessServerKind {
        invocation.value("server").flatMap(HeadlessServerKind.init(rawValue:)) ?? .pipewire
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
