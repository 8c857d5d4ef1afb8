import FoundationEssentials
import Glibc

/// Measured values of one kind.
struct Series: Encodable {
    var values: [Double]

    init(_ values: [Double]) { self.values = values.sorted() }

    var count: Int { values.count }
    var median: Double { quantile(0.5) }
    var p95: Double { quantile(0.95) }
    var worst: Double { values.last ?? .nan }

    /// Between the two nearest values.
    private func quantile(_ share: Double) -> Double {
        guard let last = values.last else { return .nan }
        let position = share * Double(values.count - 1)
        let index = Int(position)
        guard index + 1 < values.count else { return last }
        return values[index] + (values[index + 1] - values[index]) * (position - Double(index))
    }

    enum CodingKeys: String, CodingKey { case runs, median, p95, least, greatest, values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(count, forKey: .runs)
        guard let first = values.first, let last = values.last else { return }
        try container.encode(median, forKey: .median)
        try container.encode(p95, forKey: .p95)
        try container.encode(first, forKey: .least)
        try container.encode(last, forKey: .greatest)
        try container.encode(values.map { ($0 * 100).rounded() / 100 }, forKey: .values)
    }
}

/// One line of the table.
struct Row: Encodable {
    enum Verdict: String, Encodable {
        case met, missed
        case unmeasured = "not measured"
    }

    struct Figure: Encodable {
        var who: String
        var series: Series
    }

    var group: Bench.Group
    var what: String
    var unit: String
    /// Sordino's first.
    var figures: [Figure]
    var bar: String
    var verdict: Verdict
    var note: String?

    init(
        _ group: Bench.Group, _ what: String, unit: String, _ figures: [(String, Series)], bar: String,
        note: String? = nil, isMet: () -> Bool
    ) {
        self.group = group
        self.what = what
        self.unit = unit
        self.figures = figures.map { Figure(who: $0.0, series: $0.1) }
        self.bar = bar
        self.note = note
        let isMeasured = figures.first.map { $0.1.count > 0 } ?? false
        verdict = !isMeasured ? .unmeasured : isMet() ? .met : .missed
    }
}

/// The machine and the versions that the figures are of.
struct Surroundings: Encodable {
    var processor: String
    var cores: Int
    var kernel: String
    var build: String
    var versions: [String: String]
    /// Processes that wanted to run, over the last minute; besides the bench's own, whatever else the machine did.
    var loadBefore: Double
    var loadAfter: Double
}

struct Report: Encodable {
    var surroundings: Surroundings
    var rows: [Row]
    var seconds: Double

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    func markdown() -> String {
        var lines = ["| what | Sordino | beside it | bar | |", "|---|---|---|---|---|"]
        for row in rows {
            let own = row.figures.first.map { Self.text($0.series, row.unit) } ?? ""
            let others = row.figures.dropFirst().map { "\($0.who) \(Self.text($0.series, row.unit))" }
            lines.append(
                "| \(row.what) | \(own) | \(others.joined(separator: "; ")) | \(row.bar) | \(row.verdict.rawValue)\(row.note.map { " (\($0))" } ?? "") |"
            )
        }
        return (lines + ["", summary]).joined(separator: "\n")
    }

    func text() -> String {
        var lines: [String] = []
        for row in rows {
            lines.append("\(row.verdict.rawValue.uppercased())  \(row.what)")
            for figure in row.figures {
                lines.append("    \(figure.who): \(Self.text(figure.series, row.unit)), \(figure.series.count) runs")
            }
            lines.append("    bar: \(row.bar)")
            if let note = row.note { lines.append("    \(note)") }
        }
        return (lines + ["", summary]).joined(separator: "\n")
    }

    private var summary: String {
        let versions = surroundings.versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "Medians / 95th percentiles. \(surroundings.cores) cores of \(surroundings.processor), "
            + "\(versions.joined(separator: ", ")), \(surroundings.build) build, load \(number(surroundings.loadBefore)) to "
            + "\(number(surroundings.loadAfter))."
    }

    private static func text(_ series: Series, _ unit: String) -> String {
        guard series.count > 0 else { return "–" }
        if series.count == 1 { return "\(number(series.median)) \(unit)" }
        return "\(number(series.median)) / \(number(series.p95)) \(unit)"
    }
}

/// Three significant digits or so.
func number(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let digits = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2
    let scale = pow(10, Double(digits))
    let rounded = (value * scale).rounded() / scale
    if digits == 0 || rounded == rounded.rounded() { return String(Int(rounded)) }
    return String(rounded)
}
