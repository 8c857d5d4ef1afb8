import Foundation
import Testing

/// The code in the articles is the code that is compiled and tested.
@Suite struct ArticleTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Of a text, its lines without what they are indented by.
    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func swiftFiles(in folder: String) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.allObjects as? [String]
        return try (names ?? []).filter { $0.hasSuffix(".swift") }.map { try text("\(folder)/\($0)") }
    }

    @Test(arguments: ["PlayingVoiceMessages", "RecordingVoiceMessages"])
    func `Each piece of code in an article stands in the example or its tests`(article: String) throws {
        let sources =
            try Self.swiftFiles(in: "docs/examples/player/Sources") + Self.swiftFiles(in: "Tests/ExampleTests")
        let parts = try Self.text("Sources/AudioSession/AudioSession.docc/\(article).md").components(separatedBy: "```")
        let pieces = parts.filter { $0.hasPrefix("swift\n") }.map { $0.dropFirst("swift\n".count) }
        #expect(pieces.count >= 4)
        for piece in pieces {
            let wanted = Self.lines(piece.trimmingCharacters(in: .newlines))
            let isThere = sources.contains { source in
                let lines = Self.lines(source)
                return lines.indices.contains { lines[$0...].starts(with: wanted) }
            }
            #expect(isThere, "\(piece)")
        }
    }
}
