import AudioPolicy
import AudioSessionTestHelper
import EventLoop
import Testing

/// A pause acts on what was playing before; what somebody starts meanwhile is turned down instead, by the default level
/// where the table says pause.
struct PauseTests {
    @Test(arguments: bothKinds)
    func `what a call has paused and its user starts again plays at the duck's level until the call is over`(
        kind: ServerKind
    ) {
        let desk = Desk(kind) { $0.settings = .pausing }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music))
        for _ in 0..<3 {
            desk.server.cork(music, true)
            desk.settle()
            desk.server.cork(music, false)
            desk.settle()
            #expect(desk.isHeard(music, at: -14) && !desk.session.isOverridden(music))
        }
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `what starts during a call is turned down, and what the call has paused stays silent`(kind: ServerKind) {
        let desk = Desk(kind) { $0.settings = .pausing }
        let music = desk.play("music", "music")
        let waiting = desk.play("music", "waiting", isCorked: true)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.cork(waiting, false)
        let late = desk.play("music", "late")
        desk.settle()
        #expect(desk.isSilent(music) && desk.isHeard(waiting, at: -14) && desk.isHeard(late, at: -14))
        desk.server.stop(call)
        desk.settle()
        for stream in [music, waiting, late] { #expect(desk.isHeard(stream, at: 0)) }
        desk.expectNoTrace()
    }

    @Test func `a pause command leaves the ledger only when the server has said that it is over`() {
        let desk = Desk(.pipewire) { $0.settings = .pausing }
        desk.server.latency = { .milliseconds(5) }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music) && desk.session.status()?.ledger.entries != 0)
        desk.server.stop(call)
        while desk.session.status()?.ledger.entries != 0, desk.loop.now.nanoseconds < 60_000_000_000 {
            desk.session.pass(.milliseconds(1))
        }
        #expect(desk.isHeard(music, at: 0))
        desk.settle()
        desk.expectNoTrace()
    }
}
