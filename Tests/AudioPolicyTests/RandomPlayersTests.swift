import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

/// A long random life of media players under calls that come and go, a daemon that is killed, and users with fingers on
/// buttons. In the end each player is as its user left it. Seeds as in `RandomTests`.
struct RandomPlayersTests {
    @Test(arguments: bothKinds, RandomTests.seeds)
    func `players are as their users left them, whatever happened`(kind: ServerKind, seed: UInt64) {
        let run = PlayersRun(kind, seed: seed)
        run.live(40)
        #expect(run.faults.isEmpty, "\(run.faults.first ?? "")\n\(run.story)")
    }
}

private final class PlayersRun {
    private struct Program {
        let name: String
        let pid: Int32
        let manners: SimulatedPlayers.Manners
        /// What its user wants, as far as that has had an effect, and since when.
        var wish = PlaybackStatus.playing
        var pressed = LoopInstant(nanoseconds: -1_000_000_000)
        /// When it was last told to pause.
        var asked = LoopInstant(nanoseconds: -1_000_000_000)

        var isWilling: Bool { ![.silent, .stubborn, .hanging].contains(manners) }
    }

    private let desk: Desk
    private let seed: UInt64
    private var random: SplitMix
    private var programs: [PlayerID: Program] = [:]
    private var calls: [StreamID] = []
    private var isOff = false
    private var killed = LoopInstant(nanoseconds: -1_000_000_000)
    private var lines: [String] = []
    private(set) var faults: [String] = []
    private var orders: [PlayerID: [String]] = [:]

    var story: String { lines.suffix(60).joined(separator: "\n") }

    init(_ kind: ServerKind, seed: UInt64) {
        self.seed = seed
        random = SplitMix(seed)
        let latencies = SplitMixBox(seed &+ 1)
        let delay = [0, 0, 700].randomElement(using: &random) ?? 0
        desk = Desk(kind) { session in
            session.settings = .pausing
            session.settings.resumeDelay = .milliseconds(delay)
            session.server.latency = { .microseconds(Int.random(in: 100...4000, using: &latencies.generator)) }
        }
        let manners: [SimulatedPlayers.Manners] = [
            .honest, .honest, .wordless, .toggling, .closing, .lying, .silent, .stubborn, .hanging,
        ]
        for number in 0..<4 {
            let name = "player\(number)"
            let pid = desk.session.processes.start(name)
            // As most players, it has ears for its buttons alone.
            let stream = desk.server.start(name, role: "music", pid: pid, on: desk.speakers) {
                $0.obeysCorkRequests = false
            }
            let manner = manners.randomElement(using: &random) ?? .honest
            let player = desk.session.players.start(name, pid: pid, playing: stream, manner)
            programs[player] = Program(name: name, pid: pid, manners: manner)
            note("\(name) is \(manner), stream \(stream)")
        }
        desk.settle()
    }

    func live(_ steps: Int) {
        for _ in 0..<steps where faults.isEmpty {
            act()
            let spans = [0, 1, 2, 5, 20, 80, 300, 1200, 2500]
            for _ in 0..<(spans.randomElement(using: &random) ?? 0) {
                desk.session.pass(.milliseconds(1))
                watchOrders()
            }
        }
        if faults.isEmpty { end() }
    }

    private func act() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: if calls.count < 3 { calls.append(desk.play("phone", "call\(desk.loop.now.nanoseconds)")) }
        case 25..<50: if let index = calls.indices.randomElement(using: &random) { hangUp(index) }
        case 50..<85: press()
        case 85..<91:
            isOff.toggle()
            note(isOff ? "off" : "on")
            desk.session.policy?.setEnabled(!isOff)
        default:
            note("the daemon is killed and started again")
            desk.session.killDaemon()
            killed = desk.loop.now
            isOff = false
            if Bool.random(using: &random) { press() }
            desk.session.pass(.milliseconds(Int.random(in: 0...50, using: &random)))
            desk.session.startDaemon()
        }
    }

    private func hangUp(_ index: Int) {
        note("call \(calls[index]) ends")
        desk.server.stop(calls.remove(at: index))
    }

    private func press() {
        guard let id = programs.keys.sorted().randomElement(using: &random), let player = desk.session.players[id]
        else {
            return
        }
        // A user who pauses what was asked to pause and did not looks just like one that was a little late.
        guard let program = programs[id], program.isWilling || program.asked + .milliseconds(350) < desk.loop.now else {
            return
        }
        // Nor can a daemon know of two presses that it was not there to see.
        if desk.session.policy == nil, program.pressed + .milliseconds(25) > desk.loop.now { return }
        let status: PlaybackStatus = player.status == .playing ? .paused : .playing
        note("\(program.name): its user presses \(status)")
        programs[id]?.wish = status
        programs[id]?.pressed = desk.loop.now
        desk.session.players.press(id, status)
    }

    /// Each Play answers a Pause of ours, and nobody has pressed anything in between.
    private func watchOrders() {
        for (id, program) in programs.sorted(by: { $0.key < $1.key }) {
            let now = (desk.session.players[id]?.calls ?? []).filter { $0 != "Get" }
            for order in now.dropFirst(orders[id]?.count ?? 0) {
                note("\(program.name) is told to \(order)")
                guard order == "Play" else {
                    programs[id]?.asked = desk.loop.now
                    continue
                }
                // What its user does while the request is under way nobody can know.
                let isJustTouched = program.pressed + .milliseconds(25) > desk.loop.now
                // What a killed daemon has sent may arrive when the next one is at it.
                let isWithoutPause = orders[id]?.last != "Pause" && killed + .milliseconds(25) < desk.loop.now
                if isWithoutPause { fault("\(program.name) is told to play and was not paused by us") }
                if program.wish != .playing, !isJustTouched { fault("\(program.name) plays against its user's wish") }
                if isJustTouched { programs[id]?.wish = desk.session.players[id]?.status ?? .playing }
            }
            orders[id] = now
        }
    }

    private func end() {
        desk.session.policy?.setEnabled(true)
        while !calls.isEmpty { hangUp(0) }
        for _ in 0..<8000 {
            desk.session.pass(.milliseconds(1))
            watchOrders()
        }
        for (id, program) in programs.sorted(by: { $0.key < $1.key }) {
            guard let player = desk.session.players[id] else { continue }
            if player.status != program.wish {
                fault("\(program.name) (\(program.manners)) is \(player.status) and its user left it \(program.wish)")
            }
            guard let stream = player.stream, player.status == .playing else { continue }
            if !desk.isHeard(stream, at: 0) { fault("\(program.name) plays at \(desk.heard(stream))") }
        }
        if !desk.session.ledger.text.isEmpty { fault("the ledger has \(desk.session.ledger.text)") }
    }

    private func note(_ text: String) { lines.append("\(desk.loop.now.nanoseconds / 1000) µs \(text)") }

    private func fault(_ text: String) { faults.append("\(text), seed \(seed) on \(desk.server.kind)") }
}
