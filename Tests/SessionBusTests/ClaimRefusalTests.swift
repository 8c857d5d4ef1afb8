import AudioPolicy
import AudioSession
import DaemonTestSupport
import EventLoop
import SystemEventLoop
import Testing

@testable import SessionBus

/// What a program may not ask for, each with its own error.
@Suite struct ClaimRefusalTests {
    private let desk: BusDesk

    init() throws { desk = try BusDesk(.quiet) }

    private func acquire(_ kind: String, _ output: String, _ options: [(key: String, value: BusValue)] = [])
        -> (BusMessage) -> Void
    {
        {
            $0.append(kind)
            $0.append(output)
            $0.append(options)
        }
    }

    @Test func `What is not understood is refused, with the nearest right word`() throws {
        let service = try desk.running()
        let holder = try Holder(desk)
        func refusal(_ kind: String, _ output: String = "system", _ options: [(key: String, value: BusValue)] = [])
            throws -> BusError?
        {
            try holder.refusal("Acquire", acquire(kind, output, options))
        }
        let kinds = AudioSessionClientKind.allCases.map(\.rawValue).joined(separator: ", ")
        #expect(try refusal("cal") == BusError(.refused("UnknownKind"), "there is no kind cal; did you mean call?"))
        #expect(try refusal("") == BusError(.refused("UnknownKind"), "there is no kind ; there are \(kinds)"))
        #expect(
            try refusal("call", "speakers")
                == BusError(.refused("InvalidArgument"), "there is no output speakers; did you mean speaker?"))
        let wrong: [([(key: String, value: BusValue)], String)] = [
            ([("nmae", .string("x"))], "there is no option nmae; did you mean name?"),
            ([("pid", .uint32(1))], "there is no option pid"),
            ([("name", .bool(true))], "the option name takes a string"),
            ([("name", .string(""))], "the name is empty"),
            ([("lease-ms", .string("5"))], "the option lease-ms takes an unsigned 32-bit number"),
            ([("lease-ms", .uint32(0))], "a lease of 0 ms is none"),
            ([("interrupting", .uint32(1))], "the option interrupting takes a boolean"),
            (
                [("ducking-level", .string("low"))],
                "there is no ducking level low; there are default, minimum, medium, maximum"
            ),
            ([("interrupting", .bool(true)), ("interrupting", .bool(true))], "the option interrupting is given twice"),
        ]
        for (options, message) in wrong {
            #expect(try refusal("call", "system", options) == BusError(.refused("InvalidArgument"), message))
        }
        let long = try refusal("call", "system", [("name", .string(String(repeating: "é", count: 129)))])
        #expect(long?.code == .refused("LimitExceeded"))
        let many = (0..<17).map { (key: "option\($0)", value: BusValue.bool(true)) }
        #expect(try refusal("call", "system", many)?.code == .refused("InvalidArgument"))
        #expect(try refusal(String(repeating: "x", count: 1 << 20))?.message.utf8.count ?? .max < 400)
        #expect(desk.session.core.arbiter.isEmpty)
        service.stop()
    }

    @Test func `Paths that are no claim's are refused, and claims that are gone belong to nobody`() throws {
        let service = try desk.running()
        let holder = try Holder(desk)
        for path in [
            "/", "/org/sordino/AudioSession1", "/org/sordino/AudioSession1/claim/c01",
            "/org/sordino/AudioSession1/claim/c1/x",
        ] {
            let error = try holder.refusal("Release") { $0.append(path, as: BusType.objectPath) }
            #expect(error?.code == .refused("InvalidArgument"), "\(path)")
        }
        let gone = try holder.refusal("Activate") { $0.append(BusContract.path(ofClaim: "c9"), as: BusType.objectPath) }
        #expect(gone == BusError(.refused("NotOwner"), "the claim c9 is not held"))
        service.stop()
    }

    @Test func `A recording is refused while a call lasts, with the name of who is in it`() throws {
        let service = try desk.running()
        let phone = try Holder(desk)
        let recorder = try Holder(desk)
        let call = try phone.acquire(.call, .init(name: "Linphone"))
        let refused = BusError(
            .refused("BusyWithCall"), "Linphone is in a call and has the microphone (call, \(call))")
        #expect(try recorder.refusal("Acquire", acquire("recording", "system")) == refused)
        // The same program is refused too.
        #expect(try phone.refusal("Acquire", acquire("recording", "system")) == refused)
        try phone.release(call)
        _ = try recorder.acquire(.recording)
        service.stop()
    }

    @Test func `A connection holds 64 claims, and one released makes room for another`() throws {
        let service = try desk.running()
        let holder = try Holder(desk)
        let ids = try (0..<64).map { _ in try holder.acquire(.playback) }
        let refusal = try holder.refusal("Acquire", acquire("ambient", "system"))
        #expect(refusal == BusError(.refused("LimitExceeded"), "a connection may hold 64 claims"))
        try holder.release(ids[5])
        _ = try holder.acquire(.ambient)
        #expect(desk.session.core.arbiter.entries.count == 64)
        service.stop()
    }

    @Test func `All connections together hold 1024 claims`() throws {
        let service = try desk.running()
        let holders = try (0..<17).map { _ in try Holder(desk) }
        for holder in holders.dropLast() { for _ in 0..<64 { _ = try holder.acquire(.ambient) } }
        let refusal = try holders[16].refusal("Acquire", acquire("call", "system"))
        #expect(refusal == BusError(.refused("LimitExceeded"), "all programs together may hold 1024 claims"))
        #expect(desk.session.core.arbiter.entries.count == 1024)
        service.stop()
    }

    @Test func `A lease ends its claim unless the claim is used, and an update that changes nothing is a use`() throws {
        let service = try desk.running()
        let holder = try Holder(desk)
        let start = ContinuousClock().now
        let left = try holder.acquire(.playback, .init(lease: .milliseconds(300)))
        let kept = try holder.acquire(.speech, .init(lease: .milliseconds(300)))
        var renews = true
        var renewed = start
        func renew() {
            guard renews else { return }
            renewed = ContinuousClock().now
            holder.link.update(BusContract.path(ofClaim: kept.description), output: .system)
            desk.loop.schedule(after: .milliseconds(50), renew)
        }
        renew()
        try desk.loop.turn(until: { desk.session.core.arbiter[left] == nil }, "the end of the first lease")
        #expect(ContinuousClock().now - start >= .milliseconds(300))
        #expect(desk.session.core.arbiter[kept] != nil)
        renews = false
        try desk.loop.turn(until: { desk.session.core.arbiter[kept] == nil }, "the end of the second lease")
        #expect(ContinuousClock().now - renewed >= .milliseconds(300))
        service.stop()
    }
}

/// What a sandboxed program is told and may do.
@Suite struct ConfinementTests {
    private let desk: BusDesk

    init() throws { desk = try BusDesk() }

    private var sandbox: ProcessFacts.Sandbox { .init(application: "org.example.Notes", instance: "7") }

    @Test func `A sandboxed program is told everything but the names of others`() throws {
        let service = try desk.running()
        let outside = try Holder(desk)
        _ = try outside.acquire(.playback, .init(name: "Secret Player"))
        desk.processes.sandbox = sandbox
        let notes = try Holder(desk)
        let own = try notes.acquire(.speech, .init(name: "Notes"))
        let json = try #require(try notes.call("Status").readString())
        let status = try #require(SessionJSON.status(json))
        #expect(status.claims.first { $0.id == own.description }?.owner.name == "Notes")
        #expect(status.claims.first { $0.id == own.description }?.owner.sandbox == "org.example.Notes")
        #expect(Set(status.claims.filter { $0.id != own.description }.map(\.owner.name)) == ["another program"])
        #expect(status.claims.filter { $0.id != own.description }.allSatisfy { $0.owner.pid == nil })
        #expect(Set(status.streams.map(\.application)) == ["another program"])
        for name in ["Secret", "linphone", "mpv", "evil", "4242", "org.example.Chat"] {
            #expect(!json.contains(name), "\(name)")
        }
        service.stop()
    }

    @Test func `A refusal names nobody to a sandboxed program`() throws {
        desk.session.current = .quiet
        let service = try desk.running()
        let phone = try Holder(desk)
        _ = try phone.acquire(.call, .init(name: "Linphone"))
        desk.processes.sandbox = sandbox
        let notes = try Holder(desk)
        let refusal = try notes.refusal("Acquire") {
            $0.append("recording")
            $0.append("system")
            $0.append([])
        }
        #expect(refusal?.code == .refused("BusyWithCall"))
        #expect(refusal?.message == "another program is in a call and has the microphone (call, c1)")
        service.stop()
    }

    @Test(arguments: [true, false])
    func `Who is sandboxed, or unknown to the system, may not change the session`(isSandboxed: Bool) throws {
        let service = try desk.running()
        if isSandboxed { desk.processes.sandbox = sandbox } else { desk.processes.isBlind = true }
        let notes = try Holder(desk)
        for method in ["Reload", "Restore"] {
            #expect(try notes.refusal(method) { _ in }?.code == .notPermitted, "\(method)")
        }
        #expect(try notes.refusal("SetEnabled") { $0.append(false) }?.code == .notPermitted)
        #expect(desk.session.isEnabled)
        try notes.call("Explain") { $0.append("74") }
        #expect(desk.session.asked == ["explain 74 to a sandbox"])
        service.stop()
    }

    @Test func `Events bear names only to those who monitor them and are not sandboxed`() throws {
        let service = try desk.running()
        let claim = try #require(desk.session.current.claims.first)
        let everybody = try Listener(desk)
        let user = try Listener(desk)
        try user.monitor()
        desk.processes.sandbox = sandbox
        let notes = try Listener(desk)
        try notes.monitor()
        service.emit(SessionEvent(time: 1, event: .claimAcquired, claim: claim))
        try desk.loop.turn(
            until: {
                [everybody, user, notes].allSatisfy { !$0.broadcast.isEmpty } && !user.own.isEmpty && !notes.own.isEmpty
            },
            "the event")
        for lines in [everybody.broadcast, user.broadcast, notes.broadcast, notes.own] {
            #expect(lines.compactMap { SessionJSON.event($0)?.claim?.owner.name } == ["another program"])
            #expect(lines.compactMap { SessionJSON.event($0)?.claim?.kind } == ["call"])
        }
        #expect(everybody.own.isEmpty)
        #expect(user.own.compactMap { SessionJSON.event($0)?.claim?.owner.name } == ["linphone"])
        service.stop()
    }
}
