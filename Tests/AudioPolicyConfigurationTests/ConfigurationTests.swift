import AudioPolicy
import AudioSession
import Foundation
import Testing

@testable import AudioPolicyConfiguration

@Suite struct ConfigurationTests {
    private func settings(_ text: String) throws -> PolicySettings {
        let result = PolicyConfiguration.read(text, file: "test.conf")
        try #require(result.problems == [])
        return result.settings
    }

    private func problem(_ text: String) throws -> ConfigurationProblem {
        let problems = PolicyConfiguration.read(text, file: "test.conf").problems
        try #require(problems.count == 1, "\(problems)")
        return try #require(problems.first)
    }

    @Test func `the built-in configuration is that of config, and the design's defaults`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config")
        let defaults = try String(contentsOf: folder.appending(path: "sordino.conf"), encoding: .utf8)
        let table = try String(contentsOf: folder.appending(path: "applications.conf"), encoding: .utf8)
        #expect(EmbeddedConfiguration.defaults == defaults, "run scripts/embed-configuration")
        #expect(EmbeddedConfiguration.applications == table, "run scripts/embed-configuration")
        let built = PolicyConfiguration.load(directories: [])
        #expect(built.problems == [])
        #expect(!built.settings.applications.isEmpty)
        var plain = built.settings
        plain.applications = []
        #expect(PolicyConfiguration.print(plain) == PolicyConfiguration.print(PolicySettings()))
    }

    @Test func `what is printed reads back as the same`() throws {
        let text = """
            session = { server = pipewire  scope = everywhere  resume = false  resume.delay-ms = 250 }
            levels = { minimum = -3.5 }
            effects = { call = { game = mute  playback = none  mediaPlayback = -30 } }
            timing = { hold-ms = 0  silence-s = { voice = 12.5 } }
            observed = { enabled = false  recording.effects = true  recording.refuse = mute }
            bluetooth = { headset-hold-ms = 5 }
            pulseaudio = { take-over-role-modules = false  restore-entries = leave }
            rules = [ { name = "a \\"b\\"\\n" matches = [ { application.name = "~^x\\\\." media.role = null } { event.id = "!y" } ]
              actions = { kind = game ignore = true exempt-from = [ call alarm ] effects = { call = pause } level = medium
                          claims = none plumbing = true } } ]
            """
        let first = PolicyConfiguration.print(try settings(text))
        var again = PolicyConfiguration.read("applications = [ ]\n" + first, file: "again.conf")
        // The table stands twice: the built-in one and the printed one.
        again.settings.applications.removeLast(again.settings.applications.count / 2)
        #expect(again.problems == [])
        #expect(PolicyConfiguration.print(again.settings) == first)
    }

    @Test func `keys may be nested or dotted`() throws {
        let nested = try settings("timing = { silence-s = { voice = 7 } }\nsession = { resume = { delay-ms = 3 } }")
        let dotted = try settings("timing.silence-s.voice = 7\nsession.resume.delay-ms = 3")
        for settings in [nested, dotted] {
            #expect(settings.timing.silence[.voice] == .seconds(7))
            #expect(settings.timing.silence[.speech] == .seconds(1))
            #expect(settings.resumeDelay == .milliseconds(3))
        }
        #expect(try settings("{ \"session\": { \"server\": \"pulseaudio\" } }").server == .pulseaudio)
        #expect(try settings("").server == .auto)
        #expect(try settings("# nothing\n").server == .auto)
    }

    @Test func `effects are levels by name, decibels, pause, mute or none`() throws {
        let text =
            "levels = { medium = -25 }\neffects = { call = { game = medium  mediaPlayback = -3  playback = mute } }"
        let table = try settings(text).effects
        #expect(table.effect(of: .call, on: .game) == .duck(Decibels(-25)))
        #expect(table.effect(of: .call, on: .mediaPlayback) == .duck(Decibels(-3)))
        #expect(table.effect(of: .call, on: .playback) == .mute)
        #expect(table.effect(of: .speech, on: .game) == .duck(Decibels(-6)))
        #expect(try settings("effects.call.playback = none").effects.effect(of: .call, on: .playback) == .none)
    }

    @Test(
        arguments: [
            ("session = {\n serber = auto }", 2, "session.server"), ("sesion = { server = auto }", 1, "session"),
            ("timing = { attack = 1 }", 1, "timing.attack-ms"),
            ("timing.silence-s.voices = 3", 1, "timing.silence-s.voice"),
            ("levels = { maximun = -3 }", 1, "levels.maximum"), ("effects = { cal = { game = none } }", 1, "call"),
            ("effects = { call = {\n gmae = none } }", 2, "game"), ("rulez = [ ]", 1, "rules"),
            ("observed = { recording = { efects = true } }", 1, "observed.recording.effects"),
            (
                "rules = [ { matchs = [ { media.role = x } ] matches = [ { media.role = x } ] actions = { ignore = true } } ]",
                1, "matches"
            ),
            ("rules = [ { matches = [ { media.rol = x } ] actions = { ignore = true } } ]", 1, "media.role"),
            (
                "rules = [ { matches = [ { aplication.process.binary = x } ]\n actions = { ignore = true } } ]", 1,
                "application.process.binary"
            ),
            (
                "rules = [ { matches = [ { media.role = x } ]\n actions = { ignor = true ignore = true } } ]", 2,
                "ignore"
            ),
            ("rules = [ { matches = [ { media.role = x } ]\n actions = { kind = groupcall } } ]", 2, "groupCall"),
            ("rules = [ { matches = [ { media.role = x } ]\n actions = { exempt-from = [ cal ] } } ]", 2, "call"),
        ] as [(String, Int, String)])
    func `a name that does not exist is named with its line and the nearest right one`(
        text: String, line: Int, nearest: String
    ) throws {
        let problem = try problem(text)
        #expect(problem.line == line)
        #expect(problem.file == "test.conf")
        #expect(!problem.isWarning)
        #expect(
            problem.message.hasSuffix("did you mean \(nearest)?") || problem.message.contains("mean \(nearest)?"),
            "\(problem)")
    }

    @Test(arguments: [
        "session = { server = pulse }", "session = 3", "session = [ ]", "levels = { minimum = 1 }",
        "levels = { minimum = -101 }",
        "levels = { minimum = loud }", "levels = { minimum = nan }", "timing = { attack-ms = -1 }",
        "timing = { attack-ms = 1e9 }",
        "timing = { silence-s = 30 }", "timing = { silence-s = { voice = 0 } }", "effects = { call = pause }",
        "effects = { call = { game = quieter } }", "effects = { call = { game = { } } }", "effects = 3",
        "observed = { enabled = yes }", "rules = { }", "rules = [ 3 ]",
        "rules = [ { matches = [ ] actions = { ignore = true } } ]",
        "rules = [ { matches = [ { } ] actions = { ignore = true } } ]",
        "rules = [ { matches = [ { media.role = x } ] } ]",
        "rules = [ { matches = 3 actions = { ignore = true } } ]",
        "rules = [ { matches = [ { media.role = x } ] actions = { } } ]",
        "rules = [ { matches = [ { media.role = x } ] actions = { ignore = maybe } } ]",
        "rules = [ { matches = [ { media.role = x } ] actions = { level = 3 } } ]",
        "rules = [ { matches = [ { media.role = x } ] actions = { claims = all } } ]",
        "rules = [ { matches = [ { media.role = x } ] actions = { effects = [ ] } } ]",
        "rules = [ { matches = [ { media.role = [ ] } ] actions = { ignore = true } } ]",
        "rules = [ { matches = [ { media.name = \"~(\" } ] actions = { ignore = true } } ]",
        "rules = [ { matches = [ { media.name = \"~[z-a]\" } ] actions = { ignore = true } } ]",
    ])
    func `a wrong type, a value out of range and a pattern that does not compile are errors`(text: String) throws {
        let problem = try problem(text)
        #expect(!problem.isWarning)
        #expect(problem.line == 1)
    }

    @Test(
        arguments: [
            ("session = {\n server = auto\n", 1), ("session = { server = auto ]\n", 1), ("a = \"unfinished\n", 1),
            ("session = { server = auto } }", 1), ("rules = [\n\n { matches = [ ] }", 1), ("session", 1),
            ("[ 1 2 ]", 1),
            ("session = { server = \"a\u{1}\" }", 1), ("{ } 3", 1),
            ("levels = " + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000), 1),
        ] as [(String, Int)])
    func `text that is no SPA-JSON is an error with a line, never a crash`(text: String, line: Int) {
        let problems = PolicyConfiguration.read(text, file: "test.conf").problems
        #expect(problems.contains { !$0.isWarning && $0.line == line }, "\(problems)")
    }

    @Test(arguments: [
        "effects = { mediaPlayback = { mediaPlayback = default } }", "effects.call.call = mute",
        "rules = [ { matches = [ { media.role = x } ] actions = { kind = game effects = { game = pause } } } ]",
    ])
    func `CFG-05: a kind that would act on itself is an error that names it`(text: String) throws {
        let problem = try problem(text)
        #expect(problem.message.contains("would act on itself"))
        #expect(["mediaPlayback", "call", "game"].contains { problem.message.hasPrefix($0) })
    }

    @Test func `CFG-05: that a kind does nothing to itself may be written down`() throws {
        #expect(try settings("effects.game.game = none").effects.effect(of: .game, on: .game) == .none)
    }

    @Test(arguments: [
        "{ application.name = a  application.name = b }", "{ application.name = a  application.name = \"!a\" }",
        "{ application.name = abc  application.name = \"~^x\" }",
        "{ application.name = \"~^x\"  application.name = abc }",
        "{ media.role = music  media.role = phone }", "{ event.id = null  event.id = a }",
        "{ event.id = null  event.id = \"~.\" }",
        "{ media.name = \"~x\" media.name = \"!~x\" }",
    ])
    func `conditions on one property that exclude each other are an error`(match: String) throws {
        let problem = try problem("rules = [ { matches = [ \(match) ] actions = { kind = game } } ]")
        #expect(problem.message.contains("cannot be both"))
    }

    @Test(arguments: [
        "{ application.name = \"~^a\"  application.name = \"~b$\" }",
        "{ application.name = abc  application.name = \"~^a\" }",
        "{ media.role = music  media.role = Music }", "{ media.role = Notification media.role = event }",
        "{ application.name = \"!a\" application.name = \"!b\" }",
    ])
    func `conditions on one property that go together are not`(match: String) throws {
        _ = try settings("rules = [ { matches = [ \(match) ] actions = { kind = game } } ]")
    }

    @Test(arguments: [
        "{ application.name = Chromium }", "{ application.process.binary = electron }",
        "{ application.name = \"~.*\" }",
        "{ application.name = \"WEBRTC VoiceEngine\" }",
        "{ application.name = Chromium application.process.binary = electron }",
        "{ application.name = \"SDL Application\" }",
    ])
    func `CLS-02: a rule that fits every program of a toolkit is a warning`(match: String) throws {
        let problem = try problem("rules = [ { matches = [ \(match) ] actions = { kind = game } } ]")
        #expect(problem.isWarning)
        #expect(problem.message.hasPrefix("this fits every program"))
    }

    @Test(arguments: [
        "{ application.name = Chromium  media.role = music }",
        "{ application.name = Chromium  media.name = \"~Song\" }",
        "{ application.name = Chromium  application.process.binary = slack }",
        "{ application.process.binary = mumble }",
        "{ application.name = Chromium  pipewire.access.portal.app_id = com.slack.Slack }",
    ])
    func `CLS-02: a rule that tells one program apart is none`(match: String) throws {
        _ = try settings("rules = [ { matches = [ \(match) ] actions = { kind = game } } ]")
    }

    @Test(arguments: [
        ("phone", "Communication", true), ("Communication", "phone", true), ("~^Movie$", "video", true),
        ("~^video$", "Movie", true),
        ("!phone", "Communication", false), ("!~^phone$", "COMMUNICATION", false), ("music", "phone", false),
        ("alarm", "Alarm", true),
    ])
    func `CLS-08: a rule on a role fits both spellings`(pattern: String, role: String, fits: Bool) throws {
        let rules = try settings(
            "rules = [ { matches = [ { media.role = \"\(pattern)\" } ] actions = { kind = game } } ]"
        ).rules
        #expect(rules.first?.matches.first?.first?.fits(role) == fits)
    }

    @Test func `a pattern is the whole text, an expression where it begins with a tilde, and null is absence`() throws {
        func condition(_ value: String) throws -> Rule.Condition {
            let text = "rules = [ { matches = [ { media.name = \(value) } ] actions = { kind = game } } ]"
            return try #require(try settings(text).rules.first?.matches.first?.first)
        }
        #expect(try condition("abc").fits("abc"))
        #expect(try !condition("abc").fits("abcd"))
        #expect(try condition("\"~b(c|d)\"").fits("abcd"))
        #expect(try !condition("\"~b(c|d)\"").fits(nil))
        #expect(try condition("null").fits(nil))
        #expect(try !condition("null").fits("null"))
        #expect(try condition("\"null\"").fits("null"))
        #expect(try condition("\"!abc\"").fits(nil))
        #expect(try condition("\"!~^a\"").fits("b"))
    }

    @Test(arguments: [
        "mpv", "~weird", "!weird", "a\"b\\c", "with blank/and slash", "x\u{1b}[31m", "名前", "..", "~a.b*(c)|^$[d]{2}",
    ])
    func `ignoring a program writes a rule for exactly that program`(name: String) throws {
        let rule = IgnoreRule(for: name)
        #expect(!rule.fileName.contains("/") && rule.fileName.hasPrefix("ignore-") && rule.fileName.hasSuffix(".conf"))
        let result = PolicyConfiguration.read(rule.content, file: rule.fileName)
        #expect(!result.problems.contains { !$0.isWarning }, "\(result.problems)")
        let conditions = try #require(result.settings.rules.first).matches.flatMap { $0 }
        #expect(
            conditions.allSatisfy { $0.fits(name) && !$0.fits(name + "x") && !$0.fits("x" + name) && !$0.fits(nil) })
        #expect(result.settings.rules.first?.actions.ignore == true)
    }

    @Test func `A11-03: nobody turns speech down unless it is named`() throws {
        for holder in AudioSessionClientKind.allCases {
            #expect(PolicyConfiguration.load(directories: []).settings.effects.effect(of: holder, on: .speech) == .none)
        }
        #expect(
            try settings("effects.call.speech = minimum").effects.effect(of: .call, on: .speech) == .duck(Decibels(-6)))
    }

    @Test func `distances count exchanges of neighbours as one`() {
        #expect(NearestName.distance("server", "serber") == 1)
        #expect(NearestName.distance("gmae", "game") == 1)
        #expect(NearestName.distance("", "abc") == 3)
        #expect(NearestName.of("zzzzzzzz", among: ["server", "scope"]) == nil)
    }

    @Test func `random text never crashes the reader`() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "{", "}", "[", "]", "=", ":", ",", "\"", "\\", "\\u", "d83d", "#", "\n", " ", "rules", "matches", "actions",
            "effects", "call", "~(", "null", "-6", "é", "\u{0}", "\u{1}",
        ]
        for _ in 0..<3000 {
            let count = Int.random(in: 0...40, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            var reader = ConfigurationReader()
            reader.read(text, file: "random.conf")
            _ = reader.finish()
        }
    }
}
