import CPulse
import EventLoop
import Glibc
import SystemEventLoop

/// libpulse's main loop, which is the session's: a `pa_mainloop_api` table over sd-event. Nothing runs by itself here.
///
/// Each event that libpulse makes is an object that holds this loop, and the C side holds the event: the table outlives
/// every frame of libpulse that may still look at it.
final class PulseMainloop {
    let loop: SystemEventLoop
    let api: UnsafeMutablePointer<pa_mainloop_api>
    /// How many of libpulse's callbacks are running. Not 0: libpulse may be in the middle of reading a packet.
    fileprivate(set) var dispatching = 0

    fileprivate var ios: [PulseIOEvent] = []
    fileprivate var deferred: [PulseDeferEvent] = []
    private var timers: [PulseTimeEvent] = []
    /// One timer for all of libpulse's, armed for the earliest: it makes and drops one for every request.
    private var timer: LoopSource?
    private var armed: LoopInstant?

    init(loop: SystemEventLoop) throws(SystemEventLoopError) {
        self.loop = loop
        api = .allocate(capacity: 1)
        api.initialize(to: pa_mainloop_api())
        // Only an event calls back into here, and each of them retains the loop.
        api.pointee = pa_mainloop_api(
            userdata: Unmanaged.passUnretained(self).toOpaque(),
            io_new: ioNew, io_enable: ioEnable, io_free: ioFree, io_set_destroy: ioSetDestroy,
            time_new: timeNew, time_restart: timeRestart, time_free: timeFree, time_set_destroy: timeSetDestroy,
            defer_new: deferNew, defer_enable: deferEnable, defer_free: deferFree, defer_set_destroy: deferSetDestroy,
            quit: quit)
        timer = try loop.addTimer { [unowned self] in self.fireTimers() }
    }

    deinit {
        timer?.cancel()
        api.deinitialize(count: 1)
        api.deallocate()
    }

    fileprivate func dispatch(_ body: () -> Void) {
        dispatching += 1
        body()
        dispatching -= 1
        if dispatching == 0 { runDeferred() }
    }

    /// What a callback has deferred, mostly sending what it has queued, is done as soon as it has returned: a turn of the
    /// session's loop in between would cost more than the sending.
    private func runDeferred() {
        guard deferred.contains(where: \.isUnsettled) else { return }
        dispatching += 1
        for event in deferred where event.isUnsettled && event.isEnabled { event.call() }
        dispatching -= 1
        for event in deferred { event.settle() }
    }

    // MARK: Timers

    fileprivate func insert(_ event: PulseTimeEvent, deadline: LoopInstant?) {
        event.deadline = deadline
        guard let deadline else { return }
        event.position = timers.count
        timers.append(event)
        if armed.map({ deadline < $0 }) ?? true { arm(deadline) }
    }

    fileprivate func remove(_ event: PulseTimeEvent) {
        guard let position = event.position else { return }
        event.position = nil
        timers.swapAt(position, timers.count - 1)
        timers.removeLast()
        if position < timers.count { timers[position].position = position }
        // The timer stays armed for an event that went early, but never for nothing: an idle session does not wake.
        if timers.isEmpty { arm(nil) }
    }

    private func arm(_ deadline: LoopInstant?) {
        armed = deadline
        timer?.setDeadline(deadline)
    }

    private func fireTimers() {
        armed = nil
        let now = loop.now
        for event in timers where event.isDue(at: now) && event.position != nil {
            remove(event)
            event.fire()
        }
        if let next = timers.compactMap(\.deadline).min() { arm(next) }
    }

    // MARK: Running it out of turn

    /// Handles libpulse's descriptors and deferred events, and nothing else of the session's, until `isDone` or until
    /// the deadline. Must not be called from one of its callbacks.
    func pump(until deadline: LoopInstant, isDone: () -> Bool) {
        precondition(dispatching == 0, "libpulse's events cannot be handled from within one of them")
        while !isDone(), loop.now < deadline {
            let ready = deferred.filter(\.isEnabled)
            for event in ready where event.isEnabled { event.fire() }
            if ready.isEmpty, !pollOnce(until: deadline) { return }
        }
    }

    /// Whether any descriptor was ready in time.
    private func pollOnce(until deadline: LoopInstant) -> Bool {
        let events = ios
        var descriptors = events.map { pollfd(fd: $0.descriptor, events: $0.polled, revents: 0) }
        let wait = max(0, (deadline - loop.now).nanoseconds / 1_000_000)
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(wait)) > 0 else { return false }
        for (event, result) in zip(events, descriptors) where result.revents != 0 && event.isLive {
            event.fire(UInt32(UInt16(bitPattern: result.revents)))
        }
        return true
    }
}

// MARK: - Descriptors

final class PulseIOEvent {
    let mainloop: PulseMainloop
    let descriptor: Int32
    /// What is watched in its place; -1: itself.
    private var duplicate: Int32 = -1
    fileprivate var source: LoopSource?
    private let callback: pa_io_event_cb_t
    private let userdata: UnsafeMutableRawPointer?
    fileprivate var destroy: pa_io_event_destroy_cb_t?
    fileprivate private(set) var wanted: pa_io_event_flags_t

    fileprivate init?(
        _ mainloop: PulseMainloop, _ descriptor: Int32, _ events: pa_io_event_flags_t,
        _ callback: @escaping pa_io_event_cb_t, _ userdata: UnsafeMutableRawPointer?
    ) {
        self.mainloop = mainloop
        self.descriptor = descriptor
        self.callback = callback
        self.userdata = userdata
        wanted = events
        source = watch(descriptor)
        if source == nil {
            // epoll takes a descriptor once, and libpulse watches one twice while a connection is being made.
            duplicate = dup(descriptor)
            source = watch(duplicate)
        }
        if source == nil {
            closeDuplicate()
            return nil
        }
    }

    private func watch(_ descriptor: Int32) -> LoopSource? {
        try? mainloop.loop.addIO(descriptor: descriptor, events: pollEvents(wanted)) { [unowned self] in self.fire($0) }
    }

    private func closeDuplicate() {
        if duplicate >= 0 { close(duplicate) }
        duplicate = -1
    }

    fileprivate var isLive: Bool { source != nil }
    fileprivate var handle: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }
    fileprivate var polled: Int16 { Int16(truncatingIfNeeded: pollEvents(wanted)) }

    fileprivate func enable(_ events: pa_io_event_flags_t) {
        guard events != wanted else { return }
        wanted = events
        source?.setEvents(pollEvents(events))
    }

    fileprivate func fire(_ ready: UInt32) {
        mainloop.dispatch { callback(mainloop.api, handle, descriptor, flags(ready), userdata) }
    }

    fileprivate func free() {
        source?.cancel()
        source = nil
        closeDuplicate()
        mainloop.ios.removeAll { $0 === self }
        destroy?(mainloop.api, handle, userdata)
    }
}

/// `POLL*` and `EPOLL*` have the same values.
private func pollEvents(_ flags: pa_io_event_flags_t) -> UInt32 {
    (flags.rawValue & PA_IO_EVENT_INPUT.rawValue != 0 ? UInt32(POLLIN) : 0)
        | (flags.rawValue & PA_IO_EVENT_OUTPUT.rawValue != 0 ? UInt32(POLLOUT) : 0)
}

private func flags(_ ready: UInt32) -> pa_io_event_flags_t {
    pa_io_event_flags_t(
        rawValue: (ready & UInt32(POLLIN) != 0 ? PA_IO_EVENT_INPUT.rawValue : 0)
            | (ready & UInt32(POLLOUT) != 0 ? PA_IO_EVENT_OUTPUT.rawValue : 0)
            | (ready & UInt32(POLLHUP) != 0 ? PA_IO_EVENT_HANGUP.rawValue : 0)
            | (ready & UInt32(POLLERR) != 0 ? PA_IO_EVENT_ERROR.rawValue : 0))
}

// MARK: - Timers

final class PulseTimeEvent {
    let mainloop: PulseMainloop
    private let callback: pa_time_event_cb_t
    private let userdata: UnsafeMutableRawPointer?
    fileprivate var destroy: pa_time_event_destroy_cb_t?
    /// As libpulse gave it: a time of day, since this loop is not its own.
    fileprivate var time = timeval()
    fileprivate var deadline: LoopInstant?
    /// In the loop's list while it is to fire.
    fileprivate var position: Int?

    fileprivate init(
        _ mainloop: PulseMainloop, _ callback: @escaping pa_time_event_cb_t, _ userdata: UnsafeMutableRawPointer?
    ) {
        self.mainloop = mainloop
        self.callback = callback
        self.userdata = userdata
    }

    fileprivate var handle: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// libpulse's timers are time-outs, so a time of day becomes a distance from now: setting the clock ends none early.
    fileprivate func schedule(_ time: UnsafePointer<timeval>?) {
        mainloop.remove(self)
        guard let time else { return }
        self.time = time.pointee
        var wall = timespec()
        clock_gettime(CLOCK_REALTIME, &wall)
        let distance =
            Int64(self.time.tv_sec - wall.tv_sec) * 1_000_000_000
            + Int64(self.time.tv_usec) * 1000 - Int64(wall.tv_nsec)
        mainloop.insert(self, deadline: LoopInstant(nanoseconds: mainloop.loop.now.nanoseconds + max(0, distance)))
    }

    fileprivate func isDue(at now: LoopInstant) -> Bool { deadline.map { $0 <= now } ?? false }

    fileprivate func fire() {
        // A copy: the callback may give it another one.
        var time = time
        mainloop.dispatch { callback(mainloop.api, handle, &time, userdata) }
    }

    fileprivate func free() {
        mainloop.remove(self)
        destroy?(mainloop.api, handle, userdata)
    }
}

// MARK: - Deferred events

final class PulseDeferEvent {
    let mainloop: PulseMainloop
    fileprivate var source: LoopSource?
    private let callback: pa_defer_event_cb_t
    private let userdata: UnsafeMutableRawPointer?
    fileprivate var destroy: pa_defer_event_destroy_cb_t?
    fileprivate private(set) var isEnabled = false

    fileprivate init?(
        _ mainloop: PulseMainloop, _ callback: @escaping pa_defer_event_cb_t, _ userdata: UnsafeMutableRawPointer?
    ) {
        self.mainloop = mainloop
        self.callback = callback
        self.userdata = userdata
        source = try? mainloop.loop.addDeferred { [unowned self] in self.fire() }
        if source == nil { return nil }
        enable(true)
    }

    fileprivate var handle: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }
    /// Switched while a callback runs, and the session's loop does not know yet.
    fileprivate private(set) var isUnsettled = false

    fileprivate func enable(_ isEnabled: Bool) {
        self.isEnabled = isEnabled
        isUnsettled = true
        if mainloop.dispatching == 0 { settle() }
    }

    fileprivate func settle() {
        guard isUnsettled else { return }
        isUnsettled = false
        source?.setEnabled(isEnabled)
    }

    fileprivate func fire() { mainloop.dispatch { call() } }

    fileprivate func call() { callback(mainloop.api, handle, userdata) }

    fileprivate func free() {
        source?.cancel()
        source = nil
        isEnabled = false
        mainloop.deferred.removeAll { $0 === self }
        destroy?(mainloop.api, handle, userdata)
    }
}

// MARK: - The table

/// The object behind one of libpulse's handles, which holds a reference to it until the handle is freed. The caller's
/// own reference keeps it, and so the table, alive while a callback frees it.
private func object<T: AnyObject>(_ handle: OpaquePointer?, _: T.Type) -> T? {
    handle.map { Unmanaged<T>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
}

private func release<T: AnyObject>(_ handle: OpaquePointer?, _: T.Type) {
    if let handle { Unmanaged<T>.fromOpaque(UnsafeRawPointer(handle)).release() }
}

private func mainloop(_ api: UnsafeMutablePointer<pa_mainloop_api>?) -> PulseMainloop? {
    api?.pointee.userdata.map { Unmanaged<PulseMainloop>.fromOpaque($0).takeUnretainedValue() }
}

private func ioNew(
    _ api: UnsafeMutablePointer<pa_mainloop_api>?, _ descriptor: Int32, _ events: pa_io_event_flags_t,
    _ callback: pa_io_event_cb_t?, _ userdata: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    guard let mainloop = mainloop(api), let callback,
        let event = PulseIOEvent(mainloop, descriptor, events, callback, userdata)
    else { return nil }
    mainloop.ios.append(event)
    return OpaquePointer(Unmanaged.passRetained(event).toOpaque())
}

private func ioEnable(_ handle: OpaquePointer?, _ events: pa_io_event_flags_t) {
    object(handle, PulseIOEvent.self)?.enable(events)
}

private func ioFree(_ handle: OpaquePointer?) {
    object(handle, PulseIOEvent.self)?.free()
    release(handle, PulseIOEvent.self)
}

private func ioSetDestroy(_ handle: OpaquePointer?, _ callback: pa_io_event_destroy_cb_t?) {
    object(handle, PulseIOEvent.self)?.destroy = callback
}

private func timeNew(
    _ api: UnsafeMutablePointer<pa_mainloop_api>?, _ time: UnsafePointer<timeval>?, _ callback: pa_time_event_cb_t?,
    _ userdata: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    guard let mainloop = mainloop(api), let callback else { return nil }
    let event = PulseTimeEvent(mainloop, callback, userdata)
    event.schedule(time)
    return OpaquePointer(Unmanaged.passRetained(event).toOpaque())
}

private func timeRestart(_ handle: OpaquePointer?, _ time: UnsafePointer<timeval>?) {
    object(handle, PulseTimeEvent.self)?.schedule(time)
}

private func timeFree(_ handle: OpaquePointer?) {
    object(handle, PulseTimeEvent.self)?.free()
    release(handle, PulseTimeEvent.self)
}

private func timeSetDestroy(_ handle: OpaquePointer?, _ callback: pa_time_event_destroy_cb_t?) {
    object(handle, PulseTimeEvent.self)?.destroy = callback
}

private func deferNew(
    _ api: UnsafeMutablePointer<pa_mainloop_api>?, _ callback: pa_defer_event_cb_t?,
    _ userdata: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    guard let mainloop = mainloop(api), let callback,
        let event = PulseDeferEvent(mainloop, callback, userdata)
    else { return nil }
    mainloop.deferred.append(event)
    return OpaquePointer(Unmanaged.passRetained(event).toOpaque())
}

private func deferEnable(_ handle: OpaquePointer?, _ isEnabled: Int32) {
    object(handle, PulseDeferEvent.self)?.enable(isEnabled != 0)
}

private func deferFree(_ handle: OpaquePointer?) {
    object(handle, PulseDeferEvent.self)?.free()
    release(handle, PulseDeferEvent.self)
}

private func deferSetDestroy(_ handle: OpaquePointer?, _ callback: pa_defer_event_destroy_cb_t?) {
    object(handle, PulseDeferEvent.self)?.destroy = callback
}

/// The session's loop is nobody's to end.
private func quit(_: UnsafeMutablePointer<pa_mainloop_api>?, _: Int32) {}
