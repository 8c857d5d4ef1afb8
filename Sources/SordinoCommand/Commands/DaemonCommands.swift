import AudioPolicy
import SessionBus
import SordinoDaemon

/// The daemon itself, and undoing without one.
enum DaemonCommands {
    static func run(_ invocation: Invocation, _ context: Context) throws(CommandFailure) -> Int32 {
        let options = Daemon.Options(
            server: invocation.value("server").flatMap(PolicySettings.ServerChoice.init(rawValue:)),
            settings: SettingsSource(file: invocation.value("config")), replace: invocation.has("replace"))
        return try Daemon.run(options, environment: context.environment)
    }

    /// A running daemon restores what it has done; without one, the ledger is read here.
    static func restore(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        if try !restoredByDaemon(context) {
            let (before, left) = try LedgerRestore.run(environment: context.environment)
            guard left == 0 else {
                throw CommandFailure(
                    ExitCode.unavailable, "\(left) of \(before) changes could not be undone; they stay in the ledger")
            }
            context.out(
                before == 0 ? "nothing had to be undone\n" : "\(before) \(before == 1 ? "change" : "changes") undone\n")
        }
        guard invocation.has("hidden-gain") else { return }
        let cleared = try LedgerRestore.clearHiddenGains(environment: context.environment)
        for name in cleared { context.out("the hidden gain of \(name.shown()) is cleared\n") }
        if cleared.isEmpty { context.out("no stream has a hidden gain\n") }
    }

    /// Whether there was one.
    private static func restoredByDaemon(_ context: Context) throws(CommandFailure) -> Bool {
        do throws(BusError) {
            try SessionBusClient(address: BusContract.address(in: context.environment)).restore()
            context.out("everything is undone, and left so until the present calls and alarms are over\n")
            return true
        } catch {
            switch error.code {
            case .noBus, .noDaemon: return false
            default: throw CommandFailure(error)
            }
        }
    }
}
