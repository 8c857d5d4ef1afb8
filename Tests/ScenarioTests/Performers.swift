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

    /// Waits until each of these tones has its level, relative to what it has of its own; −∞ is silence. Then makes
    /// sure that they all stay there for a while.
    func expect(_ levels: [Double: Double], on ear: ToneMeter, for duration: Duration = .milliseconds(300)) async throws {
        for (tone, level) in levels {
            if level.isFinite {
                try await ear.waitFor(tone, at: Desktop.baseline + level)
            } else {
                try await ear.waitForSilence(tone)
            }
        }
        let blocks = try await ear.record(duration)
        for (tone, level) in levels {
            let found = ear.levels(of: tone, blocks: blocks).sorted()
            // Gaps and what follows them are the machine's, not anybody's decision.
            let middle = found[found.count / 2]
            guard level.isFinite ? abs(middle - Desktop.baseline - level) <= 0.5 : middle < -80 else {
                throw SoundRigError("\(tone) Hz did not stay at \(level) dB: \(found)")
            }
        }
    }
}

extension Playing {
    /// Whether its program is asked for sound.
    func isAskedForSound() async throws -> Bool {
        let before = try await player.frames(stream.name)
        return try await eventually(within: .milliseconds(400)) { try await player.frames(stream.name) > before }
    }
}
