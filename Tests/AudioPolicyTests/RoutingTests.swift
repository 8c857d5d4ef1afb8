import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import Testing

/// A claim's streams go to the device of its wish, and back, and nothing else moves.
@Suite struct RoutingTests {
    private struct Caller {
        var claim: ClaimID
        var voice: StreamID
    }

    /// A program with a call claim and a voice on the default device.
    private func call(
        _ desk: Desk, output: AudioSessionOutput = .system, kind: AudioSessionClientKind = .groupCall
    ) throws -> Caller {
        let pid = desk.session.processes.start("caller")
        let policy = try #require(desk.session.policy)
        let claim = try policy.core.acquire(
            kind, output: output, owner: ClaimOwner(name: "caller", pid: pid, connection: ":1.9"),
            options: ClaimOptions())
        let voice = desk.server.start("caller", role: "phone", pid: pid)
        desk.settle()
        return Caller(claim: claim, voice: voice)
    }

    private func device(_ id: StreamID, _ desk: Desk) -> DeviceID? { desk.server.streams[id]?.info.device }

    private func storedDevice(_ id: StreamID, _ desk: Desk) -> String? {
        desk.server.streams[id]?.info.restoreKey.flatMap { desk.server.graph().restoreEntries[$0]?.device }
    }

    private func headsetFirst(_ kind: ServerKind) -> Desk {
        let desk = Desk(kind)
        desk.server.setDefault(desk.headset)
        desk.settle()
        return desk
    }

    @Test(arguments: bothKinds)
    func `RTE-07: a wish moves the claim's streams alone, and its end moves them back`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let game = desk.server.start("game", pid: desk.session.processes.start("game"))
        let caller = try call(desk, output: .speaker)
        #expect(device(caller.voice, desk) == desk.speakers && device(game, desk) == desk.headset)
        #expect(desk.session.status()?.ledger.entries != 0)
        desk.session.policy?.core.update(caller.claim, output: .system)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.headset && storedDevice(caller.voice, desk) == nil)
        desk.session.policy?.core.release(caller.claim)
        desk.server.stop(caller.voice)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RTE-06: a claim released in the middle leaves no preference behind`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let caller = try call(desk, output: .speaker)
        desk.session.policy?.core.release(caller.claim)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.headset && storedDevice(caller.voice, desk) == nil)
        #expect(desk.server.graph().defaultOutput == desk.headset)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [false, true])
    func `a stream that ends where it was taken leaves its user's stored preference`(
        kind: ServerKind, isPreferred: Bool
    ) throws {
        let desk = headsetFirst(kind)
        let third = desk.server.addDevice("hdmi")
        let own = isPreferred ? third : desk.headset
        func next() -> DeviceID? {
            let id = desk.server.start("next", role: "phone", pid: desk.session.processes.start("next"))
            defer { desk.server.stop(id) }
            return device(id, desk)
        }
        if isPreferred {
            let earlier = desk.server.start("caller", role: "phone", pid: desk.session.processes.start("earlier"))
            desk.server.move(earlier, to: third)
            desk.settle()
            desk.server.stop(earlier)
            desk.settle()
        }
        let caller = try call(desk, output: .speaker)
        #expect(device(caller.voice, desk) == desk.speakers)
        #expect(next() == own)
        desk.server.stop(caller.voice)
        desk.settle()
        desk.session.policy?.core.release(caller.claim)
        desk.settle()
        #expect(next() == own)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a wish without such a device changes nothing`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let caller = try call(desk, output: .receiver)
        #expect(device(caller.voice, desk) == desk.headset)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a subordinate's wish waits until it wins`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let first = try call(desk, output: .system)
        let second = try #require(desk.session.policy).core.acquire(
            .groupCall, output: .system, owner: ClaimOwner(name: "other", pid: 1, connection: ":1.2"),
            options: ClaimOptions())
        desk.session.policy?.core.update(first.claim, output: .speaker)
        desk.settle()
        #expect(device(first.voice, desk) == desk.headset)
        desk.session.policy?.core.release(second)
        desk.settle()
        #expect(device(first.voice, desk) == desk.speakers)
    }

    @Test(arguments: bothKinds)
    func `a call takes its route when it is activated`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let caller = try call(desk, output: .speaker, kind: .call)
        #expect(device(caller.voice, desk) == desk.headset)
        desk.session.policy?.core.setActivated(caller.claim, true)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.speakers)
    }

    @Test(arguments: bothKinds)
    func `a stream that somebody else moves meanwhile is theirs`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let third = desk.server.addDevice("hdmi")
        let caller = try call(desk, output: .speaker)
        desk.server.move(caller.voice, to: third)
        desk.settle()
        desk.session.policy?.core.release(caller.claim)
        desk.settle()
        #expect(device(caller.voice, desk) == third)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `VIR-05: of a stream that somebody else moves its user is told once, by name, and explain says it`(
        kind: ServerKind
    ) throws {
        let desk = headsetFirst(kind)
        let third = desk.server.addDevice("hdmi")
        let caller = try call(desk, output: .speaker)
        let policy = try #require(desk.session.policy)
        let id = caller.voice.description
        #expect(
            try policy.explain(id, isConfined: false).hasSuffix(
                "It is taken to spk, where its claim (groupCall, \(caller.claim)) wants it."))
        for _ in 1...2 {
            desk.server.move(caller.voice, to: third)
            desk.settle()
        }
        let sentence =
            "was taken to spk for its claim (groupCall, \(caller.claim)), and somebody else has moved it: it is left on hdmi"
        let told = desk.session.events.filter { $0.event == .warning }
        #expect(told.map(\.message) == ["caller \(sentence)"])
        #expect(told.map { $0.confined { _ in false }.message } == ["another program \(sentence)"])
        #expect(try policy.explain(id, isConfined: false).hasSuffix("It \(sentence)."))
        #expect(desk.operations(on: caller.voice).count == 1)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [false, true])
    func `a stream that somebody has moved goes back to there after another wish`(
        kind: ServerKind, isKilled: Bool
    ) throws {
        let desk = headsetFirst(kind)
        let third = desk.server.addDevice("hdmi")
        let fourth = desk.server.addDevice("usb")
        let caller = try call(desk, output: .speaker)
        desk.server.move(caller.voice, to: third)
        desk.settle()
        try desk.session.policy?.selectDevice("usb")
        desk.settle()
        #expect(device(caller.voice, desk) == fourth)
        if isKilled {
            desk.session.killDaemon()
            desk.session.startDaemon()
        } else {
            desk.session.policy?.core.release(caller.claim)
            try desk.session.policy?.selectDevice(nil)
        }
        desk.settle()
        #expect(device(caller.voice, desk) == third)
        let next = desk.server.start("next", role: "phone", pid: desk.session.processes.start("next"))
        #expect(device(next, desk) == third)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: stride(from: 0, through: 10_000, by: 100).map { Duration.microseconds($0) })
    func `VIR-05: somebody else's move is theirs and stays stored, however soon it follows ours`(
        delay: Duration
    ) throws {
        let desk = headsetFirst(.pulseaudio)
        let third = desk.server.addDevice("hdmi")
        let caller = try call(desk)
        desk.session.policy?.core.update(caller.claim, output: .speaker)
        while device(caller.voice, desk) != desk.speakers { desk.session.pass(.microseconds(10)) }
        desk.session.pass(delay)
        desk.server.move(caller.voice, to: third)
        desk.settle()
        #expect(device(caller.voice, desk) == third && storedDevice(caller.voice, desk) == "hdmi")
        #expect(desk.session.events.contains { $0.message?.hasSuffix("it is left on hdmi") == true })
        desk.expectNoTrace()
    }

    @Test(arguments: stride(from: 0, through: 10_000, by: 100).map { Duration.microseconds($0) })
    func `a stream that is taken to its stored device while a route begins goes back to there`(
        delay: Duration
    ) throws {
        let desk = headsetFirst(.pipewire)
        let third = desk.server.addDevice("hdmi")
        let pid = desk.session.processes.start("caller")
        let policy = try #require(desk.session.policy)
        let claim = try policy.core.acquire(
            .groupCall, output: .speaker, owner: ClaimOwner(name: "caller", pid: pid, connection: ":1.9"),
            options: ClaimOptions())
        let voice = desk.server.start("caller", role: "phone", pid: pid)
        desk.session.pass(delay)
        desk.server.move(voice, to: third)
        desk.settle()
        policy.core.release(claim)
        desk.settle()
        #expect(device(voice, desk) == third)
        let next = desk.server.start("next", role: "phone", pid: desk.session.processes.start("next"))
        #expect(device(next, desk) == third)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a device that is chosen takes the winner's streams until the choice is given back`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let caller = try call(desk)
        let policy = try #require(desk.session.policy)
        try policy.selectDevice("hs")
        desk.settle()
        #expect(device(caller.voice, desk) == desk.headset)
        #expect(policy.route().outputs == [.headphones])
        #expect(desk.session.status()?.devices.first { $0.current && $0.direction == "output" }?.id == "hs")
        try policy.selectDevice(nil)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.speakers)
        desk.expectNoTrace()
        #expect(throws: SessionControlError.unknownDevice("nowhere", known: ["hs", "spk"])) {
            try policy.selectDevice("nowhere")
        }
    }

    @Test(arguments: bothKinds)
    func `a chosen device that goes away is told, and given up`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let caller = try call(desk)
        try desk.session.policy?.selectDevice("hs")
        desk.settle()
        desk.server.removeDevice(desk.headset)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.speakers)
        #expect(!desk.session.events.contains { $0.event == .warning })
        let told = desk.session.deliveries.filter { $0.claim == caller.claim }.map(\.event)
        #expect(
            told.last
                == .outputRouteChanged(reason: .oldDeviceUnavailable, route: AudioRoute(outputs: [.builtInSpeaker])))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a daemon that is killed has its routes taken back by the next one`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let caller = try call(desk, output: .speaker)
        desk.session.killDaemon()
        desk.settle()
        desk.session.startDaemon()
        desk.settle()
        #expect(device(caller.voice, desk) == desk.headset && storedDevice(caller.voice, desk) == nil)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `off takes every route back`(kind: ServerKind) throws {
        let desk = headsetFirst(kind)
        let caller = try call(desk, output: .speaker)
        desk.session.policy?.setEnabled(false)
        desk.settle()
        #expect(device(caller.voice, desk) == desk.headset)
        desk.expectNoTrace()
    }
}
