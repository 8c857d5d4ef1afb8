import HeadlessAudio
import SoundRig

extension Bench {
    /// A voice that fell silent and is heard again: how long until the music gives way.
    func ear(_ group: Group, on kind: HeadlessServerKind) async throws -> [Row] {
        // Soon silent, and soon back; attack and fade are the shipped ones.
        let server = try await server(
            kind, configuration: "timing = { silence-s = { voice = 0.5 } hold-ms = 0 fade-up-ms = 0 }")
        defer { server.stop() }
        let daemon = SordinoRun()
        try await daemon.begin(in: server)
        let meter = try await ToneMeter(sink: "spk", in: server, keepsSamples: true)
        let tone = SoundDuel.music[0]
        let music = try await TestPlayer(in: server, name: "music player")
        _ = try await music.play("music", .init(frequency: tone, role: "music", device: "spk"))
        let caller = try await TestPlayer(in: server, name: "caller")
        var options = TestPlayer.Options(frequency: SoundDuel.voice, role: "phone", device: "spk")
        options.silent = true
        options.latency = 40
        _ = try await caller.play("voice", options)
        var times: [Double] = []
        var failures: [String] = []
        let runs = min(max(self.options.runs, 6), 50)
        for run in 0..<runs {
            progress.show(run, of: runs)
            try await meter.waitFor(tone, at: -20, within: 0.5)
            _ = meter.takeSamples()
            _ = try await meter.record(.milliseconds(300 + Int.random(in: 0..<40)))
            try await caller.perform(.sound, "voice")
            try await meter.waitFor(SoundDuel.voice, at: -20, within: 1)
            try await meter.waitFor(tone, at: -40, within: 1)
            _ = try await meter.record(.milliseconds(250))
            let samples = meter.takeSamples()
            let one = stride(from: 0, to: samples.count, by: meter.channels).map { samples[$0] }
            do throws(SoundRigError) {
                times.append(try BurstTiming.onset(of: one, voice: SoundDuel.voice, music: [tone]).first)
            } catch {
                failures.append(error.description)
            }
            try await caller.perform(.silence, "voice")
        }
        try await daemon.end()
        let series = Series(times)
        return [
            Row(
                group, "\(name(kind)): a voice that was silent, first sample → first step", unit: "ms",
                [("Sordino", series)], bar: "median ≤ 80 ms, worst of 50 ≤ 150 ms",
                note: "worst \(number(series.worst)) ms"
                    + (failures.first.map { "; \(failures.count) not heard: \($0)" } ?? ""),
                isMet: { series.median <= 80 && series.worst <= 150 })
        ]
    }
}
