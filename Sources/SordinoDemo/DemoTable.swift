import AudioPolicy

/// What is shown of each part at one moment.
struct DemoTable {
    struct Row: Equatable {
        let name: String
        let effect: String
        /// Decibels; `nil`: it does not play.
        let level: Double?
    }

    let rows: [Row]

    /// `levels` are those of the parts that play, by name.
    init(_ status: SessionStatus, levels: [String: Double]) {
        rows = DemoScript.parts.map { part in
            let stream = status.streams.first { $0.application == part.name && $0.direction == "output" }
            return Row(
                name: part.name, effect: stream.map { DemoTable.words($0, status) } ?? "",
                level: stream == nil ? nil : levels[part.name])
        }
    }

    private static func words(_ stream: SessionStatus.Stream, _ status: SessionStatus) -> String {
        guard let effect = stream.effect else { return "–" }
        let holders = effect.because.map { id in
            status.claims.first { $0.id == id }.map { "\($0.owner.name) (\($0.kind))" } ?? id
        }
        let what =
            switch effect.action {
            case "duck": "ducked by " + levelText(abs(effect.decibels ?? 0))
            case "pause": "paused"
            default: "muted"
            }
        return what + (holders.isEmpty ? "" : " because of " + holders.joined(separator: " and "))
    }

    func lines() -> [String] {
        let width = max(38, rows.map(\.effect.count).max() ?? 0)
        return ["  " + pad("stream", 8) + pad("effect", width + 2) + pad("measured", 11)]
            + rows.map { row in
                let level = row.level.map(levelText) ?? ""
                let bar = row.level.map { String(repeating: "█", count: max(0, Int(($0 + 50) * 0.8))) } ?? ""
                return "  " + pad(row.name, 8) + pad(row.effect, width + 2) + pad(level, 11) + bar
            }
    }
}
