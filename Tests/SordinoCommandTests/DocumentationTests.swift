import AudioPolicyConfiguration
import Foundation
import Testing

@testable import SessionBus
@testable import SordinoCommand

/// What the pages show must be true of the program as it is.
@Suite struct DocumentationTests {
    @Test(arguments: Documentation.commands(named: "sordino"))
    func `A command line of the documentation is one that the program takes`(place: String, words: [String]) {
        #expect(throws: Never.self, "\(place): \(words)") { try CommandParser.parse(Array(words.dropFirst())) }
    }

    @Test func `Command lines are found where they hide`() {
        let line = "A=1 sordino off > log 2>&1; sordino headless -- sh -c 'exec x & sordino on' # sordino nothing"
        let found = ShellWords.commands(in: line).filter { $0.first == "sordino" }
        #expect(found.map { $0[1] } == ["off", "headless", "on"])
        #expect(Documentation.commands(named: "sordino").count >= 6)
    }

    /// `sordino off [--for SECONDS]` in running text and tables.
    @Test(arguments: Documentation.pages)
    func `A command that a page speaks of exists, and so do its options`(page: Documentation.Page) {
        for match in page.text.matches(of: /`sordino ([^`\n]+)`/) {
            let words = match.1.split { " []|,".contains($0) }.map(String.init)
            let name = CommandName.allCases.first { Array(words.prefix($0.words.count)) == $0.words }
            #expect(name != nil || words[0] == "COMMAND" || words[0] == "config", "\(page): \(match.0)")
            guard let name else { continue }
            let options = ["--help"] + CommandTable.spec(name).options.map { "--\($0.name)" }
            for word in words where word.hasPrefix("--") && word.count > 2 {
                #expect(options.contains(word), "\(page): \(match.0)")
            }
        }
    }

    @Test(arguments: Documentation.blocks.filter { $0.language == "conf" })
    func `A configuration of the documentation is right`(block: Documentation.Block) {
        let read = PolicyConfiguration.read(block.text, file: block.description)
        #expect(read.problems.isEmpty)
    }

    /// Nothing escapes the tests above by being called nothing.
    @Test(arguments: Documentation.blocks)
    func `A block says what it is`(block: Documentation.Block) {
        let languages = ["conf", "console", "json", "python", "sh", "swift", "text"]
        #expect(languages.contains(block.language), "\(block)")
    }

    @Test func `The table of effects in the page of kinds is the one in force`() throws {
        #expect(try #require(Documentation.text(of: "docs/kinds.md")).contains(ConfigurationPage.effectTable))
    }

    @Test(arguments: ["docs/kinds.md", "docs/configuration.md", "docs/man/sordino.conf.5"])
    func `A page that lists the kinds lists all of them`(path: String) throws {
        let page = try #require(Documentation.text(of: path))
        for kind in ConfigurationReference.kinds { #expect(page.contains(kind), "\(kind)") }
    }

    @Test func `A file that a page links to is there`() {
        for page in Documentation.pages {
            let folder = Documentation.root.appending(path: page.path).deletingLastPathComponent()
            for match in page.text.matches(of: /\]\(([^)#]+)[^)]*\)/) where !match.1.contains("://") {
                let file = folder.appending(path: String(match.1))
                #expect(FileManager.default.fileExists(atPath: file.path), "\(page): \(match.1)")
            }
        }
    }

    // MARK: The bus

    /// Methods with the types that they take; `nil` for properties and signals.
    private static let members: [String: String?] = {
        var members: [String: String?] = [:]
        for row in ClaimMethods.rows + SessionObject.rows + ClaimObject.rows {
            switch row {
            case .method(let name, let takes, _, _, _): members["\(name)"] = .some("\(takes)")
            case .property(let name, _, _), .signal(let name, _, _): members["\(name)"] = .some(nil)
            }
        }
        return members
    }()

    @Test(arguments: Documentation.commands(named: "busctl", variables: ["sordino": ["NAME", "PATH", "INTERFACE"]]))
    func `A bus call of the documentation is one that the service answers`(place: String, words: [String]) throws {
        guard let start = words.firstIndex(of: "INTERFACE") else {
            // `introspect` and `monitor`, which name the object in full.
            #expect(words.joined(separator: " ").contains(BusContract.interface))
            return
        }
        let member = words[start + 1]
        let takes = try #require(Self.members[member], "\(place): \(member)")
        #expect((words.contains("call") ? takes ?? "no method" : "") == (words.dropFirst(start + 2).first ?? ""))
    }

    @Test func `The page of the bus speaks of all that the service has, and shows the example as it is`() throws {
        let page = try #require(Documentation.text(of: "docs/dbus.md"))
        #expect(page.contains("```python\n\(try #require(Documentation.text(of: "docs/examples/hold.py")))```"))
        for member in Self.members.keys { #expect(page.contains(member), "\(member)") }
    }
}
