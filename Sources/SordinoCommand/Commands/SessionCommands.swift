import AudioPolicy
import Glibc
import SessionBus
import SordinoDaemon

/// The commands that a running daemon answers.
enum SessionCommands {
    static func status(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let json = try ask(context) { client throws(BusError) in try client.status() }
        if invocation.has("json") { return context.out(json + "\n") }
        guard let status = SessionJSON.status(json) else { throw notUnderstood }
        context.out(StatusText(status).text)
    }

    static func devices(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let json = try ask(context) { client throws(BusError) in try client.devices() }
        if invocation.has("json") { return context.out(json + "\n") }
        guard let devices = SessionJSON.devices(json) else { throw notUnderstood }
        context.out(StatusText.devices(devices))
    }

    static func select(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let device = invocation.arguments[0]
        try ask(context) { client throws(BusError) in try client.selectDevice(device) }
    }

    static func monitor(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let asJSON = invocation.has("json")
        try ask(context) { client throws(BusError) in
            try client.monitor { json in
                // An event of a later version is passed over where its words are not known.
                if asJSON {
                    context.out(json + "\n")
                } else if let event = SessionJSON.event(json) {
                    context.out(EventText.line(event) + "\n")
                }
                return true
            }
        }
    }

    static func explain(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let stream = invocation.arguments[0]
        context.out(try ask(context) { client throws(BusError) in try client.explain(stream) } + "\n")
    }

    static func reload(_ context: Context) throws(CommandFailure) {
        try ask(context) { client throws(BusError) in
            do throws(BusError) {
                try client.reload()
            } catch {
                // The daemon refuses a configuration with the words of `config check`.
                throw error.code == .refused("InvalidArgument")
                    ? BusError(.refused("BadConfiguration"), error.message) : error
            }
        }
    }

    static func on(_ context: Context) throws(CommandFailure) {
        try ask(context) { client throws(BusError) in try client.setEnabled(true) }
    }

    /// With a time, stays until it is over or somebody interrupts, and switches on again in both cases: whoever closes
    /// the terminal is not left without Sordino for good.
    static func off(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        let seconds = invocation.value("for").flatMap(Double.init)
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        try ask(context) { client throws(BusError) in try client.setEnabled(false) }
        guard let seconds else { return }
        let isTerminal = isatty(STDERR_FILENO) != 0
        let end = ContinuousClock().now + .milliseconds(Int64(seconds * 1000))
        while case let left = end - ContinuousClock().now, left > .zero {
            if isTerminal { context.err("\r\u{1B}[Koff for \(left.components.seconds + 1) s more; Ctrl-C: on again") }
            if signals.wait(atMost: isTerminal ? min(left, .seconds(1)) : left) { break }
        }
        if isTerminal { context.err("\r\u{1B}[K") }
        try on(context)
    }

    // MARK: The bus

    /// Asks the daemon, and turns what goes wrong into an exit code.
    @discardableResult
    static func ask<Answer>(
        _ context: Context, _ question: (SessionBusClient) throws(BusError) -> Answer
    ) throws(CommandFailure) -> Answer {
        do throws(BusError) {
            return try question(SessionBusClient(address: BusContract.address(in: context.environment)))
        } catch {
            throw CommandFailure(error)
        }
    }

    private static let notUnderstood = CommandFailure(
        ExitCode.software, "the running daemon is another version: its answer is not understood; try --json")
}

extension CommandFailure {
    /// What went wrong on the bus.
    init(_ error: BusError) {
        let code =
            switch error.code {
            case .noBus, .noDaemon, .noAnswer, .nameTaken: ExitCode.unavailable
            case .notPermitted: ExitCode.notPermitted
            case .refused("NotAvailable"), .refused("LimitExceeded"): ExitCode.unavailable
            case .refused("BusyWithCall"): ExitCode.busy
            case .refused("BadConfiguration"): ExitCode.configuration
            case .refused("InvalidArgument"): ExitCode.usage
            case .refused, .other: ExitCode.software
            }
        let hint = error.code == .noDaemon ? "; “sordino run” starts one" : ""
        self.init(code, error.message + hint)
    }
}

/// Signals that are waited for instead of ending the process, as long as this lives.
struct SignalWait: ~Copyable {
    private var set = sigset_t()
    private var before = sigset_t()

    init(_ signals: [Int32]) {
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, &before)
    }

    deinit {
        var before = before
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Whether one came within that time.
    func wait(atMost duration: Duration) -> Bool {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var set = set
        return sigtimedwait(&set, nil, &time) > 0
    }
}
