import CSystemd
public import EventLoop
import Glibc
import Synchronization

/// The session's loop over sd-event. It is the `SerialExecutor` of the actor that owns the session: jobs enqueued from
/// any thread run on the loop's own, and C callbacks that arrive there may `assumeIsolated`.
///
/// Everything but `enqueue` belongs to the thread that runs the loop.
public final class SystemEventLoop: EventLoop, SerialExecutor {
    /// The sd-event handle, for libraries that attach themselves (sd-bus).
    public nonisolated(unsafe) let event: OpaquePointer  // never changes; used on the loop's thread alone

    private let inbox = Mutex<[UnownedJob]>([])
    private let wake: Int32
    private let thread = Mutex<pthread_t?>(nil)
    /// Kept alive here, since sd-event holds them unretained.
    private nonisolated(unsafe) var sources: [ObjectIdentifier: LoopSource] = [:]  // the loop's thread alone

    public init() throws(SystemEventLoopError) {
        var handle: OpaquePointer?
        let result = sd_event_new(&handle)
        guard result >= 0, let handle else { throw SystemEventLoopError(operation: "sd_event_new", code: -result) }
        event = handle
        wake = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard wake >= 0 else { throw SystemEventLoopError(operation: "eventfd", code: errno) }
        thread.withLock { $0 = pthread_self() }
        try addIO(descriptor: wake, events: EPOLLIN.rawValue) { [unowned self] _ in self.runJobs() }
    }

    deinit {
        for source in sources.values { source.detach() }
        sd_event_unref(event)
        close(wake)
    }

    // MARK: EventLoop

    public var now: LoopInstant {
        var usec = timespec()
        clock_gettime(CLOCK_MONOTONIC, &usec)
        return LoopInstant(nanoseconds: Int64(usec.tv_sec) * 1_000_000_000 + Int64(usec.tv_nsec))
    }

    public var wallClock: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @discardableResult
    public func schedule(at deadline: LoopInstant, _ body: @escaping () -> Void) -> any LoopTimer {
        let source = LoopSource(loop: self, once: true) { _ in body() }
        // Accuracy 1 ms: sd-event otherwise batches timers within 250 ms of each other.
        let result = sd_event_add_time(
            event, &source.handle, CLOCK_MONOTONIC, microseconds(until: deadline), 1000,
            timeCallback, source.context)
        // Only a lack of memory or a wrong clock fails here, and neither leaves anything to go on with.
        precondition(result >= 0, "sd_event_add_time: \(errorText(-result))")
        sources[ObjectIdentifier(source)] = source
        return source
    }

    // MARK: Sources

    /// Calls `body` with the ready events (`EPOLLIN` …) whenever the descriptor has some of `events`.
    @discardableResult
    public func addIO(
        descriptor: Int32, events: UInt32, _ body: @escaping (UInt32) -> Void
    ) throws(SystemEventLoopError) -> LoopSource {
        let source = LoopSource(loop: self, once: false, body)
        let result = sd_event_add_io(event, &source.handle, descriptor, events, ioCallback, source.context)
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_add_io", code: -result) }
        sources[ObjectIdentifier(source)] = source
        return source
    }

    /// Calls `body` for each such signal, which is blocked in this thread from now on.
    @discardableResult
    public func addSignal(_ signal: Int32, _ body: @escaping () -> Void) throws(SystemEventLoopError) -> LoopSource {
        try addSignal(signal) { _ in body() }
    }

    /// The same; `body` is told whether the kernel has sent it of its own, as for the keys of a terminal, rather than a
    /// process.
    @discardableResult
    public func addSignal(
        _ signal: Int32, _ body: @escaping (_ isFromKernel: Bool) -> Void
    ) throws(SystemEventLoopError) -> LoopSource {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        let source = LoopSource(loop: self, once: false) { code in body(code == UInt32(SI_KERNEL)) }
        let result = sd_event_add_signal(event, &source.handle, signal, signalCallback, source.context)
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_add_signal", code: -result) }
        sources[ObjectIdentifier(source)] = source
        return source
    }

    /// Calls `body` on the loop as soon as what is running has returned, before the loop waits again.
    @discardableResult
    public func `defer`(_ body: @escaping () -> Void) -> any LoopTimer {
        let source = LoopSource(loop: self, once: true) { _ in body() }
        let result = sd_event_add_defer(event, &source.handle, deferCallback, source.context)
        precondition(result >= 0, "sd_event_add_defer: \(errorText(-result))")
        sources[ObjectIdentifier(source)] = source
        return source
    }

    /// Calls `body` in every turn of the loop while the source is enabled. It starts disabled.
    public func addDeferred(_ body: @escaping () -> Void) throws(SystemEventLoopError) -> LoopSource {
        let source = LoopSource(loop: self, once: false) { _ in body() }
        let result = sd_event_add_defer(event, &source.handle, deferCallback, source.context)
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_add_defer", code: -result) }
        source.setEnabled(false)
        sources[ObjectIdentifier(source)] = source
        return source
    }

    /// A timer that calls `body` whenever the deadline given to it has come. It starts without one.
    public func addTimer(_ body: @escaping () -> Void) throws(SystemEventLoopError) -> LoopSource {
        let source = LoopSource(loop: self, once: false) { _ in body() }
        let result = sd_event_add_time(
            event, &source.handle, CLOCK_MONOTONIC, UInt64.max, 1000, timeCallback, source.context)
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_add_time", code: -result) }
        source.setEnabled(false)
        sources[ObjectIdentifier(source)] = source
        return source
    }

    fileprivate func forget(_ source: LoopSource) { sources[ObjectIdentifier(source)] = nil }

    // MARK: Running

    /// Runs on the calling thread, which becomes the loop's, until `exit`. Returns the exit code.
    public func run() throws(SystemEventLoopError) -> Int32 {
        thread.withLock { $0 = pthread_self() }
        let result = sd_event_loop(event)
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_loop", code: -result) }
        return result
    }

    /// Handles what is ready, waiting at most `timeout`, once.
    public func turn(timeout: Duration) throws(SystemEventLoopError) {
        let result = sd_event_run(event, UInt64(max(timeout.nanoseconds, 0) / 1000))
        guard result >= 0 else { throw SystemEventLoopError(operation: "sd_event_run", code: -result) }
    }

    /// Ends `run` after what is running has returned.
    public func exit(code: Int32 = 0) { sd_event_exit(event, code) }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasEmpty = inbox.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if wasEmpty { eventfd_write(wake, 1) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the session's loop")
    }

    public func isIsolatingCurrentContext() -> Bool? {
        thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    private func runJobs() {
        var value: eventfd_t = 0
        eventfd_read(wake, &value)
        let jobs = inbox.withLock { jobs in
            defer { jobs.removeAll() }
            return jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}

/// One registration on the loop; lives until it is cancelled or, if it fires once, has fired.
public final class LoopSource: LoopTimer {
    fileprivate var handle: OpaquePointer?
    private unowned let loop: SystemEventLoop
    private let once: Bool
    private var body: ((UInt32) -> Void)?

    fileprivate init(loop: SystemEventLoop, once: Bool, _ body: @escaping (UInt32) -> Void) {
        self.loop = loop
        self.once = once
        self.body = body
    }

    /// Unretained: the loop holds the source until `cancel`, which disables the callback first.
    fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    public func cancel() {
        guard body != nil else { return }
        detach()
        loop.forget(self)
    }

    /// Changes the events that an I/O source waits for.
    public func setEvents(_ events: UInt32) { sd_event_source_set_io_events(handle, events) }

    /// Switches a deferred source on or off.
    public func setEnabled(_ isEnabled: Bool) {
        sd_event_source_set_enabled(handle, Int32(isEnabled ? SD_EVENT_ON : SD_EVENT_OFF))
    }

    /// When a timer fires next, once; `nil`: not until told so.
    public func setDeadline(_ deadline: LoopInstant?) {
        guard let deadline else {
            sd_event_source_set_enabled(handle, Int32(SD_EVENT_OFF))
            return
        }
        sd_event_source_set_time(handle, microseconds(until: deadline))
        sd_event_source_set_enabled(handle, Int32(SD_EVENT_ONESHOT))
    }

    fileprivate func detach() {
        body = nil
        handle = sd_event_source_disable_unref(handle)
    }

    fileprivate func fire(_ events: UInt32) {
        let body = self.body
        if once { cancel() }
        body?(events)
    }
}

public struct SystemEventLoopError: Error, Equatable, CustomStringConvertible {
    public let operation: String
    /// An `errno` value.
    public let code: Int32

    public var description: String { "\(operation): \(errorText(code))" }
}

/// What sd-event counts in, rounded up so that nothing fires early.
private func microseconds(until deadline: LoopInstant) -> UInt64 {
    (UInt64(max(deadline.nanoseconds, 0)) + 999) / 1000
}

private func errorText(_ code: Int32) -> String { String(cString: strerror(code)) }

private func fire(_ context: UnsafeMutableRawPointer?, _ events: UInt32) -> Int32 {
    guard let context else { return 0 }
    // Takes a reference for the dispatch: the callback may cancel its own source.
    Unmanaged<LoopSource>.fromOpaque(context).takeUnretainedValue().fire(events)
    return 0
}

private func timeCallback(_: OpaquePointer?, _: UInt64, _ context: UnsafeMutableRawPointer?) -> Int32 {
    fire(context, 0)
}
private func deferCallback(_: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 { fire(context, 0) }
private func ioCallback(_: OpaquePointer?, _: Int32, _ events: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
    fire(context, events)
}
private func signalCallback(
    _: OpaquePointer?, _ information: UnsafePointer<signalfd_siginfo>?, _ context: UnsafeMutableRawPointer?
) -> Int32 { fire(context, UInt32(bitPattern: information?.pointee.ssi_code ?? 0)) }
