import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

/// A program with a media player on the bus, and its stream.
struct SimulatedMedia {
    let desk: Desk
    let player: PlayerID
    let stream: StreamID

    init(
        _ desk: Desk, _ name: String = "radio", _ manners: SimulatedPlayers.Manners = .honest, role: String = "music"
    ) {
        self.desk = desk
        let pid = desk.session.processes.start(name)
        stream = desk.server.start(name, role: role, pid: pid, on: desk.speakers)
        player = desk.session.players.start(name, pid: pid, playing: stream, manners)
    }

    var status: PlaybackStatus? { desk.session.players[player]?.status }
    /// The calls that change something.
    var orders: [String] { (desk.session.players[player]?.calls ?? []).filter { $0 != "Get" } }
    var isPlaying: Bool { status == .playing && desk.isHeard(stream, at: 0) }

    func press(_ status: PlaybackStatus) { desk.session.players.press(player, status) }
}

/// Pause and resume through media players.
struct PlayerTests {
    private func pausing(
        _ kind: ServerKind, _ configure: (inout PolicySettings) -> Void = { _ in }
    ) -> Desk {
        Desk(kind) { session in
            session.settings = .pausing
            configure(&session.settings)
        }
    }

    /// What the server was told to do to a stream.
    private func expectOnlyItsPlayer(_ media: SimulatedMedia, _ location: SourceLocation = #_sourceLocation) {
        #expect(media.desk.operations(on: media.stream).isEmpty, sourceLocation: location)
        #expect(
            !media.desk.server.operations().contains {
                if case .setCorkedRoles(let roles) = $0 { !roles.isEmpty } else { false }
            }, sourceLocation: location)
    }

    @Test(arguments: bothKinds)
    func `a call pauses music through its player and lets it go on afterwards, and the server is told nothing`(
        kind: ServerKind
    ) throws {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused && media.orders == ["Pause"])
        let shown = try #require(desk.session.status()?.streams.first { $0.id == media.stream.description })
        #expect(shown.effect?.action == "pause" && !shown.overridden)
        let policy = try #require(desk.session.policy)
        #expect(try policy.explain("radio", isConfined: false).contains("paused through its player (radio)"))
        let confined = try policy.explain(media.stream.description, isConfined: true)
        #expect(confined.contains("paused through its player") && !confined.contains("radio"))
        #expect(desk.session.status()?.ledger.entries == 1)
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        expectOnlyItsPlayer(media)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-15 only what we paused and nobody touched plays again`(kind: ServerKind) {
        let desk = pausing(kind)
        let playing = SimulatedMedia(desk, "playing")
        let paused = SimulatedMedia(desk, "paused")
        let touched = SimulatedMedia(desk, "touched")
        paused.press(.paused)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        touched.press(.playing)
        desk.settle()
        #expect(desk.isHeard(touched.stream, at: -14))
        touched.press(.paused)
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(playing.isPlaying && playing.orders == ["Pause", "Play"])
        #expect(paused.status == .paused && paused.orders.isEmpty)
        #expect(touched.status == .paused && touched.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `what its user starts during a call plays on at the duck's level, and is not told to play`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        media.press(.playing)
        desk.settle()
        #expect(desk.isHeard(media.stream, at: -14) && !desk.session.isOverridden(media.stream))
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-16 a player whose Pause toggles gets none unless it plays, and one Play`(kind: ServerKind) {
        let desk = pausing(kind)
        let playing = SimulatedMedia(desk, "playing", .toggling)
        let paused = SimulatedMedia(desk, "paused", .toggling)
        paused.press(.paused)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(playing.status == .paused && paused.status == .paused)
        desk.server.stop(call)
        desk.settle()
        #expect(playing.isPlaying && playing.orders == ["Pause", "Play"])
        #expect(paused.status == .paused && paused.orders.isEmpty)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [SimulatedPlayers.Manners.silent, .stubborn, .slow(.seconds(1)), .hanging])
    func `RST-17 a player that does not pause in 300 ms is silenced by the server, and is not told to play`(
        kind: ServerKind, manners: SimulatedPlayers.Manners
    ) {
        let desk = pausing(kind) { $0.timing.attack = .zero }
        let media = SimulatedMedia(desk, "radio", manners)
        desk.settle()
        let call = desk.play("phone")
        desk.session.pass(.milliseconds(320))
        #expect(desk.isSilent(media.stream))
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(!media.orders.contains("Play"))
        #expect(media.status == .paused || media.isPlaying)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RAC-05 a player that its user pauses between our question and our Pause is not told to play`(
        kind: ServerKind
    ) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "radio", .overtaken)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused)
        desk.server.stop(call)
        desk.settle()
        #expect(media.status == .paused && media.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a player that never says that its status has changed is asked, and plays again`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "radio", .wordless)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        expectOnlyItsPlayer(media)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a player that says it has paused and sounds on is silenced by the server as well`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "radio", .lying)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(media.stream))
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause", "Play"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `what its user starts in a player that sounds on is heard at the duck's level`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "browser", .lying)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        media.press(.playing)
        desk.settle()
        #expect(desk.isHeard(media.stream, at: -14))
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && media.orders == ["Pause"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a player that closes its stream is held by the same call, and by another that comes meanwhile`(
        kind: ServerKind
    ) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "radio", .closing)
        desk.settle()
        let first = desk.play("phone", "first")
        desk.settle()
        #expect(media.status == .paused)
        let second = desk.play("phone", "second")
        desk.settle()
        desk.server.stop(first)
        desk.settle()
        #expect(media.status == .paused)
        desk.server.stop(second)
        desk.settle()
        #expect(media.status == .playing && media.orders == ["Pause", "Play"])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a player that crashes when it is told to pause leaves nothing behind`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk, "radio", .crashing)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == nil)
        desk.expectNoTrace()
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    // MARK: Whose player

    @Test(arguments: bothKinds)
    func `of two players in one process the one that plays is paused`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk)
        let pid = desk.session.players[media.player]?.pid ?? 0
        let second = desk.session.players.start("second", pid: pid, playing: nil, status: .paused)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused)
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying)
        #expect(desk.session.players[second]?.calls.contains { $0 != "Get" } == false)
        expectOnlyItsPlayer(media)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `of two players in one process one pauses and the other one does not: both are silent`(kind: ServerKind) {
        let desk = pausing(kind)
        let media = SimulatedMedia(desk)
        let pid = desk.session.players[media.player]?.pid ?? 0
        let other = desk.server.start("radio", role: "music", pid: pid, on: desk.speakers)
        let silent = desk.session.players.start("second", pid: pid, playing: other, .silent)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.status == .paused && desk.isSilent(media.stream) && desk.isSilent(other))
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying && desk.isHeard(other, at: 0))
        #expect(desk.session.players[silent]?.calls.contains("Play") == false)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a browser's sound comes from a child of the process that owns the name`(kind: ServerKind) {
        let desk = pausing(kind)
        let browser = desk.session.processes.start("browser")
        let child = desk.session.processes.start("audio-service", parent: browser)
        let stream = desk.server.start("audio-service", role: "music", pid: child, on: desk.speakers)
        let player = desk.session.players.start("browser", pid: browser, playing: stream)
        let stranger = SimulatedMedia(desk, "stranger")
        desk.server.cork(stranger.stream, true)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.session.players[player]?.status == .paused)
        #expect(stranger.status == .playing && stranger.orders.isEmpty)
        desk.server.stop(call)
        desk.settle()
        #expect(desk.session.players[player]?.status == .playing && desk.isHeard(stream, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a player is left alone while it plays something besides that is not to pause`(kind: ServerKind) {
        let desk = pausing(kind) {
            $0.rules = [rule("media.name", "kept") { $0.ignore = true }]
        }
        let media = SimulatedMedia(desk)
        let pid = desk.session.players[media.player]?.pid ?? 0
        let kept = desk.server.start(
            "radio", role: "music", pid: pid, on: desk.speakers, properties: ["media.name": "kept"])
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(media.orders.isEmpty && desk.isSilent(media.stream) && desk.isHeard(kept, at: 0))
        desk.server.stop(call)
        desk.settle()
        #expect(media.isPlaying)
        desk.expectNoTrace()
    }

    // MARK: Who else pauses

    @Test(arguments: bothKinds)
    func `what a session manager has paused is not ours, before a call and during it`(kind: ServerKind) {
        let desk = pausing(kind)
        let before = SimulatedMedia(desk, "before")
        let during = SimulatedMedia(desk, "during")
        desk.settle()
        before.press(.paused)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        during.press(.stopped)
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(before.status == .paused && before.orders.isEmpty)
        #expect(during.status == .stopped && during.orders == ["Pause"])
        desk.expectNoTrace()
    }
}
