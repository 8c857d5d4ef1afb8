import AudioPolicy
import AudioSession
import Testing

/// Random comings and goings: what is kept up to date step by step must equal what is found from scratch.
@Suite struct RandomStreamsTests {
    @Test(arguments: [ServerKind.pulseaudio, .pipewire], 1...4)
    func `classification step by step equals classification from scratch`(kind: ServerKind, seed: Int) {
        var random = SplitMix(UInt64(seed) &* 7919)
        let game = RandomDesktop(kind)
        for step in 0..<200 {
            game.step(&random)
            guard step % 3 == 0 else { continue }
            let fresh = StreamClassifier(settings: game.settings, processes: game.world.processes)
            for holder in game.holders { _ = fresh.setHolder(holder) }
            _ = fresh.reset(graph: game.world.graph, kind: kind)
            for id in game.world.graph.streams.keys where game.world.classifier[id] != fresh[id] {
                let (found, expected) = (String(describing: game.world.classifier[id]), String(describing: fresh[id]))
                Issue.record("seed \(seed), step \(step), stream \(id): \(found) is not \(expected)")
                return
            }
        }
    }

    @Test(arguments: 1...20)
    func `properties of any kind never crash, and never make an owner of what nobody confirms`(seed: Int) {
        var random = SplitMix(UInt64(seed))
        let world = ClassificationWorld(seed % 2 == 0 ? .pipewire : .pulseaudio)
        let names = [
            "media.role", "media.name", "application.name", "application.process.id", "application.process.binary",
            "event.id", "node.virtual", "sordino.claim", "pipewire.sec.pid", "client.api", "native-protocol.peer",
        ]
        let values = [
            "", " ", "\u{0}", "\u{7f}\u{1b}[31m", "\u{FFFD}\u{FFFD}", String(repeating: "é", count: 5000), "phone\u{0}",
            "-1",
            "18446744073709551616", "true", "👩‍👩‍👧‍👧", "\u{202e}evil",
        ]
        for _ in 0..<300 {
            var properties: [String: String] = [:]
            for name in names where Bool.random(using: &random) {
                properties[name] = values.randomElement(using: &random)
            }
            let id = world.open(Bool.random(using: &random) ? .output : .input, properties)
            world.change(id) { $0.properties = properties }
            #expect(world.classifier[id]?.owner.pid == nil)
        }
    }
}

/// A desktop on which things happen.
private final class RandomDesktop {
    let world: ClassificationWorld
    var settings = PolicySettings()
    var holders: [StreamClassifier.Holder] = []
    private let pids: [(pid: Int32, binary: String)] = [
        (10, "chat"), (11, "paplay"), (12, "chat"), (20, "player"), (30, "boxed"), (31, "boxed"), (40, "unit"),
        (41, "unit"),
        (50, "pacat"), (51, "pacat"), (99, "dead"),
    ]

    init(_ kind: ServerKind) {
        settings.rules = [
            .on(["application.name": "ruled", "sordino.owner-captures": "true"]) { $0.kind = .call },
            .on(["application.name": "filter"]) { $0.isPlumbing = true },
        ]
        world = ClassificationWorld(kind, settings: settings)
        let box = ProcessFacts.Sandbox(application: "box", instance: "1")
        world.processes.add(5, "/bin/bash", session: 5)
        world.processes.add(10, "/usr/bin/chat", parent: 5)
        world.processes.add(11, "/usr/bin/paplay", parent: 12)
        world.processes.add(12, "/usr/bin/chat", parent: 10)
        world.processes.add(20, "/usr/bin/player", parent: 5)
        world.processes.add(30, "/app/boxed", sandbox: box)
        world.processes.add(31, "/app/boxed", parent: 10, sandbox: box)
        world.processes.add(40, "/usr/bin/unit", unit: "app-unit.scope")
        world.processes.add(41, "/usr/bin/unit", unit: "app-unit.scope")
        world.processes.add(50, "/usr/bin/pacat", parent: 5)
        world.processes.add(51, "/usr/bin/pacat", parent: 5)
    }

    func step(_ random: inout SplitMix) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: open(&random)
        case 4..<6: if let id = anyStream(&random) { world.close(id) }
        case 6: if let id = anyStream(&random) { churn(id, &random) }
        case 7:
            let id = UInt64.random(in: 1...4, using: &random)
            let pid = pids.randomElement(using: &random)?.pid ?? 10
            world.apply([.client(ServerClient(id: id, properties: ["pipewire.sec.pid": String(pid)]))])
        case 8:
            holders = pids.prefix(6).filter { _ in Bool.random(using: &random) }.map {
                .init(claim: ClaimID(number: UInt64($0.pid)), kind: .speech, tag: "t\($0.pid)", pid: $0.pid)
            }
            _ = world.setHolders(holders)
        default:
            var source = ServerDevice(id: DeviceID(.input, 3), name: "x")
            if Bool.random(using: &random) { source.monitorOf = DeviceID(.output, 0) }
            world.apply([.device(source)])
        }
    }

    private func anyStream(_ random: inout SplitMix) -> StreamID? {
        world.graph.streams.keys.sorted().randomElement(using: &random)
    }

    private func open(_ random: inout SplitMix) {
        let process = pids.randomElement(using: &random) ?? pids[0]
        let isOutput = Bool.random(using: &random)
        let input = DeviceID(.input, UInt64.random(in: 1...3, using: &random))
        var more: [String: String] = [:]
        if Int.random(in: 0..<8, using: &random) == 0 { more["sordino.claim"] = "t\(process.pid)" }
        if Int.random(in: 0..<8, using: &random) == 0 { more["node.virtual"] = "true" }
        world.open(
            isOutput ? .output : .input, pid: process.pid == 99 ? nil : process.pid, binary: process.binary,
            name: ["ruled", "filter", "x", nil, nil].randomElement(using: &random) ?? nil,
            role: ["phone", "music", "event", nil, nil, nil].randomElement(using: &random) ?? nil,
            media: ["a", "b", nil].randomElement(using: &random) ?? nil,
            client: UInt64.random(in: 1...4, using: &random), on: isOutput ? nil : input, more)
    }

    private func churn(_ id: StreamID, _ random: inout SplitMix) {
        let role = ["phone", "music", nil].randomElement(using: &random) ?? nil
        let name = ["a", "b", nil].randomElement(using: &random) ?? nil
        // A tool's role is part of whose it is taken for, but only at its birth.
        let keepsRole = [11, 50, 51].contains(world.classifier[id]?.owner.pid)
        world.change(id) {
            if !keepsRole { $0.properties["media.role"] = role }
            $0.properties["media.name"] = name
            $0.volume = [0.5]
        }
    }
}
