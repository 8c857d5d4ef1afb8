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
    /// How long a daemon that is started for this may take to come, and then to answer.
    private static let startTime = Duration.seconds(2)
    /// How long after a refusal the claim is asked for again.
    private static let retryTime = Duration.seconds(1)

    private enum State {
        case beginning
        /// The bus is to start a daemon.
        case starting
        case asking
        /// Its object's path on the bus.
        case held(path: String)
        /// Not held, and wanted.
        case waiting
        case ended
    }

    let kind: AudioSessionClientKind
    private let output: AudioSessionOutput
    private let options: DaemonLink.Options
    private let loop: SystemEventLoop

    /// The claim is held for the first time. Told the unique name of the connection that holds it.
    var onHeld: ((_ connection: String) -> Void)?
    /// It cannot be had, or not any more.
    var onFailure: ((BusError) -> Void)?
    /// A sentence on what has become of it.
    var onNews: ((String) -> Void)?

    private var link: DaemonLink?
    private var state = State.beginning
    private var hasBeenHeld = false
    private var deadline: (any LoopTimer)?

    init(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput, options: DaemonLink.Options,
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
            let link = try DaemonLink(address: address, loop: loop)
            link.onOwnerChange = { [unowned self] in daemonChanged() }
            link.onEvent = { [unowned self] in tell($1, of: $0) }
            link.onLost = { [unowned self] in fail(BusError(.noBus, "the session bus is gone")) }
            self.link = link
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
        link = nil
    }

    // MARK: The daemon

    private func daemonChanged() {
        let isThere = link?.owner != nil
        switch state {
        case .beginning: if isThere { acquire() } else { startDaemon() }
        case .held where !isThere:
            state = .waiting
            onNews?("the daemon is gone; the claim is acquired again when it is back")
        case .starting where isThere: acquire(within: Self.startTime)
        case .waiting where isThere: acquire()
        case .starting, .held, .waiting, .asking, .ended: break
        }
    }

    /// Only for the first claim: whoever ends the daemon does not want it started by those who held one.
    private func startDaemon() {
        state = .starting
        deadline?.cancel()
        deadline = loop.schedule(after: Self.startTime) { [unowned self] in
            fail(BusError(.noAnswer, "the Sordino daemon does not answer"))
        }
        link?.startDaemon { [unowned self] error in
            if case .starting = state { fail(error) }
        }
    }

    private func acquire(within timeout: Duration = answerTime) {
        deadline?.cancel()
        state = .asking
        link?.acquire(kind, output: output, options: options, timeout: timeout) { [unowned self] answer in
            switch answer {
            case .success(let path): acquired(path)
            case .failure(let error): refused(error)
            }
        }
    }

    private func acquired(_ path: String) {
        guard case .asking = state else { return }
        state = .held(path: path)
        onNews?("\(kind.rawValue) is held as \(name(path))")
        // A call that nobody activates would have neither route nor profile.
        guard kind == .call else { return begun() }
        link?.setActivated(path, true) { [unowned self] _ in begun() }
    }

    private func begun() {
        guard !hasBeenHeld, let connection = link?.uniqueName else { return }
        hasBeenHeld = true
        onHeld?(connection)
    }

    private func refused(_ error: BusError) {
        guard case .asking = state else { return }
        guard hasBeenHeld else { return fail(error) }
        state = .waiting
        onNews?("the claim is not held: \(error.message)")
        // Without a daemon there is nobody to ask until one comes.
        guard link?.owner != nil else { return }
        deadline = loop.schedule(after: Self.retryTime) { [unowned self] in
            if case .waiting = state { acquire() }
        }
    }

    private func fail(_ error: BusError) {
        if case .ended = state { return }
        state = .ended
        onFailure?(error)
    }

    /// What the daemon's status calls the claim with this path.
    private func name(_ path: String) -> Substring { path.split(separator: "/").last ?? "" }

    private func tell(_ event: AudioSessionEvent, of path: String) {
        guard case .held(path) = state else { return }
        let claim = name(path)
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
