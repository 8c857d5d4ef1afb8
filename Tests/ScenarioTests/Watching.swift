import Foundation
import HeadlessAudio
import SoundRig

/// Timing without waits, for cases that are not about the figures.
let atOnce = "timing = { attack-ms = 0  fade-down-ms = 0  fade-up-ms = 0  hold-ms = 0 }"

/// The lines of `sordino monitor --json` from now on.
final class Monitor: Sendable {
    private let process: LineProcess

    init(on desktop: Desktop) async throws {
        process = try LineProcess([product("sordino"), "monitor", "--json"], in: desktop.server)
        // Subscribed once a change that is asked for has been told of.
        let probe = try await desktop.sordino("off")
        guard probe.status == 0 else { throw SoundRigError("sordino off: \(probe.lines)") }
        _ = try await desktop.sordino("on")
    }

    private struct Event: Decodable {
        struct Stream: Decodable {
            struct Effect: Decodable { var action: String }
            var id: String
            var effect: Effect?
        }
        var event: String
        var stream: Stream?
    }

    /// The actions on one stream in their order; `nil` for "none".
    func actions(on stream: TestPlayer.Stream) -> [String?] {
        process.lines.compactMap { try? JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
            .filter { $0.event == "effectChanged" && $0.stream?.id == String(stream.index) }
            .map { $0.stream?.effect?.action }
    }
}

extension Desktop {
    /// Loads a module for the test's time.
    func load(_ module: String, _ arguments: String...) async throws {
        let result = try await run(["pactl", "load-module", module] + arguments)
        guard result.status == 0 else { throw SoundRigError("\(module): \(result.lines)") }
    }

    /// Moves a stream as its user would; asks again where the session manager has let the wish pass (WirePlumber 0.4
    /// does now and then).
    func move(_ stream: TestPlayer.Stream, to sink: String) async throws {
        for _ in 1...10 {
            _ = try await pactl("move-sink-input", String(stream.index), sink)
            let sinks = try await pactl("list", "short", "sinks").map { $0.split(separator: "\t") }
            guard let wanted = sinks.first(where: { $0.count > 1 && $0[1] == sink })?.first else { break }
            let hasMoved = try await eventually(within: .milliseconds(500), every: .milliseconds(50)) {
                try await pactl("list", "short", "sink-inputs").contains {
                    $0.hasPrefix("\(stream.index)\t\(wanted)\t")
                }
            }
            if hasMoved { return }
        }
        throw SoundRigError("stream \(stream.index) does not move to \(sink)")
    }

    /// The mutes of all recorders by their index.
    func recordersMuted() async throws -> [UInt32: Bool] {
        struct Recorder: Decodable {
            var index: UInt32
            var mute: Bool
        }
        let result = try await run(["pactl", "-f", "json", "list", "source-outputs"])
        let all = try JSONDecoder().decode([Recorder].self, from: Data(result.lines.joined(separator: "\n").utf8))
        return Dictionary(all.map { ($0.index, $0.mute) }) { first, _ in first }
    }

    /// Jiffies of processor time that the daemon has used.
    func daemonTime() throws -> Int {
        guard let daemon else { throw SoundRigError("no daemon") }
        let text = try String(contentsOfFile: "/proc/\(daemon.process.process.id)/stat", encoding: .utf8)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 13, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw SoundRigError("no times in \(text)")
        }
        return user + system
    }
}
