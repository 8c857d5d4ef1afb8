import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

@testable import AudioPolicy

/// The class "crash" of the field cases, and flat volumes.
struct CrashTests {
    private let key = "sink-input-by-media-role:music"

    @Test(arguments: bothKinds)
    func `CRA-02 after a restart of the server a held claim ducks again`(kind: ServerKind) throws {
        let desk = Desk(kind)
        _ = desk.play("music")
        _ = desk.play("phone")
        let core = try #require(desk.session.policy?.core)
        let claim = try core.acquire(.groupCall, owner: ClaimOwner(name: "test"))
        desk.settle()
        desk.server.restart { Desk.build($0) }
        desk.session.pass(.seconds(5))
        #expect(desk.session.status()?.server.connected == true)
        let music = desk.server.start("player", role: "music")
        let call = desk.server.start("caller", role: "phone")
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: -6))
        core.release(claim)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test func `CRA-03 without a session manager no stream has a device, and everything is right when it is back`() {
        let desk = Desk(.pipewire)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.server.disconnect([music, call])
        desk.settle()
        #expect(desk.server.strayOperations.isEmpty)
        desk.server.move(call, to: desk.speakers)
        desk.server.move(music, to: desk.speakers)
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    private func crashed(
        _ kind: ServerKind, after time: Duration = .seconds(2), settings: PolicySettings = PolicySettings(),
        volume: Double = 0.512
    ) -> (desk: Desk, music: StreamID, call: StreamID) {
        let desk = Desk(kind) { $0.settings = settings }
        let music = desk.play("music")
        desk.server.setVolume(music, [volume, volume])
        desk.settle()
        let call = desk.play("phone")
        desk.session.pass(time)
        desk.session.killDaemon()
        desk.session.pass(.milliseconds(200))
        desk.server.stop(call)
        desk.session.pass(.milliseconds(200))
        return (desk, music, call)
    }

    private func expectHealed(_ desk: Desk, _ streams: [StreamID], at level: Double = 0.512) {
        for stream in streams {
            #expect(desk.server.heard(stream).allSatisfy { abs($0 - level) < 1e-4 }, "\(desk.server.heard(stream))")
        }
        #expect(desk.server.store[key].map { $0.volume.allSatisfy { abs($0 - level) < 1e-4 } } ?? true)
        #expect(desk.server.store[key]?.isMuted != true)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [PolicySettings(), .muting, .pausing])
    func `CRA-04 a, killed while music is low, a new daemon puts it back`(kind: ServerKind, settings: PolicySettings) {
        for time in [Duration.milliseconds(105), .milliseconds(110), .milliseconds(160), .seconds(2)] {
            let (desk, music, _) = crashed(kind, after: time, settings: settings)
            desk.session.startDaemon()
            desk.settle()
            expectHealed(desk, [music])
        }
    }

    @Test(arguments: bothKinds)
    func `CRA-04 a second crash does not stack on the first`(kind: ServerKind) {
        let (desk, music, _) = crashed(kind)
        for _ in 0..<3 {
            desk.session.startDaemon()
            desk.session.pass(.milliseconds(3))
            let call = desk.play("phone")
            desk.session.pass(.milliseconds(700))
            desk.session.killDaemon()
            desk.session.pass(.milliseconds(100))
            desk.server.stop(call)
        }
        desk.session.startDaemon()
        desk.settle()
        expectHealed(desk, [music])
    }

    @Test(arguments: bothKinds, [PolicySettings(), .muting])
    func `CRA-04 b, the daemon and the music are started again`(kind: ServerKind, settings: PolicySettings) {
        let (desk, music, _) = crashed(kind, settings: settings)
        desk.server.stop(music)
        let before = desk.play("music", "before")
        desk.session.startDaemon()
        desk.settle()
        let after = desk.play("music", "after")
        desk.settle()
        expectHealed(desk, [before, after])
    }

    @Test(arguments: bothKinds)
    func `CRA-04 c, everything is started again`(kind: ServerKind) {
        let (desk, _, _) = crashed(kind)
        desk.server.restart { Desk.build($0) }
        let before = desk.server.start("player", role: "music")
        desk.session.startDaemon()
        desk.settle()
        let after = desk.server.start("player", role: "music")
        desk.settle()
        expectHealed(desk, [before, after])
    }

    @Test(arguments: bothKinds)
    func `CRA-04 d, what its user has set in between is kept`(kind: ServerKind) {
        let (desk, music, _) = crashed(kind)
        desk.server.setVolume(music, [0.216, 0.216])
        desk.session.pass(.milliseconds(100))
        desk.session.startDaemon()
        desk.settle()
        expectHealed(desk, [music], at: 0.216)
    }

    @Test
    func `CRA-04 a stream that its user muted stays muted when another of its role was muted by a daemon that died`() {
        let desk = Desk(.pulseaudio) { $0.settings = .muting }
        let muted = desk.play("music", "muted")
        desk.server.setMute(muted, true)
        let music = desk.play("music", "music") { $0.unmute() }
        desk.server.setMute(music, false)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music))
        desk.session.killDaemon()
        desk.session.pass(.milliseconds(100))
        desk.server.stop(call)
        desk.session.startDaemon()
        desk.settle()
        #expect(desk.isSilent(muted) && desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test func `CRA-04 a stream that began at a level of ours is known to the next daemon`() {
        let desk = Desk(.pulseaudio) {
            $0.settings.timing.attack = .zero
            $0.settings.timing.fadeDown = .zero
        }
        let music = desk.play("music", "music")
        desk.settle()
        let call = desk.play("phone")
        // The server stores our level for a moment, before the entry is healed.
        while desk.server.store[key]?.volume.max() ?? 1 > 0.5, desk.loop.now.nanoseconds < 10_000_000_000 {
            desk.session.pass(.microseconds(10))
        }
        let late = desk.play("music", "late")
        #expect(desk.isHeard(late, at: -20))
        desk.settle()
        #expect(desk.isHeard(late, at: -20))
        desk.session.killDaemon()
        desk.session.pass(.milliseconds(100))
        desk.session.startDaemon()
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        expectHealed(desk, [music, late], at: 1)
    }

    @Test(arguments: bothKinds)
    func `a call that goes on over a crash finds its music still down`(kind: ServerKind) {
        let desk = Desk(kind) { $0.settings = .muting }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.session.killDaemon()
        desk.session.pass(.seconds(1))
        desk.session.startDaemon()
        for _ in 0..<100 {
            desk.session.pass(.milliseconds(10))
            #expect(desk.isSilent(music))
        }
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    // MARK: Flat volumes

    @Test func `CFG-03 with flat volumes no sink ever rises above what its user set`() {
        // What is under way in the very moment of the user's change is beyond anybody's reach.
        for delay in stride(from: 95, through: 700, by: 10) {
            let desk = Desk(.pulseaudio, isFlat: true)
            desk.server.setDeviceVolume(desk.speakers, 0.5)
            let music = desk.play("music", volume: [0.5, 0.5])
            let quiet = desk.play("video", volume: [0.25, 0.125])
            desk.settle()
            let call = desk.play("phone", volume: [0.5, 0.5])
            desk.session.pass(.milliseconds(delay))
            desk.server.setDeviceVolume(desk.speakers, 0.2)
            for _ in 0..<40 {
                desk.session.pass(.milliseconds(20))
                #expect((desk.server.devices[desk.speakers]?.volume.max() ?? 1) <= 0.2001, "after \(delay) ms")
            }
            desk.server.stop(call)
            for _ in 0..<100 {
                desk.session.pass(.milliseconds(20))
                #expect((desk.server.devices[desk.speakers]?.volume.max() ?? 1) <= 0.2001, "after \(delay) ms")
            }
            #expect(desk.server.heard(music).allSatisfy { $0 <= 0.2001 })
            #expect(desk.server.heard(quiet).allSatisfy { $0 <= 0.1001 })
            if delay > 300 {
                #expect(desk.server.heard(music).allSatisfy { abs($0 - 0.2) < 0.005 }, "\(desk.server.heard(music))")
                #expect(zip(desk.server.heard(quiet), [0.1, 0.05]).allSatisfy { abs($0 - $1) < 0.003 })
            }
            desk.expectNoTrace()
        }
    }

    @Test func `CFG-03 with flat volumes a stream's own slider is still a user's`() {
        let desk = Desk(.pulseaudio, isFlat: true)
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.setVolume(music, [0.343, 0.343])
        desk.settle()
        #expect(desk.session.isOverridden(music))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server.heard(music).allSatisfy { abs($0 - 0.343) < 1e-4 })
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CFG-04 a duck of 20 dB is a tenth on both servers`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music", volume: [0.8, 0.8])
        desk.settle()
        let before = desk.server.heard(music)
        _ = desk.play("phone")
        desk.settle()
        #expect(zip(desk.server.heard(music), before).allSatisfy { abs($0 / $1 - 0.1) < 0.005 })
    }
}
