/// Text as roff (man macros).
enum Roff {
    /// A line of running text. A leading dot or quote would be taken for a request.
    static func line(_ text: String) -> String {
        let text = escaped(text)
        return (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + text + "\n"
    }

    /// A line of running text in which words of a file stand between backticks.
    static func prose(_ text: String) -> String {
        let parts = line(text).split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset % 2 == 0 ? String($0.element) : "\\fB\($0.element)\\fR" }.joined()
    }

    /// `-` is a minus that can be copied; what is outside of ASCII is written by its name, whatever the output device.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            case "…": result += "\\&..."
            case "“": result += "\\(lq"
            case "”": result += "\\(rq"
            case "’": result += "\\(cq"
            case "'": result += "\\(aq"
            case _ where !scalar.isASCII: result += "\\[u\(hex(scalar))]"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func hex(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
