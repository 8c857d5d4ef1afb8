import CPulse
import EventLoop
import Foundation
import Glibc
import SystemEventLoop
import Testing

@testable import PulseAudioServer

/// What a callback of the table has seen, given to it as its argument.
private final class Seen {
    var count = 0
    var flags: UInt32 = 0
    var action: () -> Void = {}
    var userdata: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

private func note(_ userdata: UnsafeMutableRawPointer?, flags: UInt32 = 0) {
    guard let userdata else { return }
    let seen = Unmanaged<Seen>.fromOpaque(userdata).takeUnretainedValue()
    seen.count += 1
    seen.flags |= flags
    seen.action()
}

private func ioSeen(
    _: UnsafeMutablePointer<pa_mainloop_api>?, _: OpaquePointer?, _: Int32, _ flags: pa_io_event_flags_t,
    _ userdata: UnsafeMutableRawPointer?
) { note(userdata, flags: flags.rawValue) }

private func timeSeen(
    _: UnsafeMutablePointer<pa_mainloop_api>?, _: OpaquePointer?, _: UnsafePointer<timeval>?,
    _ userdata: UnsafeMutableRawPointer?
) { note(userdata) }

private func deferSeen(
    _: UnsafeMutablePointer<pa_mainloop_api>?, _: OpaquePointer?, _ userdata: UnsafeMutableRawPointer?
) { note(userdata) }

/// The table as libpulse uses it.
@Suite struct PulseMainloopTests {
    private let loop: SystemEventLoop
    private let mainloop: PulseMainloop
    private var api: UnsafeMutablePointer<pa_mainloop_api> { mainloop.api }

    init() throws {
        loop = try SystemEventLoop()
        mainloop = try PulseMainloop(loop: loop)
    }

    private func wait(_ what: String, _ condition: () -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: 10)
        while !condition() {
            guard Date() < deadline else { throw Failure("waited in vain: \(what)") }
            try loop.turn(timeout: .milliseconds(20))
        }
    }

    /// A time of day, as libpulse gives it to a loop that is not its own.
    private func wallClock(in seconds: Double) -> timeval {
        let time = loop.wallClock + seconds
        return timeval(tv_sec: Int(time), tv_usec: Int((time - time.rounded(.down)) * 1e6))
    }

    @Test func `Timers fire once, in time, and not at all when freed`() throws {
        let first = Seen()
        let second = Seen()
        let never = Seen()
        var soon = wallClock(in: 0.05)
        var later = wallClock(in: 0.1)
        let start = loop.now
        let one = api.pointee.time_new(api, &soon, timeSeen, first.userdata)
        let two = api.pointee.time_new(api, &later, timeSeen, second.userdata)
        let three = api.pointee.time_new(api, &soon, timeSeen, never.userdata)
        let off = api.pointee.time_new(api, nil, timeSeen, never.userdata)
        api.pointee.time_free(three)
        try wait("both") { second.count == 1 }
        #expect(first.count == 1)
        #expect(loop.now - start >= .milliseconds(99))
        #expect(never.count == 0)
        // Restarted from within itself, as a repeated timer is.
        first.action = { [api, loop] in
            guard first.count < 4 else { return }
            var next = timeval(tv_sec: Int(loop.wallClock), tv_usec: 0)
            api.pointee.time_restart(one, &next)
        }
        var past = timeval(tv_sec: 1, tv_usec: 0)
        api.pointee.time_restart(one, &past)
        try wait("three more") { first.count == 4 }
        second.action = { [api] in api.pointee.time_free(two) }
        api.pointee.time_restart(two, &past)
        try wait("freed by itself") { second.count == 2 }
        for _ in 0..<5 { try loop.turn(timeout: .zero) }
        #expect(first.count == 4 && second.count == 2 && never.count == 0)
        api.pointee.time_free(one)
        api.pointee.time_free(off)
    }

    @Test func `A deferred event runs in every turn while it is on`() throws {
        let seen = Seen()
        let event = api.pointee.defer_new(api, deferSeen, seen.userdata)
        try wait("three turns") { seen.count >= 3 }
        api.pointee.defer_enable(event, 0)
        let count = seen.count
        for _ in 0..<3 { try loop.turn(timeout: .zero) }
        #expect(seen.count == count)
        // Switched on by a callback, it runs behind that.
        let other = Seen()
        other.action = { [api] in api.pointee.defer_enable(event, 1) }
        seen.action = { [api] in api.pointee.defer_enable(event, 0) }
        var past = timeval(tv_sec: 1, tv_usec: 0)
        let timer = api.pointee.time_new(api, &past, timeSeen, other.userdata)
        try wait("the timer") { other.count == 1 }
        #expect(seen.count == count + 1)
        api.pointee.time_free(timer)
        seen.action = { [api] in api.pointee.defer_free(event) }
        api.pointee.defer_enable(event, 1)
        try wait("freed by itself") { seen.count == count + 2 }
        try loop.turn(timeout: .zero)
        #expect(seen.count == count + 2)
    }

    @Test func `A descriptor may be watched twice, and tells when its other end goes`() throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let reader = Seen()
        let writer = Seen()
        let input = api.pointee.io_new(api, ends[0], PA_IO_EVENT_INPUT, ioSeen, reader.userdata)
        let output = api.pointee.io_new(api, ends[0], PA_IO_EVENT_OUTPUT, ioSeen, writer.userdata)
        try wait("writable") { writer.count > 0 }
        #expect(reader.count == 0)
        api.pointee.io_enable(output, PA_IO_EVENT_NULL)
        #expect(write(ends[1], "x", 1) == 1)
        try wait("readable") { reader.count > 0 }
        #expect(reader.flags == PA_IO_EVENT_INPUT.rawValue)
        api.pointee.io_free(output)
        close(ends[1])
        try wait("hung up") { reader.flags & PA_IO_EVENT_HANGUP.rawValue != 0 }
        api.pointee.io_free(input)
        let count = reader.count
        try loop.turn(timeout: .zero)
        #expect(reader.count == count)
        close(ends[0])
    }
}
