import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Synchronization
import Testing

/// A desktop of its own for one test: a private sound server, the daemon on it, programs that play, and an ear on each
/// sink. Players are children of the server's keeper and never of one another.
final class Desktop: Sendable {
    let server: HeadlessServer
    let daemon: Daemon?
    /// Players play until the test is over, also those that nobody asks again.
    private let players = Mutex<[TestPlayer]>([])

    /// Music and voices of the tests, in Hz.
    enum Tone {
        static let music = 600.0
        static let second = 1200.0
        static let third = 1800.0
        static let voice = 3000.0
    }

    /// What every tone has of its own, in dB of full scale.
    static let baseline = -20.0

    /// - Parameters:
    ///   - configuration: SPA-JSON beside the defaults.
    ///   - daemon: whether `sordino run` is started, and ready.
    init(
        _ options: HeadlessOptions, configuration: String = "", daemon startsDaemon: Bool = true
    ) async throws {
        server = try await onThread { try HeadlessServer.start(options) }
        let directory = server.environment["XDG_CONFIG_HOME", default: server.directory] + "/sordino"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try configuration.write(toFile: directory + "/sordino.conf", atomically: true, encoding: .utf8)
        daemon = startsDaemon ? try await Daemon(in: server) : nil
    }

    convenience init(
        _ kind: HeadlessServerKind, configuration: String = "", daemon: Bool = true
    ) async throws {
        try await self.init(HeadlessOptions(server: kind), configuration: configuration, daemon: daemon)
    }

    // MARK: Asking

    /// The output of a program that ends by itself, and its exit status.
    func run(_ command: [String], deadline: Duration = .seconds(20)) async throws -> (status: Int32, lines: [String]) {
        let process = try LineProcess(command, in: server)
        guard await eventually(within: deadline, { process.hasEnded }) else {
            throw SoundRigError("\(command.joined(separator: " ")) does not end")
        }
        let status = try await onThread { process.process.wait(timeout: .seconds(5)) }
        return (status?.code ?? -1, process.lines)
    }

    /// `sordino` with its standard output alone.
    func sordino(_ arguments: String...) async throws -> (status: Int32, lines: [String]) {
        try await run([product("sordino")] + arguments)
    }

    /// `sordino` with everything it says.
    func sordinoSays(_ arguments: String...) async throws -> (status: Int32, lines: [String]) {
        try await run(["sh", "-c", "exec \"$0\" \"$@\" 2>&1", product("sordino")] + arguments)
    }

    func pactl(_ arguments: String...) async throws -> [String] { try await pactl(arguments) }

    func pactl(_ arguments: [String]) async throws -> [String] {
        let result = try await run(["pactl"] + arguments)
        guard result.status == 0 else { throw SoundRigError("pactl \(arguments): \(result.lines)") }
        return result.lines
    }

    func status() async throws -> SessionStatus {
        let result = try await sordino("status", "--json")
        guard result.status == 0 else { throw SoundRigError("sordino status: \(result.status) \(result.lines)") }
        return try JSONDecoder().decode(SessionStatus.self, from: Data(result.lines.joined(separator: "\n").utf8))
    }

    /// The daemon's view once it fits; throws with what it is otherwise.
    @discardableResult
    func waitForStatus(
        _ wish: String, within deadline: Duration = .seconds(10), _ fits: (SessionStatus) -> Bool
    ) async throws -> SessionStatus {
        var last: SessionStatus?
        let came = try await eventually(within: deadline, every: .milliseconds(30)) {
            let status = try await status()
            last = status
            return fits(status)
        }
        guard came, let last else {
            throw SoundRigError("waited for \(wish); the status is \(String(describing: last))")
        }
        return last
    }

    /// What is left when nothing is done to any stream: no effects, nothing to undo.
    func waitForRest(within deadline: Duration = .seconds(10)) async throws {
        try await waitForStatus("no effect and an empty ledger", within: deadline) { status in
            status.streams.allSatisfy { $0.effect == nil } && status.ledger.entries == 0
        }
    }

    /// The stream's volume as mixers show it, in PulseAudio's units (65536 is 100 %), in the order of the channels' names.
    func volume(of stream: TestPlayer.Stream) async throws -> [Int] {
        try await sinkInput(stream).volume.sorted { $0.key < $1.key }.map(\.value.value)
    }

    func isMuted(_ stream: TestPlayer.Stream) async throws -> Bool { try await sinkInput(stream).mute }

    func isCorked(_ stream: TestPlayer.Stream) async throws -> Bool { try await sinkInput(stream).corked }

    /// What `pactl` knows of a stream. Its channels come in no order that can be relied on.
    struct SinkInput: Decodable {
        struct Volume: Decodable { var value: Int }
        var index: UInt32
        var mute: Bool
        var corked: Bool
        var sink: UInt32
        var volume: [String: Volume]
    }

    func sinkInput(_ stream: TestPlayer.Stream) async throws -> SinkInput {
        let lines = try await pactl("-f", "json", "list", "sink-inputs")
        let all = try JSONDecoder().decode([SinkInput].self, from: Data(lines.joined(separator: "\n").utf8))
        guard let found = all.first(where: { $0.index == stream.index }) else {
            throw SoundRigError("there is no sink input \(stream.index)")
        }
        return found
    }

    // MARK: Playing

    /// An ear on a sink.
    func ear(on sink: String = "spk", channels: Int = 2) async throws -> ToneMeter {
        try await ToneMeter(sink: sink, in: server, channels: channels)
    }

    /// A program that is told what to play and record.
    func program(_ name: String) async throws -> TestPlayer {
        let player = try await TestPlayer(in: server, name: name)
        players.withLock { $0.append(player) }
        return player
    }

    /// A program with one tone of the given role.
    func play(
        _ role: String?, _ frequency: Double = Tone.music, name: String? = nil, sink: String? = nil,
        properties: [String: String] = [:], _ change: (inout TestPlayer.Options) -> Void = { _ in }
    ) async throws -> Playing {
        let player = try await program(name ?? "\(role ?? "plain")-\(Int(frequency))")
        var options = TestPlayer.Options(frequency: frequency, role: role, device: sink, properties: properties)
        change(&options)
        let stream = try await player.play("tone", options)
        return Playing(player: player, stream: stream, frequency: frequency)
    }

    func music(_ frequency: Double = Tone.music, sink: String? = nil) async throws -> Playing {
        try await play("music", frequency, sink: sink)
    }

    func call(_ frequency: Double = Tone.voice, sink: String? = nil) async throws -> Playing {
        try await play("phone", frequency, sink: sink)
    }

    func stop() { server.stop() }

    /// How the server has ended, where nobody ended it.
    var ownEnd: String? {
        guard let status = server.process(.server)?.wait(timeout: .milliseconds(500)), status != .signalled(SIGKILL),
            status != .exited(0)
        else { return nil }
        return "\(status)"
    }
}

/// A program that plays one tone.
struct Playing: Sendable {
    let player: TestPlayer
    let stream: TestPlayer.Stream
    let frequency: Double

    func perform(_ command: TestPlayer.Command, _ value: String? = nil) async throws {
        try await player.perform(command, stream.name, value)
    }

    /// SIGKILL; returns when it is gone.
    func kill() { player.kill() }
}

/// `sordino run` in a private server.
final class Daemon: Sendable {
    let process: LineProcess

    init(in server: HeadlessServer, arguments: [String] = []) async throws {
        // What it says on the standard error are its lines too.
        process = try LineProcess(
            ["sh", "-c", "exec \"$0\" \"$@\" 2>&1", product("sordino"), "run"] + arguments, in: server)
        let sordino = try product("sordino")
        let isReady = try await eventually(within: .seconds(20), every: .milliseconds(20)) {
            guard !process.hasEnded else { throw SoundRigError("the daemon has ended: \(process.lines)") }
            let status = try LineProcess([sordino, "status", "--json"], in: server)
            _ = await eventually { status.hasEnded }
            return status.lines.joined().contains("\"connected\":true")
        }
        guard isReady else { throw SoundRigError("the daemon is not ready: \(process.lines)") }
    }

    func kill() { process.process.kill() }
    func terminate() { process.process.end() }

    /// SIGTERM; returns its exit code once it has ended by itself.
    func end() async throws -> Int32 {
        process.process.signal(SIGTERM)
        guard let status = try await onThread({ [process] in process.process.wait(timeout: .seconds(10)) }) else {
            throw SoundRigError("the daemon does not end: \(process.lines)")
        }
        return status.code
    }

    /// Waits until it has said so, as many times.
    func says(_ text: String, times: Int = 1, within deadline: Duration = .seconds(10)) async throws {
        guard await eventually(within: deadline, { count(text) >= times }) else {
            throw SoundRigError("the daemon has not said “\(text)”; it said \(process.lines)")
        }
    }

    /// How many of its lines have this in them.
    func count(_ text: String) -> Int { process.lines.count { $0.contains(text) } }
}

/// Runs a body on as many private servers as there are kinds, one after the other test by test; at most four at a time
/// over all tests. PulseAudio 16.1 ends by itself about once in a thousand of them: a body whose server has done so
/// has a second try, which is told.
func onDesktop(
    _ kind: HeadlessServerKind, configuration: String = "", daemon: Bool = true, options: HeadlessOptions? = nil,
    _ body: (Desktop) async throws -> Void
) async throws {
    try await Places.shared.take()
    do {
        for isLast in [false, true] {
            let desktop = try await Desktop(
                options ?? HeadlessOptions(server: kind), configuration: configuration, daemon: daemon)
            defer { desktop.stop() }
            do {
                try await body(desktop)
                break
            } catch {
                let log = desktop.daemon?.process.lines.suffix(5).joined(separator: "\n") ?? ""
                guard !isLast, let end = desktop.ownEnd else {
                    Issue.record("\(error)\nthe daemon said: \(log)")
                    break
                }
                print("the private server ended by itself (\(end)), so once more: \(error)\n\(log)")
            }
        }
    } catch {
        Issue.record(error)
    }
    await Places.shared.give()
}

/// Private servers that may run at a time: enough to use two cores, few enough that sound is not torn.
actor Places {
    static let shared = Places()
    private var free = 4
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async throws {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
