import Foundation
import Glibc
import Testing

/// A PulseAudio server of a test's own, in its own directory, with the null sinks `spk` (the default) and `hs`.
final class PrivatePulse {
    let directory: String
    private let process: Child
    private var children: [Child] = []
    private var calls = 0

    var address: String { "unix:\(directory)/native" }

    init(stores: Bool = true, access: String = "auth-anonymous=1", extra: [String] = []) throws {
        var template = Array("/tmp/pulse-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Failure("mkdtemp: \(errno)") }
        directory = String(cString: made)
        let lines =
            [
                "load-module module-null-sink sink_name=spk", "load-module module-null-sink sink_name=hs",
                "set-default-sink spk", "set-default-source spk.monitor",
            ]
            + (stores ? ["load-module module-stream-restore"] : []) + extra
            + ["load-module module-native-protocol-unix socket=\(directory)/native \(access)"]
        try lines.joined(separator: "\n").appending("\n").write(
            toFile: "\(directory)/pa.conf", atomically: true, encoding: .utf8)
        process = try Child(
            "pulseaudio", ["-n", "-F", "\(directory)/pa.conf", "--daemonize=no", "--exit-idle-time=-1"],
            environment: Self.environment(directory))
        try waitUntil("the server listens") { (try? self.pactl("info")) != nil }
        try Self.tone.write(to: URL(fileURLWithPath: "\(directory)/tone.raw"))
        try Data(count: Self.tone.count).write(to: URL(fileURLWithPath: "\(directory)/silence.raw"))
    }

    deinit {
        for child in children { child.kill() }
        process.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func environment(_ directory: String) -> [String: String] {
        [
            "PATH": "/usr/bin:/bin", "HOME": directory, "XDG_RUNTIME_DIR": directory, "LC_ALL": "C.UTF-8",
            "PULSE_RUNTIME_PATH": "\(directory)/run", "PULSE_STATE_PATH": "\(directory)/state",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
            "PULSE_SERVER": "unix:\(directory)/native",
        ]
    }

    /// 8 kHz, two channels, 16 bits: two minutes of 440 Hz with a peak of one half.
    private static let tone: Data = {
        var samples: [Int16] = []
        for frame in 0..<(8000 * 120) {
            let sample = Int16(16384 * sin(2 * Double.pi * 440 * Double(frame) / 8000))
            samples += [sample, sample]
        }
        return samples.withUnsafeBytes { Data($0) }
    }()

    // MARK: Clients

    @discardableResult
    func pactl(_ arguments: String...) throws -> String { try pactl(arguments) }

    @discardableResult
    func pactl(_ arguments: [String]) throws -> String {
        calls += 1
        let output = "\(directory)/pactl-\(calls)"
        let status = try Child("pactl", arguments, environment: Self.environment(directory), output: output).wait()
        guard status == 0 else { throw Failure("pactl \(arguments.joined(separator: " "))") }
        return try String(contentsOfFile: output, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @discardableResult
    func play(
        role: String?, name: String = "player", silent: Bool = false, sink: String? = nil, latency: Int = 20,
        channels: Int = 2
    ) throws -> Child {
        var arguments = ["--playback", "--raw", "--rate=8000", "--channels=\(channels)", "--client-name=\(name)"]
        arguments += ["--latency-msec=\(latency)"]
        if let role { arguments.append("--property=media.role=\(role)") }
        if let sink { arguments.append("--device=\(sink)") }
        return try run("pacat", arguments + ["\(directory)/\(silent ? "silence" : "tone").raw"])
    }

    func run(_ program: String, _ arguments: [String]) throws -> Child {
        let child = try Child(program, arguments, environment: Self.environment(directory))
        children.append(child)
        return child
    }

    func kill() { process.kill() }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func waitUntil(_ what: String, seconds: Double = 15, _ condition: () -> Bool) throws {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while !condition() {
        guard Date() < deadline else { throw Failure("waited in vain: \(what)") }
        usleep(5000)
    }
}
