import Glibc
import HeadlessAudio
import SoundRig

/// Eight music streams, a voice that comes and is killed, and contestants that take turns at turning the music down.
final class SoundDuel {
    struct Result {
        var down: [Double] = []
        var back: [Double] = []
        /// How many of the times are those of a window and not of a sample.
        var inexact = 0
        /// Recordings in which the machine did not let a player play, and which were made again.
        var torn = 0
        var failures: [String] = []
    }

    static let voice = SyntheticBurst.voice
    static let music = SyntheticBurst.music
    /// Bursts in a row for one contestant, after one that is not counted.
    private static let burstsPerTurn = 5

    private let server: HeadlessServer
    private let contestants: [any Contestant]
    private let meter: ToneMeter
    private(set) var results: [String: Result] = [:]

    init(_ contestants: [any Contestant], in server: HeadlessServer) async throws {
        self.contestants = contestants
        self.server = server
        meter = try await ToneMeter(sink: "spk", in: server, latency: 5, keepsSamples: true)
    }

    private var tool: CommandPlayer.Tool { server.kind == .pulseaudio ? .pacat : .pwCat }

    private func player(_ frequency: Double, _ amplitude: Double, role: [String], latency: Int) throws -> CommandPlayer
    {
        try CommandPlayer(
            tool, in: server, name: "\(role[0]) \(Int(frequency))", frequency: frequency, amplitude: amplitude,
            sink: "spk", properties: ["media.role": server.kind == .pulseaudio ? role[0] : role[1]], seconds: 120,
            latency: latency)
    }

    /// Takes turns until each has been heard so often.
    func run(_ runs: Int, showing progress: Progress) async throws {
        var left = runs
        var round = 0
        var turns = 0
        let rounds = (runs + Self.burstsPerTurn - 1) / Self.burstsPerTurn
        while left > 0 {
            let count = min(left, Self.burstsPerTurn)
            left -= count
            let music = try Self.music.map { try player($0, 0.02, role: ["music", "Music"], latency: 500) }
            let level = decibels(0.02)
            for tone in Self.music { try await meter.waitFor(tone, at: level, within: 1) }
            for index in contestants.indices {
                let contestant = contestants[(index + round) % contestants.count]
                try await turn(contestant, count)
                turns += 1
                progress.show(turns * runs / (contestants.count * rounds), of: runs)
            }
            for player in music { player.kill() }
            for tone in Self.music { try await meter.waitForSilence(tone) }
            round += 1
        }
    }

    private func turn(_ contestant: any Contestant, _ count: Int) async throws {
        try await contestant.begin(in: server)
        var result = results[contestant.name] ?? Result()
        // The first one warms up.
        _ = try await record()
        var left = count
        var patience = 3 * count
        while left > 0, patience > 0 {
            patience -= 1
            let samples = try await record()
            do throws(SoundRigError) {
                let timing = try BurstTiming(of: samples, voice: Self.voice, music: Self.music)
                guard !timing.down.isTorn, !timing.back.isTorn else {
                    result.torn += 1
                    continue
                }
                result.down.append(timing.down.last)
                result.back.append(timing.back.last)
                if !timing.down.isExact || !timing.back.isExact { result.inexact += 1 }
            } catch {
                result.failures.append(error.description)
            }
            left -= 1
        }
        results[contestant.name] = result
        try await contestant.end()
    }

    /// One burst of the voice, with steady music on both sides of each change, however long that takes.
    private func record() async throws -> [Float] {
        _ = meter.takeSamples()
        _ = try await meter.record(.milliseconds(120))
        let voice = try player(Self.voice, 0.2, role: ["phone", "Communication"], latency: 60)
        try await meter.waitFor(Self.voice, at: decibels(0.2), within: 1)
        await steadyMusic { $0 < decibels(0.01) }
        // Not always at the same place of the server's cycle.
        _ = try await meter.record(.milliseconds(320 + Int.random(in: 0..<40)))
        voice.kill()
        try await meter.waitForSilence(Self.voice)
        await steadyMusic { $0 > decibels(0.01) }
        _ = try await meter.record(.milliseconds(120))
        let samples = meter.takeSamples()
        return stride(from: 0, to: samples.count, by: meter.channels).map { samples[$0] }
    }

    /// Waits until all the music has given way, or is back. What never does so is found in the recording.
    private func steadyMusic(_ condition: @escaping (Double) -> Bool) async {
        for tone in Self.music {
            _ = try? await meter.waitFor(tone, deadline: .seconds(2), "to change", condition)
        }
    }
}
