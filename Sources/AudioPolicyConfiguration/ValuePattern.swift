internal import AudioPolicy
internal import Glibc

/// What a rule demands of one property: `text`, `~regular expression` (extended), `!` before either for the opposite,
/// and a bare `null` for a property that is absent.
struct ValuePattern: Sendable {
    enum Form: Sendable {
        case exact(String)
        case expression(Expression)
        case absent
    }

    var form: Form
    var isNegated = false
    /// As written.
    var text: String

    /// Throws the reason why it does not compile.
    init(_ node: SPANode) throws(PatternError) {
        guard case .scalar(let text, _) = node.value else {
            throw PatternError(message: "a text is expected, not \(node.noun)")
        }
        self.text = text
        if node.isNull {
            form = .absent
            return
        }
        var rest = Substring(text)
        if rest.hasPrefix("!") {
            isNegated = true
            rest.removeFirst()
        }
        form = rest.hasPrefix("~") ? .expression(try Expression(String(rest.dropFirst()))) : .exact(String(rest))
    }

    func fits(_ value: String?) -> Bool {
        let fits: Bool =
            switch form {
            case .absent: value == nil
            case .exact(let text): value == text
            case .expression(let expression): value.map(expression.matches) ?? false
            }
        return fits != isNegated
    }

    /// Roles are the same in either spelling, in whatever case.
    func fitsRole(_ value: String?) -> Bool {
        guard let value else { return fits(nil) }
        if case .exact(let text) = form {
            if let wanted = MediaRole(text) { return (MediaRole(value) == wanted) != isNegated }
            return (value.lowercased() == text.lowercased()) != isNegated
        }
        let spellings = [value] + (MediaRole(value)?.spellings ?? [])
        return isNegated ? spellings.allSatisfy(fits) : spellings.contains(where: fits)
    }

    /// Whether no value can fit both, as far as that can be told.
    func excludes(_ other: ValuePattern, on property: String) -> Bool {
        let isRole = property == "media.role"
        return switch (form, other.form) {
        case (.exact(let a), _) where !isNegated: !(isRole ? other.fitsRole(a) : other.fits(a))
        case (_, .exact(let b)) where !other.isNegated: !(isRole ? fitsRole(b) : fits(b))
        case (.absent, .absent): isNegated != other.isNegated
        case (.absent, .expression) where !isNegated: !other.isNegated
        case (.expression, .absent) where !other.isNegated: !isNegated
        case (.expression(let a), .expression(let b)): a.text == b.text && isNegated != other.isNegated
        default: false
        }
    }

    func condition(on property: String) -> Rule.Condition {
        let isRole = property == "media.role"
        return Rule.Condition(property: property, pattern: text) { value in
            isRole ? self.fitsRole(value) : self.fits(value)
        }
    }
}

struct PatternError: Error {
    var message: String
}

/// A POSIX extended regular expression.
///
/// `@unchecked Sendable`: the compiled form is written once, in `init`, and glibc's `regexec` locks what it keeps in it.
final class Expression: @unchecked Sendable {
    let text: String
    private var compiled = regex_t()

    init(_ text: String) throws(PatternError) {
        self.text = text
        let status = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB)
        guard status == 0 else {
            var message = [CChar](repeating: 0, count: 200)
            regerror(status, &compiled, &message, message.count)
            let reason = message.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            throw PatternError(message: "\(Escaping.shown(text)) is not a regular expression: \(reason)")
        }
    }

    deinit { regfree(&compiled) }

    func matches(_ value: String) -> Bool { regexec(&compiled, value, 0, nil, 0) == 0 }

    /// An expression that matches exactly this text.
    static func quoting(_ text: String) -> String {
        var quoted = "^"
        for character in text {
            if ".[]{}()\\*+?|^$".contains(character) { quoted += "\\" }
            quoted.append(character)
        }
        return quoted + "$"
    }
}
