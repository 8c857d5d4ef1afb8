package import AudioPolicy
import Foundation
import Glibc
package import HeadlessAudio
package import SoundRig

/// `sordino run` beside a private server.
package final class RunningDaemon: Sendable {
    package let process: SupervisedProcess
    private let logPath: String
    private let server: HeadlessServer

    package init(
        in server: HeadlessServer, _ arguments: [String] = [], name: String = "daemon",
        environment: [String: String] = [:]
    ) throws {
        self.server = server
        logPath = server.directory + "/log/\(name).log"
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let log = open(logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer {
            close(null)
            close(log)
        }
        process = try server.spawn(
            [product("sordino"), "run"] + arguments, environment: environment,
            standard: .init(input: null, output: log, error: log))
    }

    package var log: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

    /// Waits until it has said so.
    package func says(_ text: String, times: Int = 1, within deadline: Duration = .seconds(10)) async throws {
        let came = await eventually(within: deadline) { log.components(separatedBy: text).count > times }
        guard came else { throw TestFailure("the daemon has not said “\(text)”; it said: \(log)") }
    }

    /// Its exit code, once it has ended.
    package func end(_ signal: Int32 = SIGTERM) async throws -> Int32 {
        process.signal(signal)
        return try await exitCode()
    }

    package func exitCode() async throws -> Int32 {
        guard let status = try await onThread({ [process] in process.wait(timeout: .seconds(10)) }) else {
            throw TestFailure("the daemon does not end; it said: \(log)")
        }
        return status.code
    }
}

/// Programs in a private server, and what it says of streams.
extension HeadlessServer {
    package struct Output: Sendable {
        package var code: Int32
        package var lines: [String]
        package var text: String { lines.joined(separator: "\n") }
    }

    package func run(_ command: [String], environment: [String: String] = [:]) async throws -> Output {
        // The standard error belongs to what it says.
        let quoted = command.map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " ")
        let process = try LineProcess(["sh", "-c", "exec \(quoted) 2>&1"], in: self, environment: environment)
        guard await eventually(within: .seconds(20), { process.hasEnded }) else {
            throw TestFailure("\(command) does not end")
        }
        let status = try await onThread { process.process.wait(timeout: .seconds(5)) }
        return Output(code: status?.code ?? -1, lines: process.lines)
    }

    package func sordino(_ arguments: String..., environment: [String: String] = [:]) async throws -> Output {
        try await run([product("sordino")] + arguments, environment: environment)
    }

    /// The volume in per cent and the mute of the one stream of that program, as mixers show them.
    package func shown(_ name: String) async throws -> String {
        struct Input: Decodable {
            struct Channel: Decodable {
                enum CodingKeys: String, CodingKey { case percent = "value_percent" }
                var percent: String
            }
            var mute: Bool
            var volume: [String: Channel]
            var properties: [String: String]
        }
        let json = try await run(["pactl", "-f", "json", "list", "sink-inputs"], environment: ["LC_ALL": "C"]).text
        let inputs = try JSONDecoder().decode([Input].self, from: Data(json.utf8))
        guard let input = inputs.first(where: { $0.properties["application.name"] == name }) else { return "none" }
        return (input.volume.values.first?.percent ?? "") + (input.mute ? " muted" : "")
    }

    /// The effect on the one stream of that program by the daemon's word.
    package func effect(_ name: String) async throws -> String? {
        try await status().streams.first { $0.application == name }?.effect?.action
    }

    package func status() async throws -> SessionStatus {
        let output = try await sordino("status", "--json")
        guard output.code == 0 else { throw TestFailure("status: \(output)") }
        return try JSONDecoder().decode(SessionStatus.self, from: Data(output.text.utf8))
    }

    /// The ledger's lines.
    package var ledger: String {
        (try? String(contentsOfFile: runtimeDirectory + "/sordino/ledger", encoding: .utf8)) ?? ""
    }

    /// Music and a call, both playing.
    package func musicAndCall() async throws -> (music: CommandPlayer, call: CommandPlayer) {
        let music = try play("mus", "music", 600)
        return (music, try play("tel", "phone", 1200))
    }

    package func play(_ name: String, _ role: String, _ frequency: Double) throws -> CommandPlayer {
        try CommandPlayer(.pacat, in: self, name: name, frequency: frequency, properties: ["media.role": role])
    }

    package func waitForEffect(_ effect: String?, on name: String, within deadline: Duration = .seconds(10))
        async throws
    {
        let came = try await eventually(within: deadline, every: .milliseconds(20)) {
            try await self.effect(name) == effect
        }
        guard came else { throw TestFailure("no \(effect ?? "end of the effect") on \(name): \(try await status())") }
    }
}
