import Foundation

/// The pages of the project, as far as they can be checked.
enum Documentation {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct Page: Sendable, CustomStringConvertible {
        let path: String
        let text: String

        var description: String { path }
    }

    /// What stands between two lines of three backticks.
    struct Block: Sendable, CustomStringConvertible {
        let page: String
        /// Of its first line, from 1.
        let line: Int
        /// The word behind the backticks.
        let language: String
        let text: String

        var description: String { "\(page):\(line)" }

        /// Command lines to be typed: all lines of `sh`, those behind a `$` of `console`.
        var commandLines: [String] {
            let lines = text.split(separator: "\n").map(String.init)
            switch language {
            case "sh": return lines
            case "console": return lines.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
            default: return []
            }
        }
    }

    static let pages: [Page] = {
        let docs = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs").path)) ?? []
        let paths = ["README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
        return paths.map { Page(path: $0, text: text(of: $0) ?? "") }
    }()

    static func text(of path: String) -> String? {
        try? String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static let blocks: [Block] = pages.flatMap { page in
        var blocks: [Block] = []
        var open: (line: Int, language: String, lines: [Substring])?
        for (index, line) in page.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let (start, language, lines) = open {
                    let text = lines.joined(separator: "\n")
                    blocks.append(Block(page: page.path, line: start, language: language, text: text))
                    open = nil
                } else {
                    open = (index + 2, String(line.dropFirst(3)), [])
                }
            } else {
                open?.lines.append(line)
            }
        }
        return blocks
    }

    /// The commands on the command lines of all blocks, each with where it stands; `variables` are put in for `$name`.
    static func commands(
        named name: String, variables: [String: [String]] = [:]
    ) -> [(place: String, words: [String])] {
        blocks.flatMap { block in
            block.commandLines.flatMap { ShellWords.commands(in: $0, variables) }
                .filter { $0.first.map { $0 == name || $0.hasSuffix("/\(name)") } ?? false }
                .map { (block.description, $0) }
        }
    }
}

/// As much of a shell's grammar as examples need.
enum ShellWords {
    /// The simple commands of a line, without assignments before them and redirections, and those that they run.
    static func commands(in line: String, _ variables: [String: [String]] = [:]) -> [[String]] {
        var commands: [[String]] = [[]]
        var word: String?
        var quote: Character?
        var isRedirected = false
        func end() {
            defer { word = nil }
            guard let ended = word else { return }
            if isRedirected {
                isRedirected = false
            } else if commands[commands.count - 1].isEmpty, ended.contains("="), !ended.hasPrefix("-") {
                return
            } else if let words = ended.hasPrefix("$") ? variables[String(ended.dropFirst())] : nil {
                commands[commands.count - 1] += words
            } else {
                commands[commands.count - 1].append(ended)
            }
        }
        for character in line {
            switch character {
            case _ where quote == character: quote = nil
            case "'" where quote == nil, "\"" where quote == nil:
                quote = character
                word = word ?? ""
            case _ where quote != nil: word = (word ?? "") + String(character)
            case " ", "\t": end()
            case "|", ";", "&":
                end()
                commands.append([])
            case ">", "<":
                // A descriptor's number belongs to the redirection.
                if word.map({ $0.allSatisfy(\.isNumber) }) ?? false { word = nil }
                end()
                isRedirected = true
            case "#" where word == nil: return commands.flatMap { [$0] + inner($0, variables) }
            default: word = (word ?? "") + String(character)
            }
        }
        end()
        return commands.filter { !$0.isEmpty }.flatMap { [$0] + inner($0, variables) }
    }

    /// What a command runs after `--`, or hands to a shell.
    private static func inner(_ words: [String], _ variables: [String: [String]]) -> [[String]] {
        if let split = words.firstIndex(of: "--") {
            let program = Array(words[(split + 1)...])
            return [program] + inner(program, variables)
        }
        guard words.count > 2, words[0] == "sh" || words[0] == "bash", words[1] == "-c" else { return [] }
        return commands(in: words[2], variables)
    }
}
