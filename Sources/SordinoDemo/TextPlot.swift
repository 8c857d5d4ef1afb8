/// Levels over time as a chart of block characters, one strip per part.
struct TextPlot {
    let history: LevelHistory
    /// Columns of the chart itself.
    var columns = 64
    /// Lines of each strip.
    var rows = 3
    /// Decibels at the chart's lower and upper edge.
    var range = -50.0...(-20.0)

    private static let blocks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let margin = 8

    func lines() -> [String] {
        history.tracks.flatMap(strip) + [axis(), numbers()]
    }

    private func strip(_ track: LevelTrack) -> [String] {
        let heights = (0..<columns).map { height(of: track, column: $0) }
        return (0..<rows).reversed().map { row in
            let label = row == rows - 1 ? track.name : ""
            let cells = heights.map { height in
                TextPlot.blocks[min(8, max(0, height - row * 8))]
            }
            return pad(label, TextPlot.margin) + "│" + String(cells)
        }
    }

    /// In eighths of a line. What is above the lower edge shows.
    private func height(of track: LevelTrack, column: Int) -> Int {
        let count = Int((history.duration / history.interval).rounded())
        let slice = track.levels[
            min(column * count / columns, track.levels.count)..<min((column + 1) * count / columns, track.levels.count)]
        guard let level = slice.max(), level > range.lowerBound else { return 0 }
        let share = (level - range.lowerBound) / (range.upperBound - range.lowerBound)
        return max(1, Int((min(1, share) * Double(rows * 8)).rounded()))
    }

    private func axis() -> String {
        var line = [Character](repeating: "─", count: columns)
        for mark in history.marks { line[column(of: mark.time)] = "┬" }
        return pad("", TextPlot.margin) + "└" + String(line)
    }

    private func numbers() -> String {
        var line = [Character](repeating: " ", count: columns + 8)
        for mark in history.marks {
            let text = Array(seconds(mark.time))
            let start = column(of: mark.time)
            line.replaceSubrange(start..<start + text.count, with: text)
        }
        while line.last == " " { line.removeLast() }
        return pad("", TextPlot.margin) + " " + String(line)
    }

    private func column(of time: Double) -> Int {
        guard history.duration > 0 else { return 0 }
        return min(columns - 1, max(0, Int(time / history.duration * Double(columns))))
    }
}

func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

/// With one decimal.
func seconds(_ time: Double) -> String {
    let tenths = Int((time * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
}

/// With one decimal, or nothing for silence.
func levelText(_ level: Double) -> String {
    guard level > -80 else { return "silent" }
    let tenths = Int((abs(level) * 10).rounded())
    return "\(level < 0 && tenths > 0 ? "−" : "")\(tenths / 10).\(tenths % 10) dB"
}
