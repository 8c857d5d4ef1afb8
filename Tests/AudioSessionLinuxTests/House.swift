import AudioPolicy
import AudioSession
import DaemonTestSupport
import Foundation
import HeadlessAudio
import PipeWireServer
import PulseAudioServer
import SessionBus
import SoundRig
import SystemEventLoop

@testable import AudioSessionLinux

/// A private sound server, with a daemon on it or without.
final class House: Sendable {
    let server: HeadlessServer
    let daemon: RunningDaemon?

    /// Speakers and headphones.
    static func options(_ kind: HeadlessServerKind) -> HeadlessOptions {
        func sink(_ name: String, _ form: String) -> HeadlessOptions.Device {
            .init(name, properties: ["device.form_factor": form, "device.form-factor": form])
        }
        return HeadlessOptions(server: kind, sinks: [sink("spk", "speaker"), sink("hs", "headphone")])
    }

    init(_ server: HeadlessServer, daemon startsDaemon: Bool) async throws {
        self.server = server
        daemon = startsDaemon ? try RunningDaemon(in: server) : nil
        try await daemon?.says("connected to")
        if startsDaemon { try await isEmpty() }
    }

    // MARK: Programs

    /// A program's manager, which has the bus of this house.
    ///
    /// - Parameter patience: how long it waits for the daemon; on a machine that runs many tests at a time an answer may
    ///   take longer than programs wait elsewhere.
    func program(
        _ name: String, environment more: [String: String] = [:], patience: Duration = .seconds(5)
    ) -> Manager {
        var surroundings = Surroundings(
            name: name, environment: server.environment.merging(more) { $1 },
            makeServer: soundServer(server.environment))
        surroundings.patience = patience
        return AudioSessionManagerFactory.make(surroundings)
    }

    /// The manager of a program that has no bus.
    func loner() -> Manager { program("loner", environment: ["DBUS_SESSION_BUS_ADDRESS": "disabled:"]) }

    // MARK: The system

    func setDefault(_ sink: String) async throws {
        let output = try await server.run(["pactl", "set-default-sink", sink])
        guard output.code == 0 else { throw TestFailure("pactl: \(output.text)") }
        let isSet = try await eventually(every: .milliseconds(20)) {
            try await server.run(["pactl", "get-default-sink"]).text == sink
        }
        guard isSet else {
            throw TestFailure("\(sink) does not become the default: \(server.log(.sessionManager))")
        }
    }

    func status() async throws -> SessionStatus {
        let address = server.environment["DBUS_SESSION_BUS_ADDRESS"]
        let json = try await onThread { try SessionBusClient(address: address).status() }
        guard let status = SessionJSON.status(json) else { throw TestFailure("no status: \(json)") }
        return status
    }

    /// What programs have asked for, in the order of the claims.
    func asked() async throws -> [Asked] {
        guard let claims = try? await status().claims else { return [] }
        return claims.map { Asked($0.kind, $0.output, $0.activated) }
    }

    /// The daemon holds no claims: whatever a test left behind has gone with its connection.
    func isEmpty() async throws {
        guard daemon != nil else { return }
        let isEmpty = await eventually(every: .milliseconds(5)) {
            (try? await status())?.claims.isEmpty == true
        }
        guard isEmpty else { throw TestFailure("claims are left: \(try await status().claims)") }
    }
}

/// Connects where these variables lead, instead of where this process's own do.
private func soundServer(
    _ environment: [String: String]
) -> @Sendable (ServerKind, SystemEventLoop) throws -> any SoundServer {
    { kind, loop in
        switch kind {
        case .pulseaudio: PulseAudioServer(loop: loop, server: environment["PULSE_SERVER"])
        case .pipewire:
            PipeWireServer(loop: loop, remote: environment["XDG_RUNTIME_DIR", default: ""] + "/pipewire-0")
        }
    }
}

/// A house that the tests of one stage share, one at a time; made when the first comes.
actor Room {
    private let kind: HeadlessServerKind
    private let hasDaemon: Bool
    private var house: House?
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ kind: HeadlessServerKind, daemon: Bool) {
        self.kind = kind
        hasDaemon = daemon
    }

    func take() async throws -> House {
        if isTaken { await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
        do {
            return try await open()
        } catch {
            give()
            throw error
        }
    }

    func give() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }

    private func open() async throws -> House {
        if let house { return house }
        let options = House.options(kind)
        let server = try await onThread { try HeadlessServer.start(options) }
        let house = try await House(server, daemon: hasDaemon)
        self.house = house
        return house
    }
}

enum Rooms {
    private static let withDaemon = rooms(daemon: true)
    private static let withoutDaemon = rooms(daemon: false)

    static func room(_ kind: HeadlessServerKind, daemon: Bool) -> Room {
        let rooms = daemon ? withDaemon : withoutDaemon
        return kind == .pulseaudio ? rooms.pulseAudio : rooms.pipeWire
    }

    private static func rooms(daemon: Bool) -> (pulseAudio: Room, pipeWire: Room) {
        (Room(.pulseaudio, daemon: daemon), Room(.pipewire, daemon: daemon))
    }
}

extension HeadlessServer {
    /// Has the bus start this command when somebody asks for the daemon.
    func makeActivatable(_ command: String) throws {
        let file = directory + "/data/dbus-1/services/\(BusContract.name).service"
        try "[D-BUS Service]\nName=\(BusContract.name)\nExec=\(command)\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
    }
}

extension AudioSessionManagerProtocol {
    var isEmbedded: Bool {
        get async { await (self as? ProgramSession)?.isHoldingItself == true }
    }
}

extension ProgramSession {
    /// What the session that is embedded here is configured for.
    var winner: Asked? {
        guard case .embedded(let session) = place, let id = session.core.arbiter.winner,
            let claim = session.core.arbiter[id]?.claim
        else { return nil }
        return Asked(claim.kind.rawValue, claim.output.rawValue, claim.isActivated)
    }

    var isHoldingItself: Bool { if case .embedded = place { true } else { false } }
}
