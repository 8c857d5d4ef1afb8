import AudioPolicy
import AudioPolicyConfiguration
import AudioSession
import EventLoop

/// A server that accepts everything and says nothing.
private final class SilentServer: SoundServer {
    let kind = ServerKind.pulseaudio
    var onEvent: ((SoundServerEvent) -> Void)?
    private(set) var batch: UInt64 = 0
    /// What has been asked for since somebody looked.
    var performed: [ServerOperation] = []

    func start() {}
    func stop() {}
    func setMeters(_ streams: Set<StreamID>) {}
    func perform(_ operations: [ServerOperation]) -> UInt64 {
        performed += operations
        batch += 1
        return batch
    }
}

private final class MemoryLedger: LedgerStore {
    private var text = ""
    func read() -> String { text }
    func append(_ lines: String) { text += lines }
    func replace(with lines: String) { text = lines }
}

/// One process for each client, none of them related.
private struct ManyProcesses: ProcessInspector {
    let userID: UInt32 = 1000
    func facts(of pid: Int32) -> ProcessFacts? {
        ProcessFacts(
            pid: pid, parent: 1, userID: userID, started: 0, executable: "/usr/bin/player-\(pid)",
            name: "player-\(pid)",
            sessionID: pid)
    }
}

/// A session with so many programs that play music, one of them in a call.
private final class Crowd {
    fileprivate let session: PolicySession
    fileprivate let loop = ManualEventLoop()
    fileprivate let server = SilentServer()
    fileprivate let count: Int
    fileprivate var titles = 0
    fileprivate var streams: [StreamID: ServerStream] = [:]

    init(_ count: Int, isCalling: Bool = true) {
        self.count = count
        var settings = PolicyConfiguration.load(directories: []).settings
        settings.timing.attack = .zero
        settings.timing.fadeDown = .zero
        settings.timing.fadeUp = .zero
        settings.timing.hold = .zero
        session = PolicySession(
            loop: loop, settings: settings, processes: ManyProcesses(), store: MemoryLedger(),
            loadSettings: { settings })
        var graph = ServerGraph()
        let device = ServerDevice(id: DeviceID(.output, 0), name: "spk", properties: [:])
        graph.devices[device.id] = device
        graph.defaultOutput = device.id
        for serial in (isCalling ? 0 : 1)...UInt64(count) {
            graph.clients[serial] = ServerClient(id: serial, properties: Self.client(serial))
            let stream = Self.stream(serial, role: serial == 0 ? "phone" : "music", title: "a title")
            graph.streams[stream.id] = stream
        }
        streams = graph.streams
        session.driver.attach(connected: server, ServerInfo(kind: .pulseaudio, version: "16.1"), graph)
        // Until everything that the start set off is over.
        loop.advance(by: .seconds(5))
    }

    fileprivate static func client(_ serial: UInt64) -> [String: String] {
        let pid = String(10_000 + serial)
        return [
            "application.name": "Player \(serial)", "application.process.id": pid, "native-protocol.version": "35",
            "application.process.binary": "player-\(pid)", "application.process.user": "user",
        ]
    }

    fileprivate static func stream(_ serial: UInt64, role: String, title: String) -> ServerStream {
        var properties = client(serial)
        properties["media.role"] = role
        properties["media.name"] = title
        var stream = ServerStream(id: StreamID(.output, serial), properties: properties)
        stream.client = serial
        stream.device = DeviceID(.output, 0)
        stream.driver = "protocol-native.c"
        stream.restoreKey = "sink-input-by-media-role:\(role)"
        return stream
    }

    /// A program that plays shows another title, as often as asked; returns µs of processor time for each.
    func newTitles(_ repetitions: Int) -> Double {
        let streams = (0..<repetitions).map { index in
            titles += 1
            return Self.stream(UInt64(1 + index % count), role: "music", title: "title \(titles)")
        }
        let start = threadTime()
        for stream in streams { session.driver.receive(.changed([.stream(stream)])) }
        return (threadTime() - start) / Double(repetitions)
    }

    /// A program begins to play, and ends.
    func visits(_ repetitions: Int) -> Double {
        let client = ServerClient(id: 1_000_000, properties: Self.client(1_000_000))
        let streams = (0..<repetitions).map { _ in
            titles += 1
            var stream = Self.stream(1_000_000 + UInt64(titles), role: "game", title: "a game")
            stream.properties["application.process.id"] = "9"
            stream.properties["application.process.binary"] = "player-9"
            stream.client = client.id
            return stream
        }
        let start = threadTime()
        for stream in streams {
            session.driver.receive(.changed([.client(client), .stream(stream)]))
            session.driver.receive(.changed([.streamRemoved(stream.id), .clientRemoved(client.id)]))
        }
        return (threadTime() - start) / Double(repetitions * 2)
    }
}

extension Crowd {
    /// A call comes and is gone: µs of processor time until every other stream has been dealt with, for each.
    func calls(_ repetitions: Int) -> Double {
        var time = 0.0
        for _ in 0..<repetitions {
            titles += 1
            let known = Self.stream(2_000_000, role: "phone", title: "a call")
            var call = ServerStream(id: StreamID(.output, 2_000_000 + UInt64(titles)), properties: known.properties)
            call.client = 2_000_000
            call.device = known.device
            call.driver = known.driver
            call.restoreKey = known.restoreKey
            let client = ServerClient(id: 2_000_000, properties: Self.client(2_000_000))
            for changes in [[.client(client), .stream(call)], [GraphChange.streamRemoved(call.id)]] {
                let start = threadTime()
                session.driver.receive(.changed(changes))
                time += threadTime() - start
                confirm()
            }
        }
        return time / Double(repetitions * 2)
    }

    /// The server says what it has done, as it would.
    private func confirm() {
        precondition(server.performed.count >= count, "a call that nobody gave way to")
        for case .setVolume(let id, let volume) in server.performed {
            streams[id]?.volume = volume
            streams[id]?.includesBatch = server.batch
            if let stream = streams[id] { session.driver.receive(.changed([.stream(stream)])) }
        }
        server.performed.removeAll()
        loop.advance(by: .milliseconds(300))
        server.performed.removeAll()
    }
}

extension Bench {
    /// What an event costs that concerns one stream beside many.
    func decision() -> [Row] {
        let few = Crowd(10)
        let many = Crowd(1000)
        let eight = Crowd(8, isCalling: false)
        let calls = Series((0..<options.runs + 3).map { _ in eight.calls(20) }.dropFirst(3).map { $0 })
        func row(_ what: String, _ measure: (Crowd) -> Double) -> Row {
            var times: (few: [Double], many: [Double]) = ([], [])
            for run in 0..<options.runs + 3 {
                times.few.append(measure(few))
                times.many.append(measure(many))
                progress.show(run + 1, of: options.runs + 3)
            }
            // The first ones find everything cold.
            let (own, beside) = (Series(Array(times.many.dropFirst(3))), Series(Array(times.few.dropFirst(3))))
            return Row(
                .decision, "CPU time of the decision, \(what), 1,000 streams present", unit: "µs",
                [("1,000", own), ("10", beside)], bar: "≤ 2 × those with 10",
                note: "\(number(own.median / beside.median)) ×", isMet: { own.median <= 2 * beside.median })
        }
        return [
            row("one bystander stream changes") { $0.newTitles(200) },
            row("one bystander stream comes and goes") { $0.visits(100) },
            Row(
                .decision, "CPU time of the decision, a call comes or goes, 8 victims", unit: "µs",
                [("Sordino", calls)],
                bar: "–", isMet: { true }),
        ]
    }

    /// What a claim costs among few and among many.
    func arbiter() throws -> [Row] {
        var times: (few: [Double], many: [Double]) = ([], [])
        var few = try Claims(10)
        var many = try Claims(10_000)
        for _ in 0..<options.runs + 3 {
            times.few.append(try few.turns(500))
            times.many.append(try many.turns(500))
        }
        let (own, beside) = (Series(Array(times.many.dropFirst(3))), Series(Array(times.few.dropFirst(3))))
        return [
            Row(
                .arbiter, "Arbiter: acquire and release among 10,000 claims", unit: "µs",
                [("10,000", own), ("10", beside)], bar: "≤ 2 × those among 10",
                note: "\(number(own.median / beside.median)) ×", isMet: { own.median <= 2 * beside.median })
        ]
    }
}

/// Claims of all kinds that are held, and one that comes and goes.
private struct Claims {
    private static let kinds: [AudioSessionClientKind] = [
        .ambient, .playback, .mediaPlayback, .game, .speech, .call, .groupCall, .alarm,
    ]
    private var arbiter = Arbiter()
    private var held: [ClaimID] = []
    private let owner = ClaimOwner(name: "a program", pid: 1)
    private var count = 0

    init(_ number: Int) throws {
        for index in 0..<number {
            held.append(try arbiter.acquire(Self.kinds[index % Self.kinds.count], owner: owner).0)
        }
    }

    /// Every second time the one that goes is not the one that came but the oldest of all. µs for each.
    mutating func turns(_ repetitions: Int) throws -> Double {
        let start = threadTime()
        for index in 0..<repetitions {
            let (id, _) = try arbiter.acquire(Self.kinds[index % Self.kinds.count], owner: owner)
            if index % 2 == 0 {
                _ = arbiter.release(id)
            } else {
                let place = count % held.count
                count += 1
                _ = arbiter.release(held[place])
                held[place] = id
            }
        }
        return (threadTime() - start) / Double(repetitions)
    }
}
