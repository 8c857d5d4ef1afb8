/// One thing that is wrong, or doubtful, in a configuration file.
public struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
    public var file: String
    /// From 1.
    public var line: Int
    /// A sentence, with the nearest right name where there is one.
    public var message: String
    /// The configuration can be used all the same.
    public var isWarning: Bool

    public init(file: String, line: Int, message: String, isWarning: Bool = false) {
        self.file = file
        self.line = line
        self.message = message
        self.isWarning = isWarning
    }

    /// As compilers write it: `file:line: error: message`.
    public var description: String { "\(file):\(line): \(isWarning ? "warning" : "error"): \(message)" }
}

/// Finding what somebody probably meant.
public enum NearestName {
    /// The nearest of `names` by edit distance, if it is near enough to be meant.
    public static func of(_ name: String, among names: some Sequence<String>) -> String? {
        var best: (name: String, distance: Int)?
        for candidate in names {
            let distance = distance(name.lowercased(), candidate.lowercased())
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(2, name.utf8.count / 3) else { return nil }
        return best.name
    }

    /// Insertions, deletions, substitutions and exchanges of neighbours that turn one into the other.
    static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8.prefix(128))
        let b = Array(b.utf8.prefix(128))
        if a.isEmpty || b.isEmpty { return a.count + b.count }
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i] + Array(repeating: 0, count: b.count)
            for j in 1...b.count {
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            before = last
            last = row
        }
        return last[b.count]
    }

    /// `; did you mean …?`, or nothing.
    static func hint(_ name: String, among names: some Sequence<String>) -> String {
        of(name, among: names).map { "; did you mean \($0)?" } ?? ""
    }
}

/// Text from outside, made fit for a terminal and for SPA-JSON.
public enum Escaping {
    /// Control characters as `\n`, `\u001b`, …; cut at 200 characters.
    public static func shown(_ text: String) -> String {
        var shown = String(escaped(text).prefix(200))
        if text.count > 200 { shown += "…" }
        return shown
    }

    /// A string literal that libspa and JSON read back as `text`.
    public static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if scalar.value < 32 || (127...159).contains(scalar.value) || scalar.properties.isBidiControl {
                    let digits = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }
}
