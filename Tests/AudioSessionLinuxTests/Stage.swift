import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import DaemonTestSupport
import HeadlessAudio
import SoundRig
import Testing

@testable import AudioSessionLinux

/// What a manager is over.
enum Stage: String, CaseIterable, CustomTestStringConvertible {
    case mockDriver = "a mock driver"
    case embeddedPulseAudio = "this process, on PulseAudio"
    case embeddedPipeWire = "this process, on PipeWire"
    case daemonPulseAudio = "the daemon, on PulseAudio"
    case daemonPipeWire = "the daemon, on PipeWire"

    var testDescription: String { rawValue }

    /// Those that see what other programs do.
    static let seeingOthers: [Stage] = [.mockDriver, .daemonPulseAudio, .daemonPipeWire]
    static let withDaemon: [Stage] = [.daemonPulseAudio, .daemonPipeWire]

    var server: HeadlessServerKind? {
        switch self {
        case .mockDriver: nil
        case .embeddedPulseAudio, .daemonPulseAudio: .pulseaudio
        case .embeddedPipeWire, .daemonPipeWire: .pipewire
        }
    }

    var hasDaemon: Bool { Self.withDaemon.contains(self) }
}

typealias Manager = any AudioSessionManagerProtocol & CallControlProtocol

/// A manager of one program, with what a test does to the system below it.
final class Scene: Sendable {
    let stage: Stage
    let manager: Manager
    /// The mock driver's manager alone.
    let driver: MockAudioSessionDriver?
    let house: House?

    fileprivate init(_ stage: Stage, _ house: House?) {
        self.stage = stage
        self.house = house
        if let house {
            driver = nil
            manager = stage.hasDaemon ? house.program("test") : house.loner()
        } else {
            let driver = MockAudioSessionDriver()
            self.driver = driver
            manager = AudioSessionManagerTestFactory.make(defaultDriver: driver)
        }
    }

    /// What the session is configured for: the winner's kind and output. `nil`: it is passive.
    func winner() async throws -> Asked? {
        if let driver { return driver.winner.map { Asked($0.kind.rawValue, $0.output.rawValue, $0.isActivated) } }
        if stage.hasDaemon {
            guard let status = try await house?.status() else { return nil }
            return status.claims.first { $0.id == status.session.winner }
                .map { Asked($0.kind, $0.output, $0.activated) }
        }
        return await (manager as? ProgramSession)?.winner
    }

    /// Somebody moves the route to the speakers, where it is at first, or to the headphones.
    func moveRoute(to port: AudioPort) async throws {
        if let driver { return await driver.send(.routeChanged(.override, AudioRoute(outputs: [port]))) }
        try await house?.setDefault(port == .headphones ? "hs" : "spk")
    }

    /// The sound server goes.
    func loseServer() async throws {
        if let driver { return await driver.send(.interrupted) }
        if let server = house?.server { try await onThread { server.killServer() } }
    }

    /// It comes back.
    func returnServer() async throws {
        if let driver { return await driver.send(.interruptionEnded(shouldResume: true)) }
        if let server = house?.server { try await onThread { try server.restartServer() } }
    }

    /// Another program, which knows nothing of claims, begins a call; it lasts until the value is dropped.
    func observedCall() async throws -> CommandPlayer? {
        if let driver {
            let key = ObservedClaim.Key(owner: "phone", kind: .call)
            await driver.send(
                .observed(
                    changed: [ObservedClaim(key: key, owner: ClaimOwner(name: "phone"), counts: true)], gone: []))
            return nil
        }
        let call = try house?.server.play("tel", "phone", 1200)
        try await expect("the call counts") { try await self.winner()?.kind == "call" }
        return call
    }

    /// It ends.
    func end(_ call: CommandPlayer?) async throws {
        call?.kill()
        await driver?.send(.observed(changed: [], gone: [ObservedClaim.Key(owner: "phone", kind: .call)]))
        try await expect("the call is over") { try await self.winner()?.kind != "call" }
    }
}

/// What a claim asks for, in the words of the contract.
struct Asked: Equatable, Sendable {
    var kind: String
    var output: String
    var activated: Bool

    init(_ kind: String, _ output: String = "system", _ activated: Bool = true) {
        self.kind = kind
        self.output = output
        self.activated = activated
    }
}

/// Waits for a condition, and says which did not come true.
func expect(
    _ what: String, within deadline: Duration = .seconds(10), _ condition: () async throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let came = try await eventually(within: deadline, every: .milliseconds(5), condition)
    #expect(came, "\(what): not within \(deadline)", sourceLocation: sourceLocation)
}

/// Runs a body with a manager. Servers and daemons are shared by the tests, one test at a time for each, unless the test
/// breaks something: `alone`.
func onStage<Result>(
    _ stage: Stage, alone: Bool = false, _ body: (Scene) async throws -> Result
) async throws -> Result {
    guard let kind = stage.server else { return try await body(Scene(stage, nil)) }
    if alone {
        return try await withServer(House.options(kind)) { server in
            try await body(Scene(stage, House(server, daemon: stage.hasDaemon)))
        }
    }
    let room = Rooms.room(kind, daemon: stage.hasDaemon)
    let house = try await room.take()
    do {
        try await house.isEmpty()
        let result = try await body(Scene(stage, house))
        await room.give()
        return result
    } catch {
        await room.give()
        throw error
    }
}
