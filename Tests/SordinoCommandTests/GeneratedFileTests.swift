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
        #expect(try output(of: "/usr/bin/groff", "-man", "-Tutf8", "-ww", "-z", self.path(path)) == "")
    }

    /// What a program prints.
    private func output(of program: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return output
    }

    private func path(_ name: String) -> String { Self.root.appending(path: name).path }

    /// What bash offers for a line whose last word is being typed.
    private func bashOffers(_ words: [String]) throws -> Set<String> {
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source '\(path("completions/sordino.bash"))'
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); _sordino; printf '%s\\n' "${COMPREPLY[@]}"
            """
        return Set(try output(of: "/bin/bash", "--norc", "-c", script).split(separator: "\n").map(String.init))
    }

    @Test func `bash completes commands, options and values`() throws {
        #expect(try bashOffers(["sordino", "st"]) == ["status"])
        #expect(try bashOffers(["sordino", ""]).isSuperset(of: ["run", "config", "demo", "--help"]))
        #expect(try bashOffers(["sordino", "run", "--"]) == ["--server", "--config", "--replace", "--help"])
        #expect(try bashOffers(["sordino", "run", "--server", "p"]) == ["pipewire", "pulseaudio"])
        #expect(try bashOffers(["sordino", "run", "--server", "=", "pi"]) == ["pipewire"])
        #expect(try bashOffers(["sordino", "run", "--server", "="]) == ["auto", "pipewire", "pulseaudio"])
        #expect(try bashOffers(["sordino", "config", ""]) == ["check", "show", "reload"])
        #expect(try bashOffers(["sordino", "config", "show", "--"]) == ["--help"])
        #expect(try bashOffers(["sordino", "run", "--config", "/etc/host"]).contains("/etc/hosts"))
        #expect(try bashOffers(["sordino", "classify", "/etc/host"]).contains("/etc/hosts"))
        #expect(try bashOffers(["sordino", "hold", "g"]) == ["game", "groupCall"])
        #expect(try bashOffers(["sordino", "hold", "call", "--output", ""]) == ["system", "speaker", "receiver"])
        #expect(
            try bashOffers(["sordino", "headless", "--s"]).isSuperset(of: ["--server", "--sink", "--source"]))
    }

    @Test func `bash completes the command that is run after two dashes`() throws {
        #expect(try bashOffers(["sordino", "headless", "--sink", "a", "--", "bas"]).contains("bash"))
        #expect(try bashOffers(["sordino", "hold", "call", "--", "cat", "/etc/host"]).contains("/etc/hosts"))
        #expect(try bashOffers(["sordino", "run", "--", "bas"]).isEmpty)
    }

    /// What the completion hands to zsh's own for a line whose last word is being typed. The functions that zsh defines
    /// for a terminal alone are stood in for.
    private func zshSpecs(_ words: [String]) throws -> String {
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            _arguments() { if [[ $1 == -C ]]; then state=rest; else print -r -- "$@"; print -r -- ${(t)commands}; fi }
            _values() { print -r -- "$@" }
            words=(\(quoted)); CURRENT=\(words.count)
            source '\(path("completions/_sordino"))'
            """
        return try output(of: "/bin/zsh", "-f", "-c", script)
    }

    @Test func `zsh reads the completion without complaint`() throws {
        #expect(try output(of: "/bin/zsh", "-f", "-n", path("completions/_sordino")) == "")
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func `zsh is handed every option of a command, and what its argument can be`(name: CommandName) throws {
        let spec = CommandTable.spec(name)
        let specs = try zshSpecs(name.words + [""])
        for option in spec.options {
            #expect(specs.contains("--\(option.name)"), "\(specs)")
            if case .choice(let words) = option.value?.kind {
                #expect(specs.contains("(\(words.joined(separator: " ")))"))
            }
        }
        if case .choice(let words) = spec.argument?.kind {
            #expect(specs.contains("(\(words.joined(separator: " ")))"))
        }
        if spec.argument?.kind == .file { #expect(specs.contains(":_files")) }
        if spec.program != nil {
            #expect(specs.contains("-S ") && specs.contains("_normal"))
            // The shell finds programs by this table of its own.
            #expect(specs.contains("association"), "\(specs)")
        }
    }
}
