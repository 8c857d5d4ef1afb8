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
