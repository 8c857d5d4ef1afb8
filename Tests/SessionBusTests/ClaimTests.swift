import AudioPolicy
import AudioSession
import DaemonTestSupport
import EventLoop
import Glibc
import SystemEventLoop
import Testing

@testable import SessionBus

extension SessionStatus {
    /// A session in which nothing happens.
    static let quiet = SessionStatus(
        server: Server(kind: "pipewire", version: "1.4", connected: true), enabled: true,
        session: Session(state: "passive", winner: nil), claims: [], streams: [], devices: [],
        ledger: LedgerSize(entries: 0), warnings: [])
}

@Suite struct ClaimTests {
    private let desk: BusDesk

    init() throws { desk = try BusDesk(.quiet) }

    private func path(_ id: ClaimID) -> String { BusContract.path(ofClaim: id.description) }

    @Test func `Acquire gives a claim that is the caller's, with an object of its own`() throws {
        let service = try desk.running()
        let player = try Holder(desk)
        let id = try player.acquire(.playback, output: .speaker)
        let claim = try #require(desk.session.core.arbiter[id]?.claim)
        #expect(claim.owner.name == "tester")
        #expect(claim.owner.pid == getpid())
        #expect(claim.owner.connection == player.link.uniqueName)
        #expect(try desk.property("Kind", of: path(id)) == #"s "playback""#)
        #expect(try desk.property("Output", of: path(id)) == #"s "speaker""#)
        #expect(try desk.property("Standing", of: path(id)) == #"s "winner""#)
        #expect(try desk.property("Activated", of: path(id)) == "b true")
        #expect(try desk.property("Winner") == #"o "\#(path(id))""#)
        service.stop()
    }

    @Test func `Update, Activate and SetDucking reach the claim, and Release ends it`() throws {
        let service = try desk.running()
        let phone = try Holder(desk)
        let id = try phone.acquire(.call)
        #expect(try desk.property("Activated", of: path(id)) == "b false")
        try phone.setActivated(id, true)
        #expect(try desk.property("Activated", of: path(id)) == "b true")
        try phone.setActivated(id, false)
        try phone.update(id, output: .receiver)
        #expect(
            try phone.refusal("SetDucking") {
                $0.append(path(id), as: BusType.objectPath)
                $0.append("maximum")
                $0.append(true)
            } == nil)
        let claim = try #require(desk.session.core.arbiter[id]?.claim)
        #expect(!claim.isActivated && claim.output == .receiver)
        #expect(claim.options.ducking == AudioSessionDucking(level: .maximum, isAdvanced: true))
        try phone.release(id)
        #expect(desk.session.core.arbiter.isEmpty)
        #expect(try desk.property("Kind", of: path(id)).contains("Unknown object"))
        // Teardown that runs twice needs no bookkeeping.
        try phone.release(id)
        service.stop()
    }

    @Test func `The options of Acquire are those of the claim`() throws {
        let service = try desk.running()
        let assistant = try Holder(desk)
        let id = try assistant.acquire(
            .speech,
            .init(
                name: "Réka", lease: .seconds(60),
                claim: ClaimOptions(
                    isInterrupting: true, ducking: AudioSessionDucking(level: .medium, isAdvanced: true))))
        let claim = try #require(desk.session.core.arbiter[id]?.claim)
        #expect(claim.owner.name == "Réka")
        #expect(claim.options.isInterrupting)
        #expect(claim.options.ducking == AudioSessionDucking(level: .medium, isAdvanced: true))
        service.stop()
    }

    @Test func `Events of a claim go to its owner alone`() throws {
        desk.processes.tellsApart = true
        let service = try desk.running()
        let player = try Holder(desk)
        let phone = try Holder(desk)
        let recorder = try Holder(desk)
        let music = try player.acquire(.playback)
        let note = try recorder.acquire(.recording)
        let call = try phone.acquire(.call)
        try phone.setActivated(call, true)
        desk.session.core.receive(.routeChanged(.newDeviceAvailable, AudioRoute(outputs: [.bluetoothHFP])))
        try phone.release(call)
        try desk.loop.turn(until: { recorder.events.count == 4 && !phone.events.isEmpty }, "the events")
        let moved = "outputRouteChanged(reason: AudioSession.AudioRouteChangeReason.newDeviceAvailable"
        func told(_ holder: Holder) -> [String] { holder.events.map { String($0.split(separator: ",")[0]) } }
        #expect(told(player) == ["\(music) subordinated", "\(music) \(moved)"])
        #expect(
            told(recorder) == [
                "\(note) subordinated", "\(note) interrupted", "\(note) \(moved)",
                "\(note) interruptionEnded(shouldResume: true)",
            ])
        #expect(told(phone) == ["\(call) \(moved)"])
        service.stop()
    }

    @Test func `The reply of Acquire comes before whatever the claim is told`() throws {
        let service = try desk.running()
        desk.session.core.interrupt(.server)
        let player = try Holder(desk)
        var order: [String] = []
        player.link.onEvent = { order.append("\($0) \($1)") }
        player.link.acquire(.playback, output: .system) { order.append("acquired \((try? $0.get()) ?? "")") }
        try desk.loop.turn(until: { order.count == 2 }, "reply and event")
        let path = BusContract.path(ofClaim: "c1")
        #expect(order == ["acquired \(path)", "\(path) interrupted"])
        service.stop()
    }

    @Test func `Nobody but its owner can use a claim`() throws {
        let service = try desk.running()
        let owner = try Holder(desk)
        let other = try Holder(desk)
        let id = try owner.acquire(.playback)
        for method in ["Release", "Activate", "Deactivate"] {
            let error = try other.refusal(method) { $0.append(path(id), as: BusType.objectPath) }
            #expect(error == BusError(.refused("NotOwner"), "the claim \(id) is another program's"), "\(method)")
        }
        let error = try other.refusal("Update") {
            $0.append(path(id), as: BusType.objectPath)
            $0.append("speaker")
        }
        #expect(error?.code == .refused("NotOwner"))
        #expect(desk.session.core.arbiter[id]?.claim.output == .system)
        service.stop()
    }

    @Test func `Claims end with their owner's connection`() throws {
        let service = try desk.running()
        let stays = try Holder(desk)
        let kept = try stays.acquire(.playback)
        var goes: Holder? = try Holder(desk)
        for kind in [AudioSessionClientKind.call, .playback, .ambient] { _ = try goes?.acquire(kind) }
        goes = nil
        try desk.loop.turn(until: { desk.session.core.arbiter.entries.count == 1 }, "the end of three claims")
        #expect(desk.session.core.arbiter.winner == kept)
        service.stop()
    }

    @Test func `A connection that ends before it is known leaves no claim behind`() throws {
        let service = try desk.running()
        for _ in 0..<20 {
            let hasty = try Holder(desk)
            hasty.link.acquire(.call, output: .system) { _ in }
            // Sent, and gone before any answer.
            try desk.loop.turn(timeout: .zero)
        }
        let last = try Holder(desk)
        let id = try last.acquire(.playback)
        try desk.loop.turn(until: { desk.session.core.arbiter.entries.map(\.claim.id) == [id] }, "the last alone")
        service.stop()
    }

    @Test func `Claims end when the service leaves the bus`() throws {
        let service = try desk.running()
        _ = try Holder(desk).acquire(.call)
        service.stop()
        #expect(desk.session.core.arbiter.isEmpty)
    }
}
