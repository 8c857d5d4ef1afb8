import AudioPolicy
import Glibc
import HeadlessAudio
import SoundRig

extension Bench {
    /// How far off the measurement itself is, on signals whose truth is known.
    func detector() throws -> [Row] {
        let errors = try (0..<max(options.runs / 2, 8)).map { try SyntheticBurst.error(together: $0 % 4 == 0) }
        let series = Series(errors)
        return [
            Row(
                .detector, "The measurement's own error, on synthetic sound", unit: "ms", [("error", series)],
                bar: "≤ 0.1 ms", isMet: { series.worst <= 0.1 })
        ]
    }

    // MARK: PulseAudio

    func pulse() async throws -> [Row] {
        let server = try await server(.pulseaudio)
        defer { server.stop() }
        let session = TellingContestant("session", [try ownPath(), "session", "pulseaudio", "8"])
        let floor = TellingContestant("floor", [try product("sordino-bench-floor-pulse")])
        let duel = try await SoundDuel([SordinoRun(), floor, RoleDucking(), session], in: server)
        try await duel.run(options.runs, showing: progress)
        let names = ["Sordino", "floor", "module-role-ducking"]
        let down = names.map { ($0, Series(duel.results[$0]?.down ?? [])) }
        let back = names.map { ($0, Series(duel.results[$0]?.back ?? [])) }
        let bar = "≤ 1.2 × the floor, or within 1 ms of it"
        let note = note(duel, names)
        return [
            Row(
                .pulse, "PulseAudio, 8 music streams: trigger's first sample → last one down", unit: "ms", down,
                bar: bar,
                note: note, isMet: { isNear(down[0].1, down[1].1) }),
            Row(
                .pulse, "PulseAudio, 8 music streams: trigger killed → last one back", unit: "ms", back, bar: bar,
                note: note, isMet: { isNear(back[0].1, back[1].1) }),
            queueRow(
                .pulse, "PulseAudio, 8 victims: event received → last write queued", session.times.down,
                floor.times.down,
                bar: "≤ 1.5 × the floor"
            ) { own, floor in own.median <= 1.5 * floor.median && own.p95 <= 1.5 * floor.p95 },
            queueRow(
                .pulse, "PulseAudio, 8 victims: trigger's end received → last write queued", session.times.back,
                floor.times.back, bar: "–"
            ) { _, _ in true },
        ]
    }

    private func isNear(_ own: Series, _ floor: Series) -> Bool {
        func isNear(_ own: Double, _ floor: Double) -> Bool { own <= floor * 1.2 || own <= floor + 1 }
        return isNear(own.median, floor.median) && isNear(own.p95, floor.p95)
    }

    // MARK: PipeWire

    func pipeWire(_ group: Group, quantum: Int) async throws -> [Row] {
        let server = try await server(.pipewire) { $0.quantum = quantum }
        defer { server.stop() }
        // A recorder or a player with a wish of its own must not change it.
        let force = try server.spawn(["pw-metadata", "-n", "settings", "0", "clock.force-quantum", String(quantum)])
        _ = try await onThread { force.wait(timeout: .seconds(5)) }
        let session = TellingContestant("session", [try ownPath(), "session", "pipewire", "8"])
        let floor = TellingContestant("floor", [try product("sordino-bench-floor-pipewire")])
        let duel = try await SoundDuel([SordinoRun(), floor, session], in: server)
        try await duel.run(options.runs, showing: progress)
        let names = ["Sordino", "floor"]
        let down = names.map { ($0, Series(duel.results[$0]?.down ?? [])) }
        let back = names.map { ($0, Series(duel.results[$0]?.back ?? [])) }
        let cycle = Double(quantum) / 48
        let note = note(duel, names)
        let title = "PipeWire, quantum \(quantum), 8 music streams"
        return [
            Row(
                group, "\(title): trigger's first sample → last one down", unit: "ms", down, bar: "≤ 0 ms, p95",
                note: note, isMet: { down[0].1.p95 <= 0 }),
            Row(
                group, "\(title): trigger killed → last one back", unit: "ms", back,
                bar: "≤ the floor + 1 quantum (\(number(cycle)) ms)", note: note,
                isMet: {
                    back[0].1.median <= back[1].1.median + cycle && back[0].1.p95 <= back[1].1.p95 + cycle
                }),
            queueRow(
                group, "PipeWire, quantum \(quantum), 8 victims: event received → last write queued",
                session.times.down,
                floor.times.down, bar: "≤ 50 µs"
            ) { own, _ in own.median <= 50 && own.p95 <= 50 },
            queueRow(
                group, "PipeWire, quantum \(quantum), 8 victims: trigger's end received → last write queued",
                session.times.back, floor.times.back, bar: "–"
            ) { _, _ in true },
        ]
    }

    // MARK: Shared

    private func queueRow(
        _ group: Group, _ what: String, _ own: [Double], _ floor: [Double], bar: String,
        _ isMet: (Series, Series) -> Bool
    ) -> Row {
        let (own, floor) = (Series(own), Series(floor))
        return Row(
            group, what, unit: "µs", [("Sordino", own), ("floor", floor)], bar: bar, isMet: { isMet(own, floor) })
    }

    /// What has gone wrong, if anything.
    private func note(_ duel: SoundDuel, _ names: [String]) -> String? {
        let notes = names.compactMap { name -> String? in
            guard let result = duel.results[name] else { return nil }
            var words: [String] = []
            if let failure = result.failures.first { words.append("\(result.failures.count) not heard: \(failure)") }
            if result.torn > 0 { words.append("\(result.torn) torn by the machine and heard again") }
            if result.inexact > 0 { words.append("\(result.inexact) to 1.7 ms only") }
            return words.isEmpty ? nil : "\(name): \(words.joined(separator: ", "))"
        }
        return notes.isEmpty ? nil : notes.joined(separator: "; ")
    }

    /// A private server on which Sordino acts at once.
    func server(
        _ kind: HeadlessServerKind, configuration: String = immediate,
        _ change: (inout HeadlessOptions) -> Void = { _ in }
    ) async throws -> HeadlessServer {
        var options = HeadlessOptions(server: kind)
        change(&options)
        let wanted = options
        let server = try await onThread { try HeadlessServer.start(wanted) }
        let directory = server.environment["XDG_CONFIG_HOME", default: server.directory] + "/sordino"
        mkdir(server.environment["XDG_CONFIG_HOME", default: server.directory], 0o700)
        mkdir(directory, 0o700)
        let file = fopen(directory + "/sordino.conf", "we")
        guard let file else { throw SoundRigError("\(directory): \(String(cString: strerror(errno)))") }
        fputs(configuration + "\n", file)
        fclose(file)
        return server
    }

    func ownPath() throws -> String { try product("sordino-bench") }
}

/// Attack, fades and hold off: what is measured is the reaction and not a wait.
private let immediate = "timing = { attack-ms = 0 fade-down-ms = 0 fade-up-ms = 0 hold-ms = 0 }"
