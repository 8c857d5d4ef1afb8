import AudioPolicy
import AudioSession
import EventLoop
import SessionBus
import SordinoDaemon
import SystemEventLoop

/// A claim that is held for as long as this is wanted: acquired again when the daemon restarts or a call has ended, and
/// told of in sentences. Confined to the loop.
final class ClaimHolding {
    /// How long a daemon may be silent that owns its name.
    private static let answerTime = Duration.seconds(1)
    /// How long a daemon may take that is started for this.
    private static let startTime = Duration.seconds(2)
    /// How long after a refusal the claim is asked for again.
    private static let retryTime = Duration.seconds(1)

    private enum State {
        case beginning
        case asking
        case held(ClaimID)
        /// Not held, and wanted.
        case waiting
        case ended
    }

    let kind: AudioSessionClientKind
    private let output: AudioSessionOutput
    private let options: SessionBusCaller.Options
    private let loop: SystemEventLoop

    /// The claim is held for the first time. Told the unique name of the connection that holds it.
    var onHeld: ((_ connection: String) -> Void)?
    /// It cannot be had, or not any more.
    var onFailure: ((BusError) -> Void)?
    /// A sentence on what has become of it.
    var onNews: ((String) -> Void)?

    private var caller: SessionBusCaller?
    private var state = State.beginning
    private var hasBeenHeld = false
    private var isDaemonThere = false
    private var deadline: (any LoopTimer)?

    init(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, options: SessionBusCaller.Options,
        loop: SystemEventLoop
    ) {
        self.kind = kind
        self.output = output
        self.options = options
        self.loop = loop
    }

    /// Connects to the bus and acquires the claim; everything else is told later.
    func begin(_ address: String) {
        do throws(BusError) {
            let caller = try SessionBusCaller(address: address, loop: loop)
            caller.onDaemon = { [unowned self] in daemonIsThere($0) }
            caller.onEvent = { [unowned self] in tell($1, of: $0) }
            caller.onLost = { [unowned self] in fail(BusError(.noBus, "the session bus is gone")) }
            self.caller = caller
            deadline = loop.schedule(after: Self.startTime) { [unowned self] in
                fail(BusError(.noBus, "the session bus does not answer"))
            }
        } catch {
            // Not before the loop turns, which the failure is to end.
            loop.defer { [self] in fail(error) }
        }
    }

    /// Gives the claim back, by leaving the bus. Not to be called by what this object calls.
    func end() {
        if case .held = state { onNews?("the claim is given back") }
        state = .ended
        deadline?.cancel()
        caller = nil
    }

    // MARK: The daemon

    private func daemonIsThere(_ isThere: Bool) {
        isDaemonThere = isThere
        switch state {
        case .beginning: acquire()
        case .held where !isThere:
            state = .waiting
            onNews?("the daemon is gone; the claim is acquired again when it is back")
        case .waiting where isThere: acquire()
        case .held, .waiting, .asking, .ended: break
        }
    }

    private func acquire() {
        deadline?.cancel()
        state = .asking
        caller?.acquire(
            kind, output: output, options: options,
            // Whoever ends the daemon does not want it started by those who held a claim.
            isStarting: !hasBeenHeld, timeout: isDaemonThere ? Self.answerTime : Self.startTime
        ) { [unowned self] answer in
            switch answer {
            case .success(let claim): acquired(claim)
            case .failure(let error): refused(error)
            }
        }
    }

    private func acquired(_ claim: ClaimID) {
        guard case .asking = state else { return }
        state = .held(claim)
        onNews?("\(kind.rawValue) is held as \(claim)")
        // A call that nobody activates would have neither route nor profile.
        guard kind == .call else { return begun() }
        caller?.setActivated(claim, true) { [unowned self] _ in begun() }
    }

    private func begun() {
        guard !hasBeenHeld, let connection = caller?.connectionName else { return }
        hasBeenHeld = true
        onHeld?(connection)
    }

    private func refused(_ error: BusError) {
        guard case .asking = state else { return }
        guard hasBeenHeld else { return fail(error) }
        state = .waiting
        onNews?("the claim is not held: \(error.message)")
        // Without a daemon there is nobody to ask until one comes.
        guard isDaemonThere else { return }
        deadline = loop.schedule(after: Self.retryTime) { [unowned self] in
            if case .waiting = state { acquire() }
        }
    }

    private func fail(_ error: BusError) {
        if case .ended = state { return }
        state = .ended
        onFailure?(error)
    }

    private func tell(_ event: AudioSessionEvent, of claim: ClaimID) {
        guard case .held(claim) = state else { return }
        switch event {
        case .subordinated: onNews?("\(claim) is subordinated: another claim has won")
        case .interrupted: onNews?("\(claim) is interrupted")
        case .interruptionEnded(let shouldResume):
            onNews?("the interruption of \(claim) has ended\(shouldResume ? "" : "; it should not resume")")
        case .outputRouteChanged(let reason, let route):
            let outputs = route.outputs.map(\.rawValue).joined(separator: ", ")
            onNews?("the route of \(claim) is \(outputs.isEmpty ? "nothing" : outputs) (\(reason.rawValue))")
        }
    }
}
