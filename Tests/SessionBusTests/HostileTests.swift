import AudioPolicy
import AudioSession
import DaemonTestSupport
import EventLoop
import SystemEventLoop
import Testing

@testable import SessionBus

/// Whatever comes over the bus, the service lives on and no claim outlasts its connection.
@Suite struct HostileTests {
    /// The same numbers in every run.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private static let members = [
        "Acquire", "Update", "Release", "Activate", "Deactivate", "SetDucking", "Status", "Explain", "Devices",
        "Monitor", "SetEnabled", "Reload", "Restore", "Get", "GetAll", "Set", "Introspect", "Ping", "Acquirre", "x",
    ]
    private static let interfaces = [
        BusContract.interface, BusContract.claimInterface, "org.freedesktop.DBus.Properties",
        "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Peer", "no.such.Interface",
    ]
    private static let words = [
        "", "call", "recording", "playback", "system", "speaker", "maximum", "\u{1B}[31m\u{202E}", "c1",
        BusContract.interface,
        "Winner", String(repeating: "ä", count: 5000), String(repeating: "x", count: 300_000),
    ]

    private func path(_ dice: inout Dice) -> String {
        let claim = BusContract.path(ofClaim: "c\(Int.random(in: 1...400, using: &dice))")
        return [BusContract.path, claim, claim, "/", BusContract.path + "/claim", claim + "/deeper"]
            .randomElement(using: &dice) ?? "/"
    }

    private func fill(_ message: BusMessage, _ dice: inout Dice) {
        for _ in 0..<Int.random(in: 0...4, using: &dice) {
            let word = Self.words.randomElement(using: &dice) ?? ""
            switch Int.random(in: 0...5, using: &dice) {
            case 0, 1: message.append(word)
            case 2: message.append(path(&dice), as: BusType.objectPath)
            case 3: message.append(Bool.random(using: &dice))
            case 4: message.append(strings: [word, word])
            default:
                message.append([
                    (["name", "lease-ms", "interrupting", word].randomElement(using: &dice) ?? "", .string(word)),
                    ("lease-ms", .uint32(UInt32.random(in: 0...3, using: &dice))),
                ])
            }
        }
    }

    /// What a program that knows the interface sends, now and then with a word of its own in the wrong place.
    private func call(_ caller: BusConnection, _ dice: inout Dice, _ answered: @escaping () -> Void) {
        let member = Self.members.randomElement(using: &dice) ?? ""
        if Bool.random(using: &dice) {
            let acquire = BusConnection.Method(
                destination: BusContract.name, path: BusContract.path, interface: BusContract.interface,
                member: "Acquire")
            caller.call(acquire) {
                $0.append((AudioSessionClientKind.allCases.randomElement(using: &dice) ?? .call).rawValue)
                $0.append("system")
                $0.append(DaemonLink.Options(lease: Bool.random(using: &dice) ? .milliseconds(1) : nil))
            } done: { _ in
                answered()
            }
        } else {
            let method = BusConnection.Method(
                destination: BusContract.name, path: path(&dice),
                interface: Self.interfaces.randomElement(using: &dice) ?? "", member: member)
            caller.call(method, { fill($0, &dice) }, done: { _ in answered() })
        }
    }

    @Test(arguments: 0..<6)
    func `Random calls never end the service, and leave no claim behind`(seed: Int) throws {
        var dice = Dice(state: UInt64(seed))
        let desk = try BusDesk(.quiet)
        desk.processes.sandbox = seed % 3 == 2 ? .init(application: "org.example.Evil", instance: "1") : nil
        let service = try desk.running()
        var callers: [BusConnection] = []
        var sent = 0
        var answered = 0
        for _ in 0..<600 {
            if callers.count < 4 || Int.random(in: 0..<30, using: &dice) == 0 {
                let caller = try BusConnection(address: desk.bus.address)
                try caller.attach(to: desk.loop)
                callers.append(caller)
            }
            guard let caller = callers.randomElement(using: &dice) else { continue }
            sent += 1
            call(caller, &dice) { answered += 1 }
            // Some leave in the middle of it all.
            if Int.random(in: 0..<40, using: &dice) == 0 {
                callers.remove(at: Int.random(in: 0..<callers.count, using: &dice))
            }
            if Int.random(in: 0..<5, using: &dice) == 0 { try desk.loop.turn(timeout: .zero) }
            #expect(desk.session.core.arbiter.entries.count <= 1024)
        }
        callers = []
        #expect(sent > 500)
        let honest = try Holder(desk)
        let id = try honest.acquire(.ambient)
        try desk.loop.turn(until: { desk.session.core.arbiter.entries.map(\.claim.id) == [id] }, "the last claim alone")
        service.stop()
    }

    @Test func `Thousands of requests at once are answered, within the limit or with an error`() throws {
        let desk = try BusDesk(.quiet)
        let service = try desk.running()
        let greedy = try Holder(desk)
        var answers: [BusError.Code?] = []
        for _ in 0..<3000 {
            greedy.link.acquire(.playback, output: .system) { answer in
                if case .failure(let error) = answer { answers.append(error.code) } else { answers.append(nil) }
            }
        }
        try desk.loop.turn(for: .seconds(30), until: { answers.count == 3000 }, "every answer")
        #expect(answers.count { $0 == nil } == 64)
        #expect(answers.count { $0 == .refused("LimitExceeded") } == 3000 - 64)
        service.stop()
    }
}
