import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import Testing

/// Claims that programs hold themselves, over the simulated servers.
@Suite struct ExplicitClaimTests {
    private func play(
        _ role: String?, by pid: Int32, _ desk: Desk, on device: DeviceID? = nil, tag: String? = nil
    ) -> StreamID {
        desk.server.start(
            desk.session.processes.facts(of: pid)?.name ?? "holder", role: role, pid: pid,
            on: device ?? desk.speakers, properties: tag.map { ["sordino.claim": $0] } ?? [:])
    }

    @Test(arguments: bothKinds)
    func `a claim without a stream acts everywhere at once, and its release undoes it`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let near = desk.play("music")
        let far = desk.play("music", "other", on: desk.headset)
        desk.settle()
        let (claim, _) = try desk.hold(.call)
        desk.settle()
        #expect(desk.isHeard(near, at: -20) && desk.isHeard(far, at: -20))
        desk.session.policy?.core.release(claim)
        desk.settle()
        #expect(desk.isHeard(near, at: 0) && desk.isHeard(far, at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a claim's own stream gives it its place, and is not acted on`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let near = desk.play("music")
        let far = desk.play("music", "other", on: desk.headset)
        let (claim, pid) = try desk.hold(.call)
        let voice = play("phone", by: pid, desk, tag: ":1.\(pid)/call")
        let own = play("music", by: pid, desk)
        desk.settle()
        #expect(desk.isHeard(near, at: -20) && desk.isHeard(far, at: 0))
        #expect(desk.isHeard(voice, at: 0) && desk.isHeard(own, at: 0))
        let status = try #require(desk.session.status())
        #expect(status.claims.filter { $0.kind == "call" }.map(\.id) == [claim.description])
        #expect(status.claims.first { $0.id == claim.description }?.streams == [voice.description])
        #expect(status.streams.first { $0.id == voice.description }?.classifiedBy == "tag")
        desk.server.stop(voice)
        desk.settle()
        // It is held on, where it was last.
        #expect(desk.isHeard(near, at: -20) && desk.isHeard(far, at: 0))
    }

    @Test(arguments: bothKinds)
    func `an untagged stream of the holder's belongs to its claim of that kind`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let (claim, pid) = try desk.hold(.call)
        let voice = play("phone", by: pid, desk)
        desk.settle()
        let status = try #require(desk.session.status())
        #expect(status.claims.filter { $0.kind == "call" }.map(\.id) == [claim.description])
        #expect(status.streams.first { $0.id == voice.description }?.claim == claim.description)
    }

    @Test(arguments: bothKinds)
    func `somebody else's tag does not give a stream the claim`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let (_, pid) = try desk.hold(.call)
        let thief = play("music", by: desk.session.processes.start("thief"), desk, tag: ":1.\(pid)/call")
        desk.settle()
        #expect(desk.isHeard(thief, at: -20))
        #expect(desk.session.status()?.streams.first?.classifiedBy == "role")
        let explained = try desk.session.policy?.explain(thief.description, isConfined: false)
        #expect(explained?.contains("the tag that it carries names no claim of its program’s") == true)
    }

    @Test(arguments: bothKinds)
    func `the stream of a claim that is released is its program's again`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let (claim, pid) = try desk.hold(.call)
        let stream = play("music", by: pid, desk, tag: ":1.\(pid)/call")
        desk.settle()
        desk.session.policy?.core.release(claim)
        desk.settle()
        let status = try #require(desk.session.status())
        #expect(status.streams.first { $0.id == stream.description }?.kind == "mediaPlayback")
        #expect(status.claims.map(\.origin) == ["observed"])
    }

    @Test(arguments: AudioSessionDucking.Level.allCases)
    func `a claim may say how strongly it turns others down`(level: AudioSessionDucking.Level) throws {
        let levels: [AudioSessionDucking.Level: Double] = [.standard: -20, .minimum: -6, .medium: -20, .maximum: -35]
        let desk = Desk(.pipewire)
        let music = desk.play("music")
        let (claim, _) = try desk.hold(.call, options: ClaimOptions(ducking: AudioSessionDucking(level: level)))
        desk.settle()
        #expect(desk.isHeard(music, at: levels[level] ?? 0))
        desk.session.policy?.core.setDucking(claim, AudioSessionDucking(level: .minimum))
        desk.settle()
        #expect(desk.isHeard(music, at: -6))
    }

    @Test(arguments: bothKinds)
    func `claims outlast the sound server, and act again when it is back before their holders are told`(
        kind: ServerKind
    ) throws {
        let desk = Desk(kind)
        let (claim, _) = try desk.hold(.groupCall)
        desk.settle()
        desk.server.restart { Desk.build($0) }
        let music = desk.play("music")
        desk.settle()
        desk.settle()
        #expect(desk.isHeard(music, at: -6))
        let told = desk.session.deliveries.filter { $0.claim == claim }.map(\.event)
        #expect(told.prefix(2) == [.interrupted, .interruptionEnded(shouldResume: true)])
    }

    @Test(arguments: bothKinds)
    func `a claim is told that the route has moved, and why`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let (claim, _) = try desk.hold(.groupCall)
        desk.settle()
        func told() -> [AudioSessionEvent] { desk.session.deliveries.filter { $0.claim == claim }.map(\.event) }
        #expect(told() == [])
        desk.server.setDefault(desk.headset)
        desk.settle()
        let route = AudioRoute(outputs: [.headphones])
        #expect(told() == [.outputRouteChanged(reason: .override, route: route)])
        #expect(desk.session.policy?.route() == route)
        #expect(desk.session.events.contains { $0.event == .routeChanged && $0.message == "override" })
        desk.server.removeDevice(desk.headset)
        desk.settle()
        #expect(
            told().last
                == .outputRouteChanged(
                    reason: .oldDeviceUnavailable, route: AudioRoute(outputs: [.builtInSpeaker])))
    }

    @Test(arguments: bothKinds)
    func `PER-05: a seat that is away keeps what is in force and begins nothing`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let music = desk.play("music")
        let (claim, _) = try desk.hold(.groupCall)
        desk.settle()
        desk.session.policy?.setInterrupted(.seat, true)
        let (call, _) = try desk.hold(.call, name: "caller")
        let late = desk.play("music", "late")
        desk.settle()
        #expect(desk.isHeard(music, at: -6) && desk.isHeard(late, at: 0))
        desk.session.policy?.setInterrupted(.seat, false)
        desk.settle()
        #expect(desk.isHeard(music, at: -20) && desk.isHeard(late, at: -20))
        desk.session.policy?.core.release(call)
        desk.session.policy?.core.release(claim)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.isHeard(late, at: 0))
        desk.expectNoTrace()
    }
}
