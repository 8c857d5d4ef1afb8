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

    /// A stretch in which a part is heard, as its points.
    private func stretches(of track: LevelTrack) -> [[(time: Double, level: Double)]] {
        track.levels.enumerated().map { (time: Double($0) * history.interval, level: $1) }
            .split { $0.level < range.lowerBound }.map(Array.init)
    }

    private func curve(_ track: LevelTrack) -> [String] {
        let stretches = stretches(of: track)
        guard let first = stretches.first?.first, let last = stretches.last?.last else { return [] }
        let isHeardToTheEnd = last.time > history.duration - 0.3
        let curves = stretches.flatMap { points in
            let line = points.map { "\(number(x($0.time))),\(number(y($0.level)))" }.joined(separator: " ")
            let style = "stroke=\"\(track.colour)\" stroke-width=\"2\" stroke-linejoin=\"round\""
            let edge = "<polyline fill=\"none\" \(style) points=\"\(line)\"/>"
            return isHeardToTheEnd ? [edge] : [area(points, line, track.colour), edge]
        }
        let place =
            isHeardToTheEnd ? (x(last.time) + 6, y(last.level) + label(of: track)) : (x(first.time) + 4, top - 6)
        let name = """
            <text x="\(number(place.0))" y="\(number(place.1))" fill="\(track.colour)" \
            font-weight="bold">\(escaped(track.name))</text>
            """
        return curves + [name]
    }

    /// What comes and goes is shaded down to the edge: it is why the others move.
    private func area(_ points: [(time: Double, level: Double)], _ line: String, _ colour: String) -> String {
        let bottom = number(top + height)
        let start = number(x(points.first?.time ?? 0))
        let end = number(x(points.last?.time ?? 0))
        return
            "<polygon fill=\"\(colour)\" fill-opacity=\"0.1\" points=\"\(start),\(bottom) \(line) \(end),\(bottom)\"/>"
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
