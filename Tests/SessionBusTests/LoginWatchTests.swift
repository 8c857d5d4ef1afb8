import AudioSession
import DaemonTestSupport
import SystemEventLoop
import Testing

@testable import SessionBus

@Suite struct LoginWatchTests {
    private struct Heard: Equatable {
        var reason: AudioSessionInterruption
        var isInForce: Bool
    }

    private final class Watching {
        let loop: SystemEventLoop
        let watch: LoginWatch
        private(set) var heard: [Heard] = []

        init(_ address: String, sessionID: String? = nil) throws {
            loop = try SystemEventLoop()
            watch = LoginWatch(loop: loop, sessionID: sessionID)
            watch.onChange = { [unowned self] in self.heard.append(Heard(reason: $0, isInForce: $1)) }
            try watch.start(address: address)
        }

        func wait(for wanted: [Heard]) throws { try loop.turn(until: { heard == wanted }, "\(wanted), not \(heard)") }
    }

    private let bus: PrivateBus

    init() throws { bus = try PrivateBus() }

    @Test func `sleep begins and ends`() async throws {
        let login = try await FakeLogin.start(address: bus.address)
        let watching = try Watching(bus.address)
        // It is listening once it has had an answer to something asked later.
        try await login.setActive(false)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true)])
        try await login.setSleeping(true)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true), Heard(reason: .sleep, isInForce: true)])
        try await login.setSleeping(false)
        try watching.loop.turn(until: { watching.heard.last == Heard(reason: .sleep, isInForce: false) })
        await login.end()
    }

    @Test(arguments: [nil, FakeLogin.sessionID])
    func `PER-05 a seat that is another user's from the start is noticed, by session or by display`(
        sessionID: String?
    ) async throws {
        let login = try await FakeLogin.start(address: bus.address, isActive: false, hasDisplay: sessionID == nil)
        let watching = try Watching(bus.address, sessionID: sessionID)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true)])
        try await login.setActive(true)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true), Heard(reason: .seat, isInForce: false)])
        await login.end()
    }

    @Test func `a display that comes after the daemon is followed, and nobody is away when it is gone`() async throws {
        let login = try await FakeLogin.start(address: bus.address, isActive: false, hasDisplay: false)
        let watching = try Watching(bus.address)
        // Not lost: it asks at the start, and again whenever the user changes.
        try await login.setDisplay(true)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true)])
        try await login.setDisplay(false)
        try watching.wait(for: [Heard(reason: .seat, isInForce: true), Heard(reason: .seat, isInForce: false)])
        await login.end()
    }

    @Test func `where there is no logind nothing is said`() async throws {
        let watching = try Watching(bus.address)
        // Its question is answered by the bus: nobody has the name.
        for _ in 0..<20 { try watching.loop.turn(timeout: .milliseconds(10)) }
        #expect(watching.heard == [])
    }
}
