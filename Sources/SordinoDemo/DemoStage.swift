import AudioPolicy
import FoundationEssentials
import HeadlessAudio
import SessionBus
import SoundRig

/// The private server of a demonstration with everything on it: the daemon, the players, the meter.
final class DemoStage {
    let server: HeadlessServer
    let meter: ToneMeter
    private let daemon: SupervisedProcess
    private let bus: SessionBusClient
    private var players: [String: CommandPlayer] = [:]

    /// `daemon` is the command that runs it.
    init(_ kind: HeadlessServerKind, daemon command: [String]) async throws {
        server = try await onThread { try HeadlessServer.start(HeadlessOptions(server: kind)) }
        do {
            meter = try await ToneMeter(sink: "spk", in: server)
            daemon = try server.spawn(command + ["--server", kind.rawValue])
            bus = try await DemoStage.connect(to: server, daemon)
        } catch {
            server.stop()
            throw error
        }
    }

    /// Waits until the daemon has the server.
    private static func connect(
        to server: HeadlessServer, _ daemon: SupervisedProcess
    ) async throws -> SessionBusClient {
        let client = try SessionBusClient(address: server.variables["DBUS_SESSION_BUS_ADDRESS"])
        let isConnected = await eventually {
            !daemon.isRunning || (try? DemoStage.status(client))?.server.connected == true
        }
        guard isConnected, daemon.isRunning else { throw SoundRigError("the daemon did not find its server") }
        return client
    }

    private static func status(_ client: SessionBusClient) throws -> SessionStatus {
        try JSONDecoder().decode(SessionStatus.self, from: Data(client.status().utf8))
    }

    func status() throws -> SessionStatus { try DemoStage.status(bus) }

    func begin(_ part: DemoScript.Part) throws {
        players[part.name] = try CommandPlayer(
            .pacat, in: server, name: part.name, frequency: part.frequency, amplitude: part.amplitude,
            sink: "spk", properties: part.properties)
    }

    func end(_ part: DemoScript.Part) { players.removeValue(forKey: part.name)?.end() }

    /// The daemon puts everything back when it ends; then the server goes with all the rest.
    func close() {
        daemon.end(grace: .seconds(3))
        server.stop()
    }

    /// What the server itself shows of a stream.
    struct Volume: Equatable, Sendable {
        /// Per channel, in the server's own units; equal only if every bit is.
        let values: [UInt32]
        let isMuted: Bool
        let isCorked: Bool
    }

    /// By the name of the part.
    func volumes() async throws -> [String: Volume] {
        let lister = try LineProcess(
            ["pactl", "-f", "json", "list", "sink-inputs"], in: server, environment: ["LC_ALL": "C"])
        _ = await eventually { lister.hasEnded }
        let inputs = try JSONDecoder().decode([SinkInput].self, from: Data(lister.lines.joined().utf8))
        return Dictionary(inputs.map { ($0.properties["application.name"] ?? "", $0.shown) }) { first, _ in first }
    }
}

/// A stream as `pactl` prints it.
private struct SinkInput: Decodable {
    struct Channel: Decodable {
        let value: UInt32
    }

    let mute: Bool
    let corked: Bool
    let volume: [String: Channel]
    let properties: [String: String]

    var shown: DemoStage.Volume {
        DemoStage.Volume(
            values: volume.sorted { $0.key < $1.key }.map(\.value.value), isMuted: mute, isCorked: corked)
    }
}
