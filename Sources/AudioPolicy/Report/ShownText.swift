/// Text from elsewhere made fit to be shown on a terminal, in a log or in a sentence.
extension StringProtocol {
    /// The text with everything that acts instead of showing itself written as `\u{…}`: control characters, line breaks,
    /// direction marks and other invisible characters, private and unassigned ones, spaces that are not a space. A
    /// backslash is doubled, so that the result says unambiguously what was there. Invalid UTF-8 has become U+FFFD when
    /// the `String` was made.
    ///
    /// Cut to `limit` characters, the last of which is then `…`; costs no more than that, however long the text is.
    public func shown(limit: Int = 64) -> String {
        var result = ""
        var count = 0
        var combining = 0
        for scalar in unicodeScalars {
            // A letter may carry a few marks; a tower of them would run over the lines around it.
            combining = scalar.isMark ? combining + 1 : 0
            let piece = scalar.isPlain && combining <= 2 ? String(scalar) : scalar.escaped
            // A mark goes onto the letter before it, if there is one.
            let width = scalar.isMark && combining <= 2 && !result.isEmpty ? 0 : piece.unicodeScalars.count
            guard count + width <= limit else { return cut(result, to: limit) }
            result += piece
            count += width
        }
        return result
    }
}

private func cut(_ text: String, to limit: Int) -> String {
    guard limit > 0 else { return "" }
    return text.count < limit ? text + "…" : text.dropLast(text.count - limit + 1) + "…"
}

extension Unicode.Scalar {
    fileprivate var isMark: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Whether it shows itself and does nothing else.
    fileprivate var isPlain: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        case .spaceSeparator: self == " "
        // Emoji and text presentation selectors only choose a glyph.
        case .nonspacingMark where self == "\u{FE0E}" || self == "\u{FE0F}": true
        default: self != "\\" && !properties.isDefaultIgnorableCodePoint
        }
    }

    fileprivate var escaped: String {
        switch self {
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(value, radix: 16, uppercase: true))}"
        }
    }
}
