import CSupervisor
import Glibc

/// Runs a command in a private server: what `sordino headless` does.
///
/// The command has this process's standard descriptors and process group. Signals that ask this process to end are
/// passed on to it. Returns its exit status, 128 + n for a signal; everything has been torn down by then.
public func runHeadless(_ options: HeadlessOptions, command: [String]) throws(HeadlessError) -> Int32 {
    let signals = supervisor_block_signals()
    guard signals >= 0 else { throw HeadlessError("signals: \(errorText(-signals))") }
    defer { supervisor_unblock_signals(signals) }
    let server = try HeadlessServer.start(options)
    defer { server.stop() }
    var fromTerminal: Int32 = 0
    let early = supervisor_next_signal(signals, &fromTerminal)
    if early != 0 { return 128 + early }
    let process = try server.spawn(command, standard: .init(), group: getpgrp())
    while true {
        let ready = waitReadable([process.exitDescriptor, signals], timeout: nil)
        if ready.contains(process.exitDescriptor), let status = process.wait() { return status.code }
        let signal = supervisor_next_signal(signals, &fromTerminal)
        // What the terminal sends has reached the command already: it is in the same process group.
        if signal != 0 && fromTerminal == 0 { process.signal(signal) }
    }
}
