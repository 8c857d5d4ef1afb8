import Foundation
import Testing

@testable import SordinoCommand

/// What is made from the table and kept in the project, for those who package it.
@Suite struct GeneratedFileTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test(arguments: [
        ("docs/man/sordino.1", ManPage.text(version: Sordino.version), "sordino help --man"),
        ("docs/man/sordino.conf.5", ConfigurationPage.man(version: Sordino.version), "sordino help --reference man"),
        ("docs/configuration.md", ConfigurationPage.markdown(), "sordino help --reference markdown"),
        ("completions/sordino.bash", Completions.bash(), "sordino help --completions bash"),
        ("completions/_sordino", Completions.zsh(), "sordino help --completions zsh"),
    ])
    func `A generated file is current`(path: String, text: String, command: String) throws {
        let kept = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        #expect(kept == text, "made again by: \(command) > \(path)")
    }

    @Test(arguments: CommandName.allCases)
    func `Help, manual page and completions know every command and option`(name: CommandName) {
        let spec = CommandTable.spec(name)
        #expect(HelpText.overview().contains("  \(name.rawValue) "))
        let help = HelpText.command(spec)
        let man = ManPage.text(version: "1")
        #expect(man.contains("\n.SS \(name.rawValue)\n"))
        for option in spec.options {
            #expect(help.contains("--\(option.name)"))
            #expect(man.contains(".B \\-\\-\(option.name.replacing("-", with: "\\-"))"))
            #expect(Completions.bash().contains("--\(option.name)"))
            #expect(Completions.zsh().contains("--\(option.name)"))
        }
        let lines = (help + HelpText.overview()).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 100 })
    }

    @Test(arguments: ["docs/man/sordino.1", "docs/man/sordino.conf.5"])
    func `A manual page has no request that troff does not know`(path: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/groff")
        process.arguments = ["-man", "-Tutf8", "-ww", "-z", Self.root.appending(path: path).path]
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let complaints = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(String(decoding: complaints, as: UTF8.self) == "")
    }

    /// What bash offers for a line whose last word is being typed.
    private func bashOffers(_ words: [String]) throws -> Set<String> {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        process.arguments = [
            "--norc", "-c",
            """
            source '\(Self.root.appending(path: "completions/sordino.bash").path)'
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); _sordino; printf '%s\\n' "${COMPREPLY[@]}"
            """,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Set(output.split(separator: "\n").map(String.init))
    }

    @Test func `bash completes commands, options and values`() throws {
        #expect(try bashOffers(["sordino", "st"]) == ["status"])
        #expect(try bashOffers(["sordino", ""]).isSuperset(of: ["run", "config", "demo", "--help"]))
        #expect(try bashOffers(["sordino", "run", "--"]) == ["--server", "--config", "--replace", "--help"])
        #expect(try bashOffers(["sordino", "run", "--server", "p"]) == ["pipewire", "pulseaudio"])
        #expect(try bashOffers(["sordino", "config", ""]) == ["check", "show", "reload"])
        #expect(try bashOffers(["sordino", "config", "show", "--"]) == ["--help"])
        #expect(try bashOffers(["sordino", "run", "--config", "/etc/host"]).contains("/etc/hosts"))
    }
}
