/// Levels over time as an SVG image that can be read on a light and on a dark page.
struct VectorPlot {
    let history: LevelHistory
    let title: String

    private let width = 760.0
    private let left = 64.0
    private let right = 84.0
    private let top = 56.0
    private let height = 260.0
    private let range = -60.0...(-15.0)

    func text() -> String {
        ([header] + grid + history.marks.enumerated().map(mark) + history.tracks.flatMap(curve) + ["</svg>"])
            .joined(separator: "\n") + "\n"
    }

    private var header: String {
        let total = number(top + height + 48)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(number(width))" height="\(total)" \
            viewBox="0 0 \(number(width)) \(total)" font-family="sans-serif" font-size="12" fill="#777">
            <title>\(escaped(title))</title>
            <text x="\(number(left))" y="20" font-size="14">\(escaped(title))</text>
            """
    }

    private var grid: [String] {
        stride(from: -60.0, through: -20, by: 10).map { level in
            """
            <line x1="\(number(left))" x2="\(number(width - right))" y1="\(number(y(level)))" y2="\(number(y(level)))" \
            stroke="#999" stroke-opacity="0.35"/>
            <text x="\(number(left - 8))" y="\(number(y(level) + 4))" text-anchor="end">\(Int(level)) dB</text>
            """
        }
    }

    private func mark(_ index: Int, _ mark: LevelHistory.Mark) -> String {
        let position = number(x(mark.time))
        let bottom = top + height
        return """
            <line x1="\(position)" x2="\(position)" y1="\(number(top))" y2="\(number(bottom))" stroke="#999" \
            stroke-dasharray="3 4"/>
            <text x="\(position)" y="\(number(bottom + 18 + Double(index % 2) * 16))">\(escaped(mark.title))</text>
            """
    }

    private func curve(_ track: LevelTrack) -> [String] {
        let points = track.levels.enumerated().map { index, level in
            "\(number(x(Double(index) * history.interval))),\(number(y(level)))"
        }
        let loudest = track.levels.enumerated().filter { $0.element > range.lowerBound }
        guard let last = loudest.last else { return [] }
        let end = x(Double(last.offset) * history.interval)
        return [
            """
            <polyline fill="none" stroke="\(track.colour)" stroke-width="2" stroke-linejoin="round" \
            points="\(points.joined(separator: " "))"/>
            """,
            """
            <text x="\(number(end + 6))" y="\(number(y(last.element) + label(of: track)))" fill="\(track.colour)" \
            font-weight="bold">\(escaped(track.name))</text>
            """,
        ]
    }

    /// Two curves may end at one place: each name has its own line there.
    private func label(of track: LevelTrack) -> Double {
        let index = history.tracks.firstIndex(of: track) ?? 0
        return index % 2 == 0 ? -4 : 14
    }

    private func x(_ time: Double) -> Double {
        left + time / max(history.duration, 0.1) * (width - left - right)
    }

    private func y(_ level: Double) -> Double {
        let shown = min(max(level, range.lowerBound), range.upperBound)
        return top + (range.upperBound - shown) / (range.upperBound - range.lowerBound) * height
    }
}

/// With at most one decimal.
private func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
}

private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
}
