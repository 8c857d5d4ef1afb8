@testable import AudioPolicy
import AudioSession
import Testing

struct SessionPlannerTests {
    private let speakers = DeviceID(.output, 1)
    private let headset = DeviceID(.output, 2)

    private func holder(
        _ number: UInt64, _ kind: AudioSessionClientKind, origin: ClaimOrigin = .observed, since: UInt64 = 10,
        on outputs: Set<DeviceID>? = nil, owner: String = "holder"
    ) -> EffectHolder {
        EffectHolder(
            id: ClaimID(number: number), kind: kind, origin: origin, ownerKey: owner, since: since, outputs: outputs)
    }

    private func victim(
        _ kind: AudioSessionClientKind? = .mediaPlayback, direction: AudioDirection = .output, playingSince: UInt64? = 1,
        on outputs: Set<DeviceID>? = nil, isHeard: Bool = true, change: (inout PlannedStream) -> Void = { _ in }
    ) -> PlannedStream {
        var planned = PlannedStream(
            stream: ServerStream(id: StreamID(direction, 7)),
            classification: StreamClassification(
                kind: kind, source: .role, owner: StreamOwner(key: "victim", name: "victim")),
            playingSince: playingSince, outputs: outputs ?? [speakers], isHeardByMicrophones: isHeard)
        change(&planned)
        return planned
    }

    private func planner(
        _ holders: [EffectHolder], change: (inout PolicySettings) -> Void = { _ in }
    ) -> SessionPlanner {
        var settings = PolicySettings()
        change(&settings)
        var planner = SessionPlanner(settings: settings)
        for holder in holders { _ = planner.setHolder(holder) }
        return planner
    }

    @Test func `nobody holds, nothing is done`() {
        #expect(planner([]).plan(for: victim()) == .untouched)
    }

    @Test func `of several holders the strongest effect applies, never the product, and all are remembered`() {
        let plan = planner([holder(1, .speech), holder(2, .call), holder(3, .groupCall)]).plan(for: victim())
        #expect(plan.effect == .duck(Decibels(-20)))
        #expect(plan.because == [ClaimID(number: 2)])
        #expect(plan.holders == [ClaimID(number: 1), ClaimID(number: 2), ClaimID(number: 3)])
    }

    @Test func `a loss hardens while held and relaxes step by step`() {
        var planner = planner([holder(1, .groupCall)])
        #expect(planner.plan(for: victim()).effect == .duck(Decibels(-6)))
        let isNew1 = planner.setHolder(holder(2, .call))
        #expect(isNew1)
        #expect(planner.plan(for: victim()).effect == .duck(Decibels(-20)))
        let isNew2 = planner.removeHolder(ClaimID(number: 2))
        #expect(isNew2)
        #expect(planner.plan(for: victim()).effect == .duck(Decibels(-6)))
        let isNew3 = planner.removeHolder(ClaimID(number: 1))
        #expect(isNew3)
        #expect(planner.plan(for: victim()) == .untouched)
    }

    @Test func `equal effects name all who ask for them`() {
        let plan = planner([holder(2, .call), holder(1, .call)]).plan(for: victim())
        #expect(plan.because == [ClaimID(number: 1), ClaimID(number: 2)])
    }

    @Test func `RTE-01 only streams on the same output give way, but with scope everywhere all do`() {
        let call = holder(1, .call, on: [speakers])
        #expect(planner([call]).plan(for: victim(on: [headset])) == .untouched)
        #expect(planner([call]).plan(for: victim(on: [speakers, headset])).effect != .none)
        let everywhere = planner([call]) { $0.scope = .everywhere }
        #expect(everywhere.plan(for: victim(on: [headset])).effect == .duck(Decibels(-20)))
    }

    @Test func `a claim without a stream acts everywhere, and a stream that is connected to nothing gets nothing`() {
        #expect(planner([holder(1, .call)]).plan(for: victim(on: [headset])).effect != .none)
        #expect(planner([holder(1, .call, on: [speakers])]).plan(for: victim(on: [])).effect == .none)
    }

    @Test func `a claim never acts on its own owner's streams`() {
        let own = victim { $0.classification.owner = StreamOwner(key: "holder", name: "") }
        #expect(planner([holder(1, .call)]).plan(for: own) == .untouched)
        let tagged = victim { $0.classification.claim = ClaimID(number: 1) }
        #expect(planner([holder(1, .call)]).plan(for: tagged) == .untouched)
        let covered = victim { $0.classification.ownersClaims = [ClaimID(number: 1)] }
        #expect(planner([holder(1, .call)]).plan(for: covered) == .untouched)
    }

    @Test func `plumbing, ignored and unknown streams are left alone`() {
        let planner = planner([holder(1, .call)])
        #expect(planner.plan(for: victim { $0.classification.isPlumbing = true }) == .untouched)
        #expect(planner.plan(for: victim { $0.classification.actions.ignore = true }) == .untouched)
        #expect(planner.plan(for: victim(nil)) == .untouched)
    }

    @Test func `a rule spares a stream from one holder's kind alone`() {
        let spared = victim { $0.classification.actions.exemptFrom = [.call] }
        #expect(planner([holder(1, .call)]).plan(for: spared) == .untouched)
        #expect(planner([holder(1, .call), holder(2, .speech)]).plan(for: spared).effect == .duck(Decibels(-14)))
    }

    @Test func `a rule's effects and level stand in for the table's`() {
        let paused = victim { $0.classification.actions.effects = [.call: .pause] }
        #expect(planner([holder(1, .call)]).plan(for: paused).effect == .pause)
        let level = victim { $0.classification.actions.level = Decibels(-9) }
        #expect(planner([holder(1, .call)]).plan(for: level).effect == .duck(Decibels(-9)))
        let none = victim { $0.classification.actions.effects = [.call: .none] }
        #expect(planner([holder(1, .call)]).plan(for: none) == .untouched)
    }

    @Test func `pause is for what was already playing, what somebody starts meanwhile gets the level`() {
        let planner = planner([holder(1, .call, since: 10)])
        #expect(planner.plan(for: victim(.playback, playingSince: 9)).effect == .pause)
        #expect(planner.plan(for: victim(.playback, playingSince: 10)).effect == .duck(Decibels(-20)))
        #expect(planner.plan(for: victim(.playback, playingSince: 12)).effect == .duck(Decibels(-20)))
        #expect(planner.plan(for: victim(.playback, playingSince: nil)).effect == .duck(Decibels(-20)))
    }

    @Test func `VIR-06 a compressed stream is paused or left alone, never ducked`() {
        let planner = planner([holder(1, .call, since: 10)])
        #expect(planner.plan(for: victim { $0.stream.hasVolume = false }) == .untouched)
        #expect(planner.plan(for: victim(.playback, playingSince: 1) { $0.stream.hasVolume = false }).effect == .pause)
        #expect(planner.plan(for: victim(.playback, playingSince: 11) { $0.stream.hasVolume = false }) == .untouched)
    }

    @Test func `an explicit recording turns loudspeakers down and headphones not`() {
        let recording = holder(1, .recording, origin: .explicit)
        #expect(planner([recording]).plan(for: victim()).effect == .duck(Decibels(-20)))
        #expect(planner([recording]).plan(for: victim(isHeard: false)) == .untouched)
    }

    @Test func `an observed recording has no effects unless configured`() {
        let recording = holder(1, .recording, origin: .observed)
        #expect(planner([recording]).plan(for: victim()) == .untouched)
        let configured = planner([recording]) { $0.observedRecordingEffects = true }
        #expect(configured.plan(for: victim()).effect == .duck(Decibels(-20)))
    }

    @Test func `REC-02 a recording of a microphone is muted under a call only where configured, a monitor's never`() {
        let microphone = victim(.recording, direction: .input) { $0.classification.capture = .microphone }
        let monitor = victim(.recording, direction: .input) { $0.classification.capture = .monitor }
        #expect(planner([holder(1, .call)]).plan(for: microphone) == .untouched)
        let refusing = planner([holder(1, .call)]) { $0.observedRecordingRefusal = .mute }
        #expect(refusing.plan(for: microphone).effect == .mute)
        #expect(refusing.plan(for: monitor) == .untouched)
        let own = victim(.call, direction: .input) { $0.classification.capture = .microphone }
        #expect(refusing.plan(for: own) == .untouched)
    }

    @Test func `speech, ambient sounds and alarms are nobody's victims`() {
        let all = planner([holder(1, .call), holder(2, .alarm), holder(3, .groupCall), holder(4, .recording)])
        for kind in [AudioSessionClientKind.speech, .ambient, .alarm] {
            #expect(all.plan(for: victim(kind)) == .untouched)
        }
    }

    @Test func `an alarm turns calls down a little`() {
        #expect(planner([holder(1, .alarm)]).plan(for: victim(.call)).effect == .duck(Decibels(-6)))
    }

    @Test func `a kind that has no effects is no holder`() {
        var planner = planner([])
        let isNew4 = planner.setHolder(holder(1, .game))
        #expect(!isNew4)
        #expect(planner.holders.isEmpty)
    }
}

struct OutputTopologyTests {
    private let speakers = DeviceID(.output, 1)
    private let headset = DeviceID(.output, 2)
    private let filter = DeviceID(.output, 3)

    private func leg(_ serial: UInt64, _ group: String, to device: DeviceID?) -> ServerStream {
        var stream = ServerStream(id: StreamID(.output, serial))
        stream.linkGroup = group
        stream.device = device
        return stream
    }

    private func device(_ id: DeviceID, _ group: String? = nil) -> ServerDevice {
        var device = ServerDevice(id: id, name: "")
        device.linkGroup = group
        return device
    }

    private func outputs(_ topology: OutputTopology, of device: DeviceID) -> Set<DeviceID> {
        var topology = topology
        return topology.outputs(of: device)
    }

    private func topology() -> OutputTopology {
        var topology = OutputTopology()
        _ = topology.setDevice(device(speakers))
        _ = topology.setDevice(device(headset))
        _ = topology.setDevice(device(filter, "g"))
        return topology
    }

    @Test func `a remap is on the device that its leg plays to, and follows it`() {
        var topology = topology()
        #expect(outputs(topology, of: filter) == [filter])
        let isNew5 = topology.setStream(leg(9, "g", to: speakers), isPlumbing: true)
        #expect(isNew5)
        #expect(outputs(topology, of: filter) == [speakers])
        let isNew6 = topology.setStream(leg(9, "g", to: headset), isPlumbing: true)
        #expect(isNew6)
        #expect(outputs(topology, of: filter) == [headset])
        let isNew7 = topology.removeStream(StreamID(.output, 9))
        #expect(isNew7)
        #expect(outputs(topology, of: filter) == [filter])
    }

    @Test func `a combine sink is on all its outputs`() {
        var topology = topology()
        _ = topology.setStream(leg(8, "g", to: speakers), isPlumbing: true)
        _ = topology.setStream(leg(9, "g", to: headset), isPlumbing: true)
        #expect(outputs(topology, of: filter) == [speakers, headset])
    }

    @Test func `filters are followed through filters, and round in circles no further`() {
        var topology = topology()
        let second = DeviceID(.output, 4)
        _ = topology.setDevice(device(second, "h"))
        _ = topology.setStream(leg(8, "g", to: second), isPlumbing: true)
        _ = topology.setStream(leg(9, "h", to: speakers), isPlumbing: true)
        #expect(outputs(topology, of: filter) == [speakers])
        _ = topology.setStream(leg(9, "h", to: filter), isPlumbing: true)
        #expect(!outputs(topology, of: filter).isEmpty)
    }

    @Test func `a program's own stream with a link group is no leg`() {
        var topology = topology()
        let isNew8 = topology.setStream(leg(9, "g", to: speakers), isPlumbing: false)
        #expect(!isNew8)
        #expect(outputs(topology, of: filter) == [filter])
    }
}
