/// Rows in columns, as wide as their widest cell; a table without rows is empty.
struct TextTable {
    let title: String
    let header: [String]
    private(set) var rows: [[String]] = []

    init(_ title: String, _ header: [String]) {
        self.title = title
        self.header = header
    }

    mutating func add(_ cells: String...) { rows.append(cells) }

    var text: String {
        guard !rows.isEmpty else { return "" }
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].columns }.max() ?? 0 }
        let body = lines.map { cells in
            var line = ""
            for (cell, width) in zip(cells, widths) {
                line += "  " + cell + String(repeating: " ", count: width - cell.columns)
            }
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        return "\n\(title)\n" + body.joined(separator: "\n") + "\n"
    }
}

extension String {
    /// How many columns of a terminal it takes: two for the scripts that are written wide, none for marks.
    var columns: Int {
        unicodeScalars.reduce(0) { sum, scalar in
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark: sum
            default: sum + (scalar.isWide ? 2 : 1)
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
