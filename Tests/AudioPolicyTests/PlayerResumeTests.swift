import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

/// When a player that we have paused plays again, and what a crash, a loss or a user's wish makes of that.
struct PlayerResumeTests {
    private func pausing(
        _ kind: ServerKind, _ configure: (inout PolicySettings) -> Void = { _ in }
    ) -> (desk: Desk, media: SimulatedMedia) {
        let desk = Desk(kind) { session in
            session.settings = .pausing
            configure(&session.settings)
        }
        let media = SimulatedMedia(desk)
        desk.settle()
        return (desk, media)
    }

    /// Paused by a call that has just ended; 3 s until the player plays again.
    private func delayed(_ kind: ServerKind) -> (desk: Desk, media: SimulatedMedia) {
        let (desk, media) = pausing(kind) {
            $0.resumeDelay = .seconds(3)
            $0.timing.hold = .zero
            $0.timing.attack = .zero
        }
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused)
        desk.server.stop(call)
        desk.session.pass(.seconds(1))
        #expect(media.status == .paused && media.orders == ["Pause"])
        return (desk, media)
    }

    @Test(arguments: bothKinds)
    func `a player plays again after the delay that its user wants`(kind: ServerKind) {
        let (desk, media) = delayed(kind)
        desk.session.pass(.milliseconds(1900))
        #expect(media.status == .paused)
        desk.session.pass(.milliseconds(200))
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CFG-07 a new claim cancels a pending resume until it is released as well`(kind: ServerKind) {
        let (desk, media) = delayed(kind)
        let second = desk.play("phone", "second")
        desk.session.pass(.seconds(10))
        #expect(media.status == .paused && media.orders == ["Pause"])
        desk.server.stop(second)
        desk.session.pass(.seconds(4))
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CFG-07 what its user starts in the meantime is not told to play`(kind: ServerKind) {
        let (desk, media) = delayed(kind)
        media.press(.playing)
        desk.session.pass(.seconds(10))
        #expect(media.isPlaying && media.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CFG-07 nothing is sent to a player that has ended`(kind: ServerKind) {
        let (desk, media) = delayed(kind)
        desk.session.players.quit(media.player)
        desk.session.pass(.seconds(10))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CFG-07 where its user wants no resume a player stays paused`(kind: ServerKind) {
        let (desk, media) = pausing(kind) { $0.resume = .never }
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(call)
        desk.session.pass(.seconds(10))
        #expect(media.status == .paused && media.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a call that begins while a player starts again pauses it again`(kind: ServerKind) {
        for time in stride(from: 0, through: 600, by: 20) {
            let (desk, media) = pausing(kind) { $0.timing.attack = .zero }
            let first = desk.play("phone", "first")
            desk.settle()
            desk.server.stop(first)
            desk.session.pass(.milliseconds(time))
            let second = desk.play("phone", "second")
            desk.settle()
            #expect(media.status == .paused, "after \(time) ms")
            desk.server.stop(second)
            desk.settle()
            #expect(media.isPlaying, "after \(time) ms")
            desk.settle()
            desk.expectNoTrace()
        }
    }

    @Test(arguments: bothKinds)
    func `switched off, everything plays on, and switched on again it is paused again`(kind: ServerKind) {
        let (desk, media) = pausing(kind) { $0.resumeDelay = .seconds(60) }
        let call = desk.play("phone")
        desk.settle()
        desk.session.policy?.setEnabled(false)
        desk.settle()
        #expect(media.isPlaying)
        desk.session.policy?.setEnabled(true)
        desk.settle()
        #expect(media.status == .paused)
        desk.session.policy?.setEnabled(false)
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `restore lets a player play on until the call is over`(kind: ServerKind) {
        let (desk, media) = pausing(kind)
        let call = desk.play("phone")
        desk.settle()
        desk.session.policy?.restore()
        desk.settle()
        #expect(media.isPlaying && desk.session.isOverridden(media.stream))
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && !desk.session.isOverridden(media.stream))
        desk.expectNoTrace()
    }

    // MARK: Ends

    @Test(arguments: bothKinds)
    func `a daemon that ends lets its players play on first`(kind: ServerKind) {
        let (desk, media) = pausing(kind) { $0.resumeDelay = .seconds(60) }
        _ = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused)
        #expect(desk.session.endDaemon())
        #expect(media.isPlaying && desk.session.ledger.text.isEmpty)
    }

    @Test(arguments: bothKinds, [SimulatedPlayers.Manners.honest, .closing])
    func `CRA-04 what a killed daemon has paused plays again with the next one, if nobody has touched it`(
        kind: ServerKind, manners: SimulatedPlayers.Manners
    ) {
        for isTouched in [false, true] {
            let desk = Desk(kind) { $0.settings = .pausing }
            let media = SimulatedMedia(desk, "radio", manners)
            desk.settle()
            let call = desk.play("phone")
            desk.settle()
            #expect(media.status == .paused)
            desk.session.killDaemon()
            desk.server.stop(call)
            if isTouched { media.press(.stopped) }
            desk.settle()
            desk.session.startDaemon()
            desk.settle()
            #expect(media.status == (isTouched ? .stopped : .playing))
            #expect(media.orders == (isTouched ? ["Pause"] : ["Pause", "Play"]))
            desk.settle()
            desk.expectNoTrace()
        }
    }

    @Test(arguments: bothKinds, [SimulatedPlayers.Manners.honest, .closing])
    func `CRA-04 a call that goes on over a crash holds what it has paused`(
        kind: ServerKind, manners: SimulatedPlayers.Manners
    ) {
        let desk = Desk(kind) { $0.settings = .pausing }
        let media = SimulatedMedia(desk, "radio", manners)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        for _ in 0..<2 {
            desk.session.killDaemon()
            desk.session.pass(.seconds(1))
            desk.session.startDaemon()
            desk.settle()
            #expect(media.status == .paused && media.orders == ["Pause"])
        }
        desk.server.stop(call)
        desk.settle()
        #expect(media.status == .playing && media.orders == ["Pause", "Play"])
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CRA-04 another player that has got the name of one that a killed daemon has paused is not told to play`(
        kind: ServerKind
    ) {
        let (desk, media) = pausing(kind)
        let call = desk.play("phone")
        desk.settle()
        desk.session.killDaemon()
        desk.server.stop(call)
        desk.session.players.quit(media.player)
        let other = SimulatedMedia(desk)
        other.press(.paused)
        desk.session.startDaemon()
        desk.settle()
        #expect(other.status == .paused && other.orders.isEmpty)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a sound server that is lost during a call leaves its player to be started when it is back`(kind: ServerKind) {
        let (desk, media) = pausing(kind)
        _ = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused)
        desk.server.restart { Desk.build($0) }
        desk.session.pass(.seconds(5))
        #expect(media.status == .playing && media.orders == ["Pause", "Play"])
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `without a bus the server's own pause does it, and what was paused stays in the ledger`(kind: ServerKind) {
        let (desk, media) = pausing(kind)
        let first = desk.play("phone")
        desk.settle()
        desk.session.playerBus?.lose()
        desk.settle()
        desk.server.stop(first)
        desk.settle()
        #expect(media.status == .paused && desk.session.status()?.ledger.entries == 1)
        let other = SimulatedMedia(desk, "other")
        desk.settle()
        let second = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(other.stream) && other.orders.isEmpty)
        desk.server.stop(second)
        desk.settle()
        #expect(desk.isHeard(other.stream, at: 0))
        desk.session.killDaemon()
        desk.session.startDaemon()
        desk.settle()
        #expect(media.isPlaying)
        desk.settle()
        desk.expectNoTrace()
    }
}
