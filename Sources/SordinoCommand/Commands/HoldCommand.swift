import AudioPolicy
import AudioSession
import EventLoop
import Glibc
import SessionBus
import SordinoDaemon
import SystemEventLoop

/// `sordino hold`: a claim that lasts as long as a command, a time or the terminal.
final class HoldCommand {
    static func run(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        guard let address = BusContract.address(in: context.environment) else {
            throw CommandFailure(BusError(.noBus, "there is no session bus"))
        }
        let hold = try HoldCommand(invocation, context)
        return try hold.run(address)
    }

    private let context: Context
    private let loop: SystemEventLoop
    private let command: [String]
    private let time: Duration?
    private let isVerbose: Bool
    private let claim: ClaimHolding
    private var child: ChildProcess?
    /// The signals that were blocked before this process looked for its own.
    private var signalsBefore = sigset_t()
    private var failure: CommandFailure?

    private init(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        self.context = context
        command = invocation.program
        time = invocation.value("for").flatMap(Double.init).map { .milliseconds(Int64($0 * 1000)) }
        isVerbose = invocation.has("verbose")
        // Both have been checked by the table.
        let kind = invocation.arguments.first.flatMap(AudioSessionClientKind.init(rawValue:)) ?? .ambient
        let output = invocation.value("output").flatMap(AudioSessionOutput.init(rawValue:)) ?? .system
        do throws(SystemEventLoopError) {
            loop = try SystemEventLoop()
        } catch {
            throw CommandFailure(ExitCode.software, "\(error)")
        }
        claim = ClaimHolding(
            kind, output: output,
            options: .init(
                name: invocation.value("name") ?? command.first.map(Self.fileName),
                claim: ClaimOptions(
                    isInterrupting: invocation.has("interrupting"),
                    ducking: AudioSessionDucking(isAdvanced: invocation.has("ducking-advanced")))), loop: loop)
    }

    private static func fileName(_ path: String) -> String { String(path.split(separator: "/").last ?? "command") }

    private func run(_ address: String) throws(CommandFailure) -> Int32 {
        claim.onHeld = { [unowned self] in begin(connection: $0) }
        claim.onFailure = { [unowned self] in end(CommandFailure($0)) }
        claim.onNews = { [unowned self] news in
            if isVerbose { context.err("sordino: \(news)\n") }
        }
        let code: Int32
        do throws(SystemEventLoopError) {
            try takeSignals()
            claim.begin(address)
            code = try loop.run()
        } catch {
            throw CommandFailure(ExitCode.software, "\(error)")
        }
        claim.end()
        if let failure { throw failure }
        return code
    }

    /// The claim is held for the first time.
    private func begin(connection: String) {
        if let time { loop.schedule(after: time) { [unowned self] in timeIsOver() } }
        guard !command.isEmpty else { return }
        var environment = context.environment
        environment.merge(
            TagVariables.variables(claim.kind, connection: connection, in: environment)
        ) { _, tagged in tagged }
        do throws(CommandFailure) {
            child = try ChildProcess(command, environment: environment, signals: signalsBefore)
        } catch {
            end(error)
        }
    }

    private func timeIsOver() {
        claim.end()
        if child == nil { loop.exit(code: ExitCode.ok) }
    }

    private func end(_ failure: CommandFailure) {
        // A command that runs is not ended for a claim's sake.
        guard child == nil else { return context.err("sordino: \(failure.message)\n") }
        self.failure = failure
        loop.exit(code: failure.code)
    }

    // MARK: Signals

    private func takeSignals() throws(SystemEventLoopError) {
        pthread_sigmask(SIG_BLOCK, nil, &signalsBefore)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
            try loop.addSignal(signal) { [unowned self] isFromKernel in take(signal, isFromKernel) }
        }
        try loop.addSignal(SIGCHLD) { [unowned self] in
            if let status = child?.exitStatus() { loop.exit(code: status) }
        }
    }

    /// What the terminal sends has reached the command already: it is in the same process group.
    private func take(_ signal: Int32, _ isFromKernel: Bool) {
        if let child {
            if !isFromKernel { child.send(signal) }
        } else {
            loop.exit(code: [SIGINT, SIGTERM, SIGHUP].contains(signal) ? ExitCode.ok : 128 + signal)
        }
    }
}
