import AudioPolicy
import AudioSession
import HeadlessAudio
import SoundRig

/// Configuration that several tests share.
enum Settings {
    /// Short waits and fades, for cases that are not about them.
    static let quick = "timing = { attack-ms = 20  fade-down-ms = 60  fade-up-ms = 60  hold-ms = 60 }\n"

    /// A call does this to music and film instead of turning them down.
    static func call(_ effect: String) -> String { "effects = { call = { mediaPlayback = \(effect) } }\n" }

    /// Streams called `podcast` are spoken playback, which no role says.
    static let podcasts = "{ matches = [ { media.name = \"podcast\" } ]  actions = { kind = playback } }"
}

extension AudioSessionClientKind {
    /// How a program that knows nothing of Sordino says so; `recording` and `groupCall` are not a matter of playback alone.
    fileprivate var role: String? {
        switch self {
        case .ambient, .alarm: "event"
        case .playback, .mediaPlayback: "music"
        case .game: "game"
        case .speech: "a11y"
        case .call: "phone"
        case .groupCall, .recording: nil
        }
    }

    /// The name of its stream.
    var streamName: String { self == .playback ? "podcast" : rawValue }
}

extension TestPlayer {
    /// Opens what a program of that kind opens. `Settings.podcasts` has to be among the rules for `playback`.
    func perform(
        _ kind: AudioSessionClientKind, _ frequency: Double = Desktop.Tone.voice, sink: String? = nil
    ) async throws -> Playing {
        var options = Options(frequency: frequency, role: kind.role, device: sink)
        if kind == .alarm { options.properties["event.id"] = "alarm-clock-elapsed" }
        if kind == .recording || kind == .groupCall {
            var microphone = Options(role: kind == .recording ? "production" : nil, device: "mic")
            microphone.channels = 1
            let stream = try await record(kind == .recording ? kind.streamName : "capture", microphone)
            if kind == .recording { return Playing(player: self, stream: stream, frequency: frequency) }
        }
        return Playing(player: self, stream: try await play(kind.streamName, options), frequency: frequency)
    }
}

extension Desktop {
    /// A program of its own that does what a kind is about.
    func perform(
        _ kind: AudioSessionClientKind, as name: String, _ frequency: Double = Tone.voice, sink: String? = nil
    ) async throws -> Playing {
        try await TestPlayer(in: server, name: name).perform(kind, frequency, sink: sink)
    }

    /// Waits until the daemon has a stream under this effect (`duck`, `pause`, `mute`; `nil`: none).
    func waitForEffect(_ effect: String?, on stream: TestPlayer.Stream) async throws {
        try await waitForStatus("\(effect ?? "no effect") on \(stream.name)") { status in
            status.streams.contains { $0.id == "\(stream.index)" && $0.effect?.action == effect }
        }
    }

    /// Waits until all of these tones have their levels, relative to what each has of its own, for so long at a time;
    /// −∞ is silence. What is torn by a busy machine is listened to again.
    func expect(_ levels: [Double: Double], on ear: ToneMeter, for duration: Duration = .milliseconds(300)) async throws
    {
        let deadline = ContinuousClock.now + .seconds(12)
        while true {
            let blocks = try await ear.record(duration)
            let wrong = levels.compactMap { tone, level -> String? in
                let found = ear.levels(of: tone, blocks: blocks)
                guard !isAt(Desktop.baseline + level, found) else { return nil }
                return "\(tone) Hz not at \(level) dB but \(found.map { ($0 * 10).rounded() / 10 })"
            }
            if wrong.isEmpty { return }
            guard ContinuousClock.now < deadline else { throw SoundRigError(wrong.joined(separator: "; ")) }
        }
    }

    /// Whether nine of ten levels are within 0.5 dB, or silent. A gap in one tone is heard a little in all others.
    private func isAt(_ level: Double, _ found: [Double]) -> Bool {
        found.count { level.isFinite ? abs($0 - level) <= 0.5 : $0 < -80 } * 10 >= found.count * 9
    }
}

extension Playing {
    /// Whether its program is asked for sound.
    func isAskedForSound() async throws -> Bool {
        let before = try await player.frames(stream.name)
        return try await eventually(within: .milliseconds(400)) { try await player.frames(stream.name) > before }
    }
}
