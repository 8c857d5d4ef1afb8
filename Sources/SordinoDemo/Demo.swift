import AudioPolicy
import FoundationEssentials
import Glibc
public import HeadlessAudio
import SoundRig

/// What `sordino demo` was asked for.
public struct DemoOptions: Sendable {
    public var server: HeadlessServerKind
    /// Where the plot is also written as an image.
    public var svg: String?
    /// The command that runs the daemon.
    public var daemon: [String]
    /// Whether the table is drawn again in place.
    public var isTerminal: Bool

    public init(server: HeadlessServerKind, svg: String? = nil, daemon: [String], isTerminal: Bool) {
        self.server = server
        self.svg = svg
        self.daemon = daemon
        self.isTerminal = isTerminal
    }
}

/// Shows the main job on a private server: music gives way to a call and to an alarm, and comes back. Returns whether
/// every stream was back at its baseline in the end. Blocks its thread; takes about 20 s.
public func runDemo(_ options: DemoOptions, _ out: @escaping @Sendable (String) -> Void) throws -> Bool {
    let ends = try makeChannel()
    let outcome = Outcome()
    Task {
        let demo = Demo(options, out)
        outcome.set(await Result { try await demo.run() })
        close(ends.other)
    }
    var byte: UInt8 = 0
    // Waits for the end of the task, which closes its end.
    while read(ends.own, &byte, 1) < 0 && errno == EINTR {}
    close(ends.own)
    return try outcome.get()
}

/// One demonstration.
private final class Demo {
    private let options: DemoOptions
    private let out: @Sendable (String) -> Void
    private var history = LevelHistory(tracks: [], marks: [], interval: 0.05)
    private var playing: Set<String> = []
    /// When each part was heard, in blocks of the meter since the start.
    private var spans: [String: Range<Int>] = [:]
    /// How many lines of a table stand above the cursor.
    private var drawn = 0

    init(_ options: DemoOptions, _ out: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.out = out
    }

    func run() async throws -> Bool {
        let stage = try await DemoStage(options.server, daemon: options.daemon)
        defer { stage.close() }
        let server = try stage.status().server
        out("A private \(options.server.title) \(server.version ?? ""); nothing of this machine's own is touched.\n")
        let origin = stage.meter.blockCount
        var before: [String: Baseline] = [:]
        for (index, scene) in DemoScript.scenes.enumerated() {
            try await play(scene, on: stage, since: origin)
            if index == 0 { before = try await baselines(on: stage) }
        }
        let after = try await baselines(on: stage)
        record(stage.meter, from: origin)
        try show()
        return report(before, after, try stage.status())
    }

    // MARK: Scenes

    private func play(_ scene: DemoScript.Scene, on stage: DemoStage, since origin: Int) async throws {
        let start = stage.meter.blockCount - origin
        history.marks.append(.init(title: scene.title, time: Double(start) * 0.01))
        out("\n\(seconds(Double(start) * 0.01))  \(scene.title).\n")
        drawn = 0
        for part in scene.ends { stage.end(part) }
        for part in scene.begins { try stage.begin(part) }
        playing.formUnion(scene.begins.map(\.name))
        playing.subtract(scene.ends.map(\.name))
        for part in scene.begins { spans[part.name] = start..<Int.max }
        // What a player has handed to the server is still played.
        for part in scene.ends { spans[part.name] = spans[part.name].map { $0.lowerBound..<start + 20 } }
        let blocks = Int(scene.seconds * 100)
        while stage.meter.blockCount - origin < start + blocks {
            _ = try await stage.meter.record(.milliseconds(100))
            if options.isTerminal { try draw(stage) }
        }
        try draw(stage)
    }

    private func draw(_ stage: DemoStage) throws {
        let levels = DemoScript.parts.filter { playing.contains($0.name) }
            .map { ($0.name, stage.meter.level(of: $0.frequency)) }
        let lines = DemoTable(try stage.status(), levels: Dictionary(uniqueKeysWithValues: levels)).lines()
        let back = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
        let clear = options.isTerminal ? "\u{1b}[K" : ""
        out(back + lines.map { $0 + clear + "\n" }.joined())
        drawn = options.isTerminal ? lines.count : 0
    }

    // MARK: The end

    /// What a stream is at while nothing acts on it.
    private struct Baseline: Equatable {
        let volume: DemoStage.Volume
        /// Decibels, as heard.
        let level: Double
    }

    private func baselines(on stage: DemoStage) async throws -> [String: Baseline] {
        let blocks = try await stage.meter.record(.milliseconds(300))
        let volumes = try await stage.volumes()
        var result: [String: Baseline] = [:]
        for part in DemoScript.parts {
            guard let volume = volumes[part.name] else { continue }
            // The median: a player that misses a turn leaves a gap of a cycle.
            let levels = stage.meter.levels(of: part.frequency, blocks: blocks).sorted()
            result[part.name] = Baseline(volume: volume, level: levels[levels.count / 2])
        }
        return result
    }

    /// Keeps the levels of each part while it plays: a step of another one is a click that sounds in every band.
    private func record(_ meter: ToneMeter, from origin: Int) {
        let end = meter.blockCount
        let step = Int(history.interval * 100)
        history.tracks = DemoScript.parts.map { part in
            let levels = meter.levels(of: part.frequency, blocks: origin..<end)
            let span = spans[part.name] ?? 0..<0
            let reduced = stride(from: 0, to: levels.count - step + 1, by: step).map { index in
                span.contains(index) ? levels[index..<index + step].sorted()[step / 2] : -200
            }
            return LevelTrack(name: part.name, colour: part.colour, levels: reduced)
        }
    }

    private func show() throws {
        out("\n" + TextPlot(history: history).lines().joined(separator: "\n") + "\n")
        guard let svg = options.svg else { return }
        let title = "Music and a game give way to a call and to an alarm, and come back on \(options.server.title)"
        try Data(VectorPlot(history: history, title: title).text().utf8).write(to: URL(filePath: svg))
        out("\nwritten to \(svg)\n")
    }

    /// One line for each stream that is not as it was, or one for all.
    private func report(
        _ before: [String: Baseline], _ after: [String: Baseline], _ status: SessionStatus
    ) -> Bool {
        var faults = before.keys.sorted().compactMap { name -> String? in
            guard let first = before[name] else { return nil }
            guard let last = after[name] else { return "\(name) has gone" }
            if first.volume != last.volume { return "\(name) is at \(last.volume), and was at \(first.volume)" }
            let isHeard = abs(first.level - last.level) < 0.01
            return isHeard ? nil : "\(name) is heard at \(last.level) dB, and was at \(first.level) dB"
        }
        if before.isEmpty { faults.append("nothing played") }
        if status.ledger.entries > 0 { faults.append("the ledger still has \(status.ledger.entries) entries") }
        faults += status.streams.filter { $0.effect != nil }.map { "\($0.application) is still under an effect" }
        out("\n" + (faults.isEmpty ? "all streams at their baseline" : faults.joined(separator: "\n")) + "\n")
        return faults.isEmpty
    }
}

extension HeadlessServerKind {
    /// As its makers write it.
    fileprivate var title: String {
        switch self {
        case .pipewire: "PipeWire"
        case .pulseaudio: "PulseAudio"
        }
    }
}
