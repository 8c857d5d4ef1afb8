import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

@testable import AudioPolicy

/// Recordings, races, refusing servers and requests, through the whole core.
struct RaceTests {
    // MARK: Recordings

    @Test(arguments: bothKinds)
    func `REC-02 under a call a recording of the microphone is muted where configured, the desktop's never`(
        kind: ServerKind
    ) {
        for refusal in PolicySettings.RecordingRefusal.allCases {
            let desk = Desk(kind) { $0.settings.observedRecordingRefusal = refusal }
            let monitor = desk.server.addDevice("spk.monitor", .input, monitorOf: desk.speakers)
            let desktop = desk.record(nil, "obs", on: monitor)
            let voice = desk.record(nil, "recorder")
            desk.settle()
            let call = desk.play("phone")
            desk.settle()
            #expect(desk.isHeard(desktop, at: 0))
            #expect(desk.isSilent(voice) == (refusal == .mute))
            desk.server.stop(call)
            desk.settle()
            #expect(desk.isHeard(voice, at: 0))
            desk.expectNoTrace()
        }
    }

    @Test(arguments: bothKinds)
    func `REC-04 a refusal is not remembered`(kind: ServerKind) {
        let desk = Desk(kind) { $0.settings.observedRecordingRefusal = .mute }
        let first = desk.record(nil, "recorder")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(first))
        desk.server.stop(first)
        desk.session.pass(.milliseconds(300))
        desk.server.stop(call)
        desk.settle()
        let second = desk.record(nil, "recorder")
        desk.settle()
        #expect(desk.isHeard(second, at: 0))
        desk.expectNoTrace()
    }

    // MARK: Races

    @Test func `RAC-02 what was meant for a stream that is gone hits no other that has its id`() {
        let desk = Desk(.pipewire)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(call)
        desk.session.pass(.milliseconds(700))
        desk.server.stop(music)
        let other = desk.play("phone", "b")
        desk.settle()
        #expect(desk.operations(on: other).isEmpty && desk.server[other]?.softGain == nil)
        #expect(desk.server.strayOperations.isEmpty)
    }

    @Test(arguments: bothKinds)
    func `RAC-06 fades that overtake each other are monotone, few, and end exactly`(kind: ServerKind) throws {
        let desk = Desk(kind) {
            $0.settings.timing.attack = .zero
            $0.settings.timing.hold = .zero
            $0.settings.timing.fadeDown = .milliseconds(400)
            $0.settings.timing.fadeUp = .milliseconds(400)
        }
        let music = desk.play("music")
        desk.settle()
        let core = try #require(desk.session.policy?.core)
        var claim: ClaimID?
        for _ in 0..<30 {
            if let held = claim {
                core.release(held)
                claim = nil
            } else {
                claim = try core.acquire(.groupCall, owner: ClaimOwner(name: "test"))
            }
            desk.session.pass(.milliseconds(100))
        }
        if let claim { core.release(claim) }
        desk.settle()
        #expect(desk.server.heard(music) == [1, 1])
        var perSecond: [Int64: Int] = [:]
        var last: LoopInstant?
        for (time, operation) in desk.server.log where operation.isLevel {
            perSecond[time.nanoseconds / 1_000_000_000, default: 0] += 1
            if let last { #expect(time - last >= .milliseconds(19)) }
            last = time
        }
        #expect(perSecond.values.allSatisfy { $0 <= 51 })
        let count = desk.server.log.count
        desk.session.pass(.seconds(5))
        #expect(desk.server.log.count == count)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RAC-07 thirty blips of a voice write nothing`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        desk.settle()
        let blips = (0..<30).map { desk.play("phone", "blip\($0)") }
        desk.session.pass(.milliseconds(50))
        for blip in blips { desk.server.stop(blip) }
        desk.settle()
        #expect(desk.operations(on: music).isEmpty && desk.server.log.isEmpty)
    }

    @Test(arguments: bothKinds)
    func `RAC-07 a stream that ends before its first reply was never there`(kind: ServerKind) {
        let desk = Desk(kind)
        desk.server.latency = { .milliseconds(20) }
        for round in 0..<20 {
            let blip = desk.play("phone", "blip\(round)")
            desk.session.pass(.milliseconds(5))
            desk.server.stop(blip)
        }
        desk.settle()
        #expect(desk.session.status()?.streams.isEmpty == true && desk.session.status()?.claims.isEmpty == true)
    }

    @Test(arguments: bothKinds)
    func `an operation that is turned down is not tried for ever, and leaves nothing in the ledger`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        desk.server.refusal = { operation in
            operation.isLevel ? ServerFailure(.accessDenied, "no") : nil
        }
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.operations(on: music).count < 20)
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test func `a stream that ignores soft gains is given up`() {
        let desk = Desk(.pipewire) { $0.settings = .muting }
        let music = desk.play("music") { $0.setPassthrough() }
        desk.settle()
        let call = desk.play("phone")
        desk.session.pass(.seconds(30))
        #expect(desk.operations(on: music).count <= 12)
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test func `a node that cannot be paused is muted`() {
        let desk = Desk(.pipewire) { $0.settings = .pausing }
        desk.server.refusal = { if case .pause = $0 { ServerFailure(.other, "no") } else { nil } }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music) && desk.server[music]?.softGain?.isMuted == true)
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test func `a paused node that its program stops is not started again`() {
        let desk = Desk(.pipewire) { $0.settings = .pausing }
        let music = desk.play("music")
        let film = desk.play("video")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music) && desk.isSilent(film))
        desk.server.cork(music, true)
        desk.server.cork(film, true)
        desk.settle()
        desk.server.cork(film, false)
        desk.settle()
        // What somebody starts again meanwhile gets the level instead.
        #expect(desk.isHeard(film, at: -14))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server[music]?.isCorked == true)
        #expect(!desk.operations(on: music).contains(.resume(music)))
        desk.expectNoTrace()
    }

    // MARK: Requests

    @Test(arguments: bothKinds)
    func `off undoes everything and keeps the claims, on brings it back`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.session.policy?.setEnabled(false)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.session.status()?.session.winner != nil)
        desk.expectNoTrace()
        desk.session.policy?.setEnabled(true)
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.session.policy?.restore()
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.session.isOverridden(music))
        desk.server.stop(call)
        desk.settle()
        let next = desk.play("phone", "next")
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.server.stop(next)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [PolicySettings(), .pausing, .muting])
    func `SIGTERM puts everything back before the end`(kind: ServerKind, settings: PolicySettings) {
        let desk = Desk(kind) { $0.settings = settings }
        let music = desk.play("music")
        desk.server.setVolume(music, [0.512, 0.512])
        desk.settle()
        _ = desk.play("phone")
        desk.settle()
        #expect(desk.session.endDaemon())
        desk.settle()
        #expect(desk.server.heard(music) == desk.server[music]?.volume)
        #expect(desk.server.heard(music).allSatisfy { abs($0 - 0.512) < 1e-4 })
        #expect(desk.session.ledger.text.isEmpty)
        if kind == .pulseaudio {
            #expect(desk.server.store["sink-input-by-media-role:music"]?.volume == desk.server[music]?.volume)
        }
    }

    @Test func `role modules of the user's are taken over once per run of the server and given back`() {
        let desk = Desk(.pulseaudio) {
            $0.server.setForeignPolicies([ForeignPolicy(name: "module-role-cork", arguments: "", module: 7)])
        }
        #expect(desk.server.foreignPolicies.isEmpty)
        desk.server.restart { server in
            Desk.build(server)
            server.setForeignPolicies([ForeignPolicy(name: "module-role-cork", arguments: "", module: 3)])
        }
        desk.settle()
        #expect(desk.server.foreignPolicies.isEmpty)
        #expect(desk.session.endDaemon())
        desk.settle()
        #expect(desk.server.foreignPolicies.map(\.name) == ["module-role-cork"])
    }
}

extension ServerOperation {
    fileprivate var isLevel: Bool {
        switch self {
        case .setVolume, .setSoftGain, .clearSoftGain: true
        default: false
        }
    }
}
