import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// Programs as Debian ships them: a video player, a music player and a browser.
enum RealPlayer: String, CaseIterable, Sendable {
    case mpv, cmus, chromium

    /// Starts it with an endless tone; it plays until what is returned is gone.
    func start(_ tone: String, on desktop: Desktop) async throws -> LineProcess {
        switch self {
        case .mpv:
            return try LineProcess(
                [
                    "mpv", "--no-config", "--no-terminal", "--vo=null", "--loop",
                    "--script=/usr/lib/mpv-mpris/mpris.so", tone,
                ], in: desktop.server)
        case .cmus:
            // It wants a terminal.
            let cmus = try LineProcess(
                ["script", "-qfc", "cmus", "/dev/null"], in: desktop.server,
                environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"])
            let plays = try await eventually(within: .seconds(20), every: .milliseconds(100)) {
                let settings = ["set softvol=false", "set repeat_current=true"]
                let answers = try await [
                    desktop.run(["cmus-remote", "-C"] + settings), desktop.run(["cmus-remote", "-f", tone]),
                ]
                return answers.allSatisfy { $0.status == 0 }
            }
            guard plays else { throw SoundRigError("cmus does not listen: \(cmus.lines)") }
            return cmus
        case .chromium:
            let page = desktop.server.directory + "/page.html"
            try "<!doctype html><title>tone</title><audio src=\"\(tone)\" autoplay loop></audio>"
                .write(toFile: page, atomically: true, encoding: .utf8)
            return try LineProcess(
                [
                    "chromium", "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu",
                    "--autoplay-policy=no-user-gesture-required",
                    "--user-data-dir=" + desktop.server.directory + "/chromium", "file://" + page,
                ], in: desktop.server)
        }
    }
}

@Suite struct RealPlayersTests {
    @Test(
        "A call pauses a real player and lets it go on; one that its user has paused is left so",
        arguments: HeadlessServerKind.allCases, RealPlayer.allCases)
    func pause(kind: HeadlessServerKind, real: RealPlayer) async throws {
        try await onDesktop(kind, configuration: Settings.quick + Settings.call("pause")) { desktop in
            let tone = desktop.server.directory + "/tone.wav"
            try waveFile(frequency: 600).write(to: URL(fileURLWithPath: tone))
            let ear = try await desktop.ear()
            let process = try await real.start(tone, on: desktop)
            try await ear.waitFor(600, at: Desktop.baseline, deadline: .seconds(30))
            let player = try await desktop.mediaPlayer()
            try await player.waitFor("Playing")
            for isPausedByUser in [false, true] {
                if isPausedByUser {
                    try await player.call("Pause")
                    try await ear.waitForSilence(600)
                }
                let call = try await desktop.call()
                try await desktop.expect([600: -.infinity, call.frequency: 0], on: ear)
                try await player.waitFor("Paused")
                let explained = try await desktop.sordino("explain", real.rawValue).lines.joined()
                #expect(explained.contains("paused through its player") == !isPausedByUser, "\(explained)")
                call.kill()
                try await desktop.waitForRest()
                try await desktop.expect([600: isPausedByUser ? -.infinity : 0], on: ear)
                try await player.waitFor(isPausedByUser ? "Paused" : "Playing")
            }
            withExtendedLifetime(process) {}
        }
    }
}

/// A player on the private bus, as any program sees it.
struct BusPlayer: Sendable {
    let desktop: Desktop
    let name: String

    fileprivate static func send(
        _ desktop: Desktop, to name: String, _ path: String, _ arguments: [String]
    ) async throws -> [String] {
        let result = try await desktop.run(
            ["dbus-send", "--session", "--print-reply=literal", "--dest=" + name, path] + arguments)
        guard result.status == 0 else { throw SoundRigError("\(name) does not answer \(arguments)") }
        return result.lines
    }

    func call(_ method: String) async throws {
        _ = try await Self.send(
            desktop, to: name, "/org/mpris/MediaPlayer2", ["org.mpris.MediaPlayer2.Player." + method])
    }

    func status() async throws -> String {
        let lines = try await Self.send(
            desktop, to: name, "/org/mpris/MediaPlayer2",
            [
                "org.freedesktop.DBus.Properties.Get", "string:org.mpris.MediaPlayer2.Player", "string:PlaybackStatus",
            ])
        return lines.joined().split(separator: " ").last.map(String.init) ?? ""
    }

    func waitFor(_ wanted: String) async throws {
        var last = ""
        let came = try await eventually(every: .milliseconds(50)) {
            last = try await status()
            return last == wanted
        }
        guard came else { throw SoundRigError("\(name) is \(last) and not \(wanted)") }
    }
}

extension Desktop {
    /// The only media player on the bus.
    fileprivate func mediaPlayer() async throws -> BusPlayer {
        var names: [String] = []
        let isThere = try await eventually(every: .milliseconds(50)) {
            names = try await BusPlayer.send(
                self, to: "org.freedesktop.DBus", "/org/freedesktop/DBus", ["org.freedesktop.DBus.ListNames"]
            ).joined(separator: " ").split(separator: " ").map(String.init).filter {
                $0.hasPrefix("org.mpris.MediaPlayer2.")
            }
            return names.count == 1
        }
        guard isThere else { throw SoundRigError("players on the bus: \(names)") }
        return BusPlayer(desktop: self, name: names[0])
    }
}

/// Ten seconds of a tone at the level of all tones, that fit to themselves: 16 bits, stereo, 48 kHz. A browser shows no
/// player for what is shorter than five.
private func waveFile(frequency: Int) -> Data {
    let rate = 48000
    var second = Data(capacity: rate * 4)
    let amplitude = pow(10, Desktop.baseline / 20) * 32767
    for frame in 0..<rate {
        let value = Int16(amplitude * sin(2 * .pi * Double(frame * frequency % rate) / Double(rate)))
        for _ in 0..<2 { withUnsafeBytes(of: value.littleEndian) { second.append(contentsOf: $0) } }
    }
    let samples = Data((0..<10).map { _ in second }.joined())
    var file = Data()
    func add(_ text: String) { file.append(contentsOf: text.utf8) }
    func add(_ value: Int, bytes: Int) { for byte in 0..<bytes { file.append(UInt8(value >> (8 * byte) & 255)) } }
    add("RIFF")
    add(36 + samples.count, bytes: 4)
    add("WAVEfmt ")
    add(16, bytes: 4)
    add(1, bytes: 2)
    add(2, bytes: 2)
    add(rate, bytes: 4)
    add(rate * 4, bytes: 4)
    add(4, bytes: 2)
    add(16, bytes: 2)
    add("data")
    add(samples.count, bytes: 4)
    return file + samples
}
