/// The drop-in that `sordino ignore APP` writes: a rule that leaves one program alone.
public struct IgnoreRule: Equatable, Sendable {
    /// To be put into `sordino.conf.d` of the user's configuration directory.
    public var fileName: String
    public var content: String

    /// `application`: its name, its executable's file name, or its application id, as `sordino status` shows it.
    public init(for application: String) {
        fileName = "ignore-\(Self.fileStem(application)).conf"
        let pattern = Escaping.quoted(Self.exactly(application))
        let properties = [
            "application.name", "application.process.binary", "application.id", "pipewire.access.portal.app_id",
            "node.name",
        ]
        let matches = properties.map { "        { \($0) = \(pattern) }" }.joined(separator: "\n")
        content = """
            # Written by `sordino ignore`. Delete this file to have the program looked after again.
            rules = [
                { matches = [
            \(matches)
                  ]
                  actions = { ignore = true } }
            ]

            """
    }

    /// A pattern for exactly this text, also where it begins like an expression.
    private static func exactly(_ text: String) -> String {
        guard text.hasPrefix("~") || text.hasPrefix("!") else { return text }
        return "~" + Expression.quoting(text)
    }

    /// Letters, digits, `.`, `_`, `-` stay; what else there is is told apart by a checksum.
    private static func fileStem(_ text: String) -> String {
        let kept = text.utf8.prefix(60).map { byte -> Character in
            let character = Character(Unicode.Scalar(byte))
            let stays = character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
            return stays ? character : "-"
        }
        let stem = String(kept)
        guard stem != text || stem.hasPrefix(".") else { return stem }
        var hash: UInt32 = 2_166_136_261
        for byte in text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return "\(stem)-\(String(hash, radix: 16))"
    }
}
