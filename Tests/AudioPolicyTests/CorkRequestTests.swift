@testable import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

/// PulseAudio: pausing by the server's own module, without its faults.
struct CorkRequestTests {
    private func desk(_ configure: (SimulatedSession) -> Void = { _ in }) -> Desk {
        Desk(.pulseaudio) {
            $0.settings = .pausing
            configure($0)
        }
    }

    private func requests(_ desk: Desk) -> [Set<String>] {
        desk.server.operations().compactMap { if case .setCorkedRoles(let roles) = $0 { roles } else { nil } }
    }

    @Test func `programs are asked to pause for a call and play again after it, and nothing is stored`() {
        let desk = desk()
        let music = desk.play("music")
        let film = desk.play("video")
        let deaf = desk.play("music", "deaf") { $0.obeysCorkRequests = false }
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        for stream in [music, film] { #expect(desk.server[stream]?.isCorked == true) }
        #expect(desk.isSilent(deaf) && desk.server[deaf]?.isCorked == false)
        #expect(requests(desk) == [["music", "video"]])
        desk.server.stop(call)
        desk.settle()
        for stream in [music, film, deaf] {
            #expect(desk.isHeard(stream, at: 0) && desk.server[stream]?.isCorked == false)
        }
        #expect(requests(desk) == [["music", "video"], []])
        #expect(desk.server.store.values.allSatisfy { !$0.isMuted })
        desk.expectNoTrace()
    }

    @Test func `RST-14 after an override and an unrelated stream the music plays when the call is over`() {
        for isOverridden in [false, true] {
            let desk = desk()
            let music = desk.play("music")
            let other = desk.play("music", "other")
            desk.settle()
            let call = desk.play("phone")
            desk.settle()
            if isOverridden { desk.server.setMute(music, false) }
            desk.session.pass(.milliseconds(100))
            let bell = desk.play("event", "bell")
            desk.session.pass(.milliseconds(200))
            desk.server.stop(bell)
            desk.settle()
            // The other one is silent in either case, and the overridden one is asked no second time.
            #expect(desk.isSilent(other))
            if isOverridden { #expect(desk.server[music]?.isMuted == false && desk.server[music]?.isCorked == false) }
            desk.server.stop(call)
            desk.settle()
            for stream in [music, other] {
                #expect(desk.server[stream]?.isCorked == false && desk.isHeard(stream, at: 0))
            }
            desk.expectNoTrace()
        }
    }

    @Test func `a program that its user starts again takes the request back, and the rest is muted`() {
        let desk = desk()
        let music = desk.play("music")
        let other = desk.play("music", "other")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.cork(music, false)
        desk.settle()
        #expect(requests(desk).last == [])
        #expect(desk.isHeard(music, at: 0) && desk.session.isOverridden(music))
        #expect(desk.isSilent(other) && desk.server[other]?.isMuted == true)
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.isHeard(other, at: 0))
        desk.expectNoTrace()
    }

    @Test func `a stream that appears and would be corked takes the request back and gets the level instead`() {
        let desk = desk()
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        let late = desk.play("music", "late")
        desk.settle()
        #expect(requests(desk).last == [])
        #expect(desk.isHeard(late, at: -14) && desk.server[late]?.isCorked == false)
        #expect(desk.isSilent(music) && desk.server[music]?.isMuted == true)
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.isHeard(late, at: 0))
        desk.expectNoTrace()
    }

    @Test func `a role with one stream that is not to pause is asked for nothing`() {
        let desk = desk()
        let near = desk.play("music", "near")
        let far = desk.play("music", "far", on: desk.headset)
        let film = desk.play("video")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(requests(desk) == [["video"]])
        #expect(desk.isSilent(near) && desk.server[near]?.isMuted == true && desk.isHeard(far, at: 0))
        #expect(desk.server[film]?.isCorked == true)
        desk.server.stop(call)
        desk.settle()
        for stream in [near, far, film] { #expect(desk.isHeard(stream, at: 0)) }
        desk.expectNoTrace()
    }

    @Test func `a stream that its user had muted before is left out of it`() {
        let desk = desk()
        let music = desk.play("music")
        desk.server.setMute(music, true)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(requests(desk).isEmpty)
        desk.server.setMute(music, false)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.session.isOverridden(music))
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test func `where the module cannot be had streams are muted one by one`() {
        let desk = desk {
            $0.server.refusal = { operation in
                if case .setCorkedRoles(let roles) = operation, !roles.isEmpty {
                    ServerFailure(.other, "Module initialization failed")
                } else {
                    nil
                }
            }
        }
        let music = desk.play("music")
        desk.settle()
        for _ in 0..<2 {
            let call = desk.play("phone")
            desk.settle()
            #expect(desk.isSilent(music) && desk.server[music]?.isMuted == true)
            desk.server.stop(call)
            desk.settle()
            #expect(desk.isHeard(music, at: 0))
        }
        #expect(requests(desk).filter { !$0.isEmpty }.count == 1)
        desk.expectNoTrace()
    }

    @Test func `when the daemon dies the server itself lets the music play`() {
        let desk = desk()
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.session.killDaemon()
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.server[music]?.isCorked == false)
        desk.server.stop(call)
        desk.session.startDaemon()
        desk.settle()
        desk.expectNoTrace()
    }

    @Test func `a request that is taken back before it has acted leaves nothing`() {
        for delay in stride(from: 101, through: 125, by: 1) {
            let desk = desk { $0.server.latency = { .milliseconds(4) } }
            let music = desk.play("music")
            desk.settle()
            let call = desk.play("phone")
            desk.session.pass(.milliseconds(delay))
            desk.session.policy?.setEnabled(false)
            desk.settle()
            #expect(desk.isHeard(music, at: 0) && desk.server[music]?.isCorked == false, "after \(delay) ms")
            desk.server.stop(call)
            desk.settle()
            desk.expectNoTrace()
        }
    }

    // MARK: The decision by itself

    private func member(_ role: String, running: Bool = true, toPause: Bool = true) -> CorkRequests.Member {
        CorkRequests.Member(role: role, isRunning: running, isToPause: toPause)
    }

    @Test func `all or nothing, and once taken back not again until no stream is to pause`() {
        var corks = CorkRequests()
        func decide() -> Set<String>? { corks.decide() }
        let streams = (1...4).map { StreamID(.output, $0) }
        #expect(decide() == nil)
        corks.set(streams[0], member("music"))
        corks.set(streams[1], member("video"))
        corks.set(streams[2], member("video", running: false, toPause: false))
        #expect(decide() == ["music", "video"])
        #expect(decide() == nil)
        corks.set(streams[2], member("video", toPause: false))
        #expect(decide() == [])
        corks.set(streams[2], nil)
        #expect(decide() == nil)
        corks.set(streams[0], member("music", toPause: false))
        corks.set(streams[1], nil)
        #expect(decide() == nil)
        corks.set(streams[0], member("music"))
        #expect(decide() == ["music"])
        corks.set(streams[0], nil)
        #expect(decide() == [])
    }
}
