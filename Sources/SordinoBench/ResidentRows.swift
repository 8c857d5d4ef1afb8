import Glibc
import HeadlessAudio
import SoundRig

/// A daemon that has nothing to do: what it costs to have it.
extension Bench {
    // MARK: Idle

    func idle() async throws -> [Row] {
        var rows: [Row] = []
        for kind in HeadlessServerKind.allCases {
            let server = try await server(kind, configuration: "")
            defer { server.stop() }
            let daemon = SordinoRun()
            try await daemon.begin(in: server)
            let bystander = try LineProcess([product("sordino-bench-player")], in: server)
            _ = try await bystander.line { $0 == "ready" }
            let player = try await TestPlayer(in: server)
            _ = try await player.play("music", .init(frequency: 600, role: "music", device: "spk"))
            guard let process = daemon.process else { continue }
            try await Task.sleep(for: .seconds(2))
            var watched = [("Sordino", process.id)]
            if let manager = server.processID(.sessionManager) { watched.append(("WirePlumber", manager)) }
            let before = watched.map { contextSwitches($0.1) }
            for second in 0..<options.idleSeconds {
                progress.show(second, of: options.idleSeconds)
                try await Task.sleep(for: .seconds(1))
            }
            let figures = watched.indices.map { index in
                (watched[index].0, Series([Double(contextSwitches(watched[index].1) - before[index])]))
            }
            try await daemon.end()
            rows.append(
                Row(
                    .idle,
                    "\(name(kind)), one music stream playing, no voice stream: context switches of all threads in "
                        + "\(options.idleSeconds) s", unit: "", figures, bar: "0", isMet: { figures[0].1.worst == 0 }))
        }
        return rows
    }

    /// Of all threads so far.
    private func contextSwitches(_ pid: Int32) -> Int {
        var sum = 0
        for thread in names(in: "/proc/\(pid)/task") {
            let status = "/proc/\(pid)/task/\(thread)/status"
            for key in ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"] {
                sum += Int(field(key, in: status) ?? "") ?? 0
            }
        }
        return sum
    }

    private func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    // MARK: Memory

    func memory() async throws -> [Row] {
        var rows: [Row] = []
        for kind in HeadlessServerKind.allCases {
            let server = try await server(kind, configuration: "")
            defer { server.stop() }
            let daemon = SordinoRun()
            try await daemon.begin(in: server)
            let player = try await TestPlayer(in: server)
            for index in 0..<20 {
                _ = try await player.play(
                    "music \(index)", .init(frequency: 600 * Double(index + 1), role: "music", device: "spk"))
            }
            guard let process = daemon.process else { continue }
            try await Task.sleep(for: .seconds(2))
            var watched = [("Sordino", process.id)]
            if let manager = server.processID(.sessionManager) { watched.append(("WirePlumber", manager)) }
            func figures(_ key: String) -> [(String, Series)] {
                watched.map { name, pid in
                    let kilobytes = field(key, in: "/proc/\(pid)/status").flatMap { Double($0.prefix { $0.isNumber }) }
                    return (name, Series(kilobytes.map { [$0 / 1000] } ?? []))
                }
            }
            let (anonymous, resident) = (figures("RssAnon"), figures("VmRSS"))
            try await daemon.end()
            rows += [
                Row(
                    .memory, "\(name(kind)), idle, 20 streams: private memory (RssAnon)", unit: "MB", anonymous,
                    bar: "≤ 4 MB", isMet: { anonymous[0].1.worst <= 4 }),
                Row(
                    .memory, "\(name(kind)), idle, 20 streams: RSS", unit: "MB", resident, bar: "≤ 20 MB",
                    isMet: { resident[0].1.worst <= 20 }),
            ]
        }
        return rows
    }

    // MARK: Starting

    func start() async throws -> [Row] {
        var rows: [Row] = []
        for kind in HeadlessServerKind.allCases {
            let server = try await server(kind, configuration: "")
            defer { server.stop() }
            var times: [Double] = []
            let runs = max(options.runs / 2, 5)
            for run in 0..<runs {
                progress.show(run, of: runs)
                let daemon = SordinoRun()
                times.append(try await daemon.start(in: server))
                try await daemon.end()
            }
            let series = Series(times)
            rows.append(
                Row(
                    .start, "\(name(kind)): process start → session ready", unit: "ms", [("Sordino", series)],
                    bar: "≤ 25 ms", isMet: { series.median <= 25 && series.p95 <= 25 }))
        }
        return rows
    }

    func headless() async throws -> [Row] {
        var rows: [Row] = []
        for kind in HeadlessServerKind.allCases {
            var times: [Double] = []
            let runs = max(options.runs / 3, 3)
            for run in 0..<runs {
                progress.show(run, of: runs)
                let began = monotonic()
                let server = try await onThread { try HeadlessServer.start(HeadlessOptions(server: kind)) }
                times.append(monotonic() - began)
                server.stop()
            }
            let series = Series(times)
            let what = kind == .pipewire ? "PipeWire with WirePlumber and pipewire-pulse" : "PulseAudio"
            rows.append(
                Row(
                    .headless, "A headless server ready: \(what)", unit: "ms", [("Sordino", series)], bar: "≤ 500 ms",
                    isMet: { series.median <= 500 && series.p95 <= 500 }))
        }
        return rows
    }

    func name(_ kind: HeadlessServerKind) -> String { kind == .pipewire ? "PipeWire" : "PulseAudio" }
}
