import AudioPolicy
import AudioSession
import HeadlessAudio
import SoundRig
import Testing

/// The table of effects, heard: a program of each kind beside programs of all kinds.
@Suite struct EffectTableTests {
    /// What happens to whom while a kind holds: decibels, or silence (−∞) by pause. Who is not named is left alone.
    struct Row: CustomTestStringConvertible, Sendable {
        var holder: AudioSessionClientKind
        var levels: [AudioSessionClientKind: Double]

        var testDescription: String { holder.rawValue }

        static let all = [
            Row(
                holder: .alarm,
                levels: [.playback: -14, .mediaPlayback: -14, .game: -14, .call: -6, .groupCall: -6]),
            Row(holder: .call, levels: [.playback: -.infinity, .mediaPlayback: -20, .game: -14]),
            Row(holder: .groupCall, levels: [.playback: -14, .mediaPlayback: -6, .game: -6]),
            Row(holder: .recording, levels: [.playback: -.infinity, .mediaPlayback: -20, .game: -20]),
            Row(holder: .speech, levels: [.playback: -14, .mediaPlayback: -14, .game: -6]),
            Row(holder: .playback, levels: [.mediaPlayback: -14, .game: -6]),
            Row(holder: .mediaPlayback, levels: [:]),
            Row(holder: .game, levels: [:]),
            Row(holder: .ambient, levels: [:]),
        ]
    }

    /// Tones of the victims; the holder's is `Desktop.Tone.voice`, which is none of them.
    private static let tones: [AudioSessionClientKind: Double] = [
        .ambient: 600, .playback: 1200, .mediaPlayback: 1800, .game: 2400, .speech: 3600, .call: 4200, .alarm: 4800,
        .groupCall: 5400,
    ]

    /// Nobody gives way to the victims; observed recordings act, and the sink is a loudspeaker that they hear.
    private static let configuration =
        Settings.quick + """
            observed = { recording.effects = true }
            rules = [
                \(Settings.podcasts)
                { matches = [ { application.name = "victims" } { application.name = "voice-room" } ]  actions = { claims = none } }
            ]

            """

    private static func options(_ kind: HeadlessServerKind) -> HeadlessOptions {
        let name = kind == .pulseaudio ? "device.form_factor" : "device.form-factor"
        return HeadlessOptions(server: kind, sinks: [.init("spk", properties: [name: "speaker"]), .init("hs")])
    }

    @Test(
        "Each kind turns down whom its row of the table names, by so much, and nobody else",
        arguments: HeadlessServerKind.allCases, Row.all)
    func row(kind: HeadlessServerKind, row: Row) async throws {
        try await onDesktop(kind, configuration: Self.configuration, options: Self.options(kind)) { desktop in
            let ear = try await desktop.ear()
            let program = try await TestPlayer(in: desktop.server, name: "victims")
            let room = try await TestPlayer(in: desktop.server, name: "voice-room")
            var victims: [AudioSessionClientKind: Playing] = [:]
            for (kind, tone) in Self.tones {
                victims[kind] = try await (kind == .groupCall ? room : program).perform(kind, tone)
            }
            let rest = Dictionary(uniqueKeysWithValues: Self.tones.values.map { ($0, 0.0) })
            try await desktop.expect(rest, on: ear)
            var before: [AudioSessionClientKind: [Int]] = [:]
            for (kind, victim) in victims { before[kind] = try await desktop.volume(of: victim.stream) }

            let holder = try await desktop.perform(row.holder, as: "holder")
            let claim =
                try await desktop.waitForStatus("the holder's claim") { status in
                    status.claims.contains { $0.owner.name == "holder" && $0.kind == row.holder.rawValue && $0.counts }
                }.claims.first { $0.owner.name == "holder" }?.id ?? ""
            var wanted = rest
            for (kind, level) in row.levels { if let tone = Self.tones[kind] { wanted[tone] = level } }
            try await desktop.expect(wanted, on: ear)
            let status = try await desktop.status()
            for (kind, victim) in victims {
                let stream = status.streams.first { $0.id == "\(victim.stream.index)" && $0.direction == "output" }
                #expect(stream?.kind == kind.rawValue)
                #expect(stream?.effect?.decibels == row.levels[kind].flatMap { $0.isFinite ? $0 : nil })
                #expect(stream?.effect?.because == (row.levels[kind] == nil ? nil : [claim]), "\(kind)")
            }

            holder.kill()
            try await desktop.expect(rest, on: ear)
            try await desktop.waitForRest()
            for (kind, victim) in victims {
                #expect(try await desktop.volume(of: victim.stream) == before[kind], "\(kind)")
                #expect(try await !desktop.isMuted(victim.stream), "\(kind)")
            }
        }
    }

    @Test(
        "A recording turns down what a loudspeaker plays, and nothing that only headphones play",
        arguments: HeadlessServerKind.allCases)
    func recordingHearsLoudspeakers(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.configuration, options: Self.options(kind)) { desktop in
            let loud = try await desktop.ear()
            let quiet = try await desktop.ear(on: "hs")
            let first = try await desktop.music(600)
            let second = try await desktop.music(1200, sink: "hs")
            try await loud.waitFor(first.frequency, at: Desktop.baseline)
            let recorder = try await desktop.perform(.recording, as: "recorder")
            try await loud.waitFor(first.frequency, at: Desktop.baseline - 20)
            try await quiet.holds(second.frequency, at: Desktop.baseline)
            recorder.kill()
            try await loud.waitFor(first.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
        }
    }

    @Test(
        "Of several holders the strongest acts, never their product, and it relaxes step by step as they go",
        arguments: HeadlessServerKind.allCases)
    func strongestHolder(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let tone = music.frequency
            func musicIs(_ level: Double) async throws {
                try await desktop.expect([tone: level], on: ear, for: .milliseconds(200))
            }
            try await musicIs(0)
            let room = try await desktop.perform(.groupCall, as: "room", 1200)
            try await musicIs(-6)
            let speech = try await desktop.perform(.speech, as: "speech", 1800)
            try await musicIs(-14)
            let call = try await desktop.perform(.call, as: "call", 2400)
            try await musicIs(-20)
            let other = try await desktop.perform(.call, as: "other", 3000)
            try await musicIs(-20)
            #expect(
                try await desktop.status().streams.first { $0.id == "\(music.stream.index)" }?.effect?.because.count
                    == 2)
            // An alarm turns calls down, and music no further than it is.
            let alarm = try await desktop.perform(.alarm, as: "alarm", 3600)
            try await desktop.expect([tone: -20, 1200: -6, 1800: 0, 2400: -6, 3000: -6, 3600: 0], on: ear)
            alarm.kill()
            try await desktop.expect([tone: -20, 1200: 0, 2400: 0, 3000: 0], on: ear)
            call.kill()
            try await musicIs(-20)
            other.kill()
            try await musicIs(-14)
            speech.kill()
            try await musicIs(-6)
            room.kill()
            try await musicIs(0)
            try await desktop.waitForRest()
        }
    }

    @Test(
        "A stream that starts during a duck has the duck's level at once, however long a fade takes",
        arguments: HeadlessServerKind.allCases)
    func newStreamHasItsLevelAtOnce(kind: HeadlessServerKind) async throws {
        let slow = "timing = { attack-ms = 0  fade-down-ms = 4000  fade-up-ms = 60  hold-ms = 60 }\n"
        try await onDesktop(kind, configuration: slow) { desktop in
            let ear = try await desktop.ear()
            let call = try await desktop.call()
            try await desktop.waitForStatus("the call") { $0.claims.contains { $0.kind == "call" && $0.counts } }
            let start = ear.blockCount
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20, deadline: .seconds(2))
            let louder = ear.levels(of: music.frequency, blocks: start..<ear.blockCount).count {
                $0 > Desktop.baseline - 19
            }
            // PulseAudio tells of a stream when it is there already; a fade of 4 s would be louder for 380 blocks.
            #expect(louder < 20, "\(louder) blocks of 10 ms were louder")
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
        }
    }
}
