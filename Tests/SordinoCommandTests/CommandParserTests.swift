import AudioSession
import Testing

@testable import SordinoCommand

private let kinds = AudioSessionClientKind.allCases.map(\.rawValue)

@Suite struct CommandParserTests {
    private func invocation(_ line: String) throws -> Invocation {
        guard case .invocation(let invocation) = try CommandParser.parse(line.split(separator: " ").map(String.init))
        else { throw UsageError(message: "no invocation") }
        return invocation
    }

    private func refusal(_ arguments: [String]) -> String? {
        do throws(UsageError) {
            _ = try CommandParser.parse(arguments)
            return nil
        } catch {
            return error.message
        }
    }

    @Test(arguments: CommandName.allCases)
    func `Every command has one row, a summary, and is understood with --help`(name: CommandName) throws {
        #expect(CommandTable.commands.filter { $0.name == name }.count == 1)
        #expect(!CommandTable.spec(name).summary.isEmpty)
        let parsed = try invocation(name.rawValue + " --help")
        #expect(parsed.command == name && parsed.wantsHelp)
    }

    /// A value that each kind accepts.
    private func value(_ kind: ValueKind) -> [String] {
        switch kind {
        case .word: ["x", "-x=y", "a b"]
        case .choice(let words): words
        case .file: ["/a/b", "-"]
        case .seconds: ["1", "0.5", "3600"]
        }
    }

    private func arguments(_ spec: CommandSpec) -> [String] {
        let word =
            switch spec.argument?.count {
            case .one, .oneOrMore: spec.argument.map { value($0.kind)[0] }
            case .optional, .any, nil: nil as String?
            }
        return [word].compactMap(\.self) + (spec.program == nil ? [] : ["--", "true"])
    }

    @Test(arguments: CommandName.allCases)
    func `Every option is understood with a space and with an equals sign, with every value it may have`(
        name: CommandName
    )
        throws
    {
        let spec = CommandTable.spec(name)
        for option in spec.options {
            guard let (_, kind) = option.value else {
                let line = try CommandParser.parse(name.words + ["--\(option.name)"] + arguments(spec))
                guard case .invocation(let parsed) = line else { throw UsageError(message: "\(name)") }
                #expect(parsed.has(option.name))
                #expect(refusal(name.words + ["--\(option.name)=1"]) == "--\(option.name) takes no value")
                continue
            }
            for text in value(kind) {
                for words in [["--\(option.name)", text], ["--\(option.name)=\(text)"]] {
                    let line = try CommandParser.parse(name.words + words + arguments(spec))
                    guard case .invocation(let parsed) = line else { throw UsageError(message: "\(name)") }
                    #expect(parsed.value(option.name) == text)
                }
            }
            #expect(refusal(name.words + ["--\(option.name)"])?.contains("needs a value") == true)
            let twice = name.words + ["--\(option.name)", value(kind)[0], "--\(option.name)", value(kind)[0]]
            #expect((refusal(twice + arguments(spec)) == nil) == option.repeats)
        }
    }

    @Test(arguments: CommandName.allCases)
    func `A near miss of a command or an option is told the right word`(name: CommandName) {
        let last = name.words.last ?? ""
        // Short words have neighbours that are as near.
        if last.count > 3 {
            let miss = name.words.dropLast() + [String(last.dropLast(2) + String(last.suffix(2).reversed()))]
            if miss != name.words[...] {
                #expect(refusal(Array(miss))?.contains("did you mean “\(last)”?") == true, "\(miss)")
            }
        }
        for option in CommandTable.spec(name).options {
            let miss = "--" + option.name.dropFirst()
            #expect(
                refusal(name.words + [miss])?.contains("did you mean “--\(option.name)”?") == true, "\(name) \(miss)")
        }
    }

    @Test(arguments: [
        (["staus"], "unknown command “staus”; did you mean “status”?"),
        (["STATUS"], "unknown command “STATUS”; did you mean “status”?"),
        (["xyzzy"], "unknown command “xyzzy”; see “sordino help”"),
        ([""], "unknown command “”; see “sordino help”"),
        (["--vers"], "unknown option “--vers”; did you mean “--version”?"),
        (["config"], "“config” needs one of check, show or reload"),
        (["config", "chekc"], "unknown config command “chekc”; did you mean “check”?"),
        (["status", "-j"], "unknown option of “status” “-j”; see “sordino help status”"),
        (["status", "now"], "“status” takes no arguments, and was given “now”"),
        (
            ["run", "--server", "pulse"],
            "--server takes auto, pipewire or pulseaudio, not “pulse”; did you mean “pulseaudio”?"
        ),
        (["headless", "--server=auto", "--", "true"], "--server takes pipewire or pulseaudio, not “auto”"),
        (["headless", "true"], "“headless” takes its command after --, not “true”"),
        (["headless"], "“headless” needs -- COMMAND…: the program and its arguments"),
        (["explain"], "“explain” needs STREAM: a stream's number, or a part of its program's name"),
        (["explain", "1", "2"], "“explain” takes one STREAM, and was also given “2”"),
        (["explain", ""], "“explain” was given an empty STREAM"),
        (["hold", "musik"], "“hold” takes \(listed(kinds)), not “musik”"),
        (["hold", "calls"], "“hold” takes \(listed(kinds)), not “calls”; did you mean “call”?"),
        (["hold", "call", "mpv"], "“hold” takes its command after --, not “mpv”"),
        (["hold"], "“hold” needs KIND: one of \(listed(kinds))"),
        (["run", "--config="], "--config needs a value that is not empty"),
        (["off", "--for", "0"], "--for takes a number of seconds greater than 0, not “0”"),
        (["off", "--for", "nan"], "--for takes a number of seconds greater than 0, not “nan”"),
        (["off", "--for", "1e300"], "--for takes a number of seconds greater than 0, not “1e300”"),
        (
            ["off", "--for", "soon\n\u{1B}[0m"],
            "--for takes a number of seconds greater than 0, not “soon\\n\\u{1B}[0m”"
        ),
    ])
    func `What is wrong is said in one line`(line: [String], message: String) {
        #expect(refusal(line) == message)
    }

    @Test func `A command's own words are taken as they are after two dashes`() throws {
        let line = ["headless", "--sink", "a", "--sink=b", "--", "mpv", "--json", "--", "-x", ""]
        guard case .invocation(let parsed) = try CommandParser.parse(line) else { throw UsageError(message: "none") }
        #expect(parsed.values["sink"] == ["a", "b"])
        #expect(parsed.program == ["mpv", "--json", "--", "-x", ""])
        #expect(parsed.arguments.isEmpty)
        let held = try invocation("hold --for 3 call --verbose -- mpv --for")
        #expect(held.arguments == ["call"] && held.program == ["mpv", "--for"] && held.has("verbose"))
        #expect(try invocation("hold call").program.isEmpty)
        guard case .invocation(let explain) = try CommandParser.parse(["explain", "--", "--json"]) else {
            throw UsageError(message: "none")
        }
        #expect(explain.arguments == ["--json"])
    }

    @Test func `Options stand before or after arguments`() throws {
        #expect(try invocation("classify a --json b") == invocation("classify --json a b"))
    }

    @Test func `No command and --help show the whole, a family's --help the family`() throws {
        #expect(try CommandParser.parse([]) == .overview(family: nil))
        #expect(try CommandParser.parse(["-h"]) == .overview(family: nil))
        #expect(try CommandParser.parse(["config", "--help"]) == .overview(family: "config"))
        #expect(try CommandParser.parse(["--version"]) == .version)
    }

    @Test func `A huge word costs no time and fills no screen`() {
        let message = refusal([String(repeating: "s", count: 1_000_000)]) ?? ""
        #expect(message.count < 200)
    }

    @Test(arguments: [
        ("pulse", "pulseaudio"), ("pulsadio", "pulseaudio"), ("piepwire", "pipewire"), ("auot", "auto"),
    ])
    func `The nearest word is the one with the fewest slips`(word: String, nearest: String) {
        #expect(nearestWord(to: word, among: ["auto", "pipewire", "pulseaudio"]) == nearest)
    }
}
