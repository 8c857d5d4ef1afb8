import AudioPolicy
import DaemonTestSupport
import Foundation
import SessionBus
import SordinoDaemon
import Synchronization
import SystemEventLoop
import Testing

@testable import SordinoCommand

/// The command beside a service on a private bus.
@Suite struct CommandTests {
    private struct Result: Sendable {
        var code: Int32
        var out: String
        var err: String
    }

    private static func run(_ line: [String], environment: [String: String] = [:]) -> Result {
        let out = Shared("")
        let err = Shared("")
        let context = Context(
            environment: environment, out: { out.value += $0 }, err: { err.value += $0 })
        let code = Sordino.run(line, context)
        return Result(code: code, out: out.value, err: err.value)
    }

    /// Runs a command while a session is on the bus.
    private func beside(_ session: FakeSession, _ line: String...) throws -> Result {
        let bus = try PrivateBus()
        let loop = try SystemEventLoop()
        let service = SessionBusService(
            loop: loop, control: session, processes: KnownProcesses(), address: bus.address)
        var isRunning = false
        service.onChange = { isRunning = $0 == .running }
        try service.start()
        try loop.turn(until: { isRunning }, "the name")
        defer { service.stop() }
        return try loop.during { [address = bus.address] in
            Self.run(line, environment: ["DBUS_SESSION_BUS_ADDRESS": address])
        }
    }

    @Test func `status prints a table, and with --json what the bus says`() throws {
        let session = FakeSession()
        let table = try beside(session, "status")
        #expect(table.code == 0 && table.err.isEmpty)
        #expect(table.out == StatusText(session.current).text)
        let json = try beside(session, "status", "--json")
        #expect(json.code == 0 && json.out.hasSuffix("}\n"))
        #expect(SessionJSON.status(json.out) == session.current)
    }

    @Test func `explain says the session's sentence; an unknown stream is a usage error in one line`() throws {
        #expect(try beside(FakeSession(), "explain", "74").out == "mpv is music.\n")
        let unknown = try beside(FakeSession(), "explain", "9")
        #expect(unknown.code == 64)
        #expect(unknown.err == "sordino: there is no stream 9; there are 73, 74, 75, 76\n")
    }

    @Test func `on and off switch, and off for a time switches on again by itself`() throws {
        let session = FakeSession()
        #expect(try beside(session, "off").code == 0)
        #expect(!session.isEnabled)
        #expect(try beside(session, "on").code == 0)
        #expect(session.isEnabled)
        let start = ContinuousClock().now
        #expect(try beside(session, "off", "--for", "0.3").code == 0)
        #expect(ContinuousClock().now - start >= .milliseconds(300))
        #expect(session.asked == ["off", "on", "off", "on"].map { "setEnabled \($0 == "on")" })
    }

    @Test func `A reload of a bad configuration is exit 78 with its place`() throws {
        let session = FakeSession()
        #expect(try beside(session, "config", "reload").code == 0)
        session.reloadFailure = .badConfiguration(
            "/etc/sordino/sordino.conf:3: unknown key “levls”; did you mean “levels”?")
        let bad = try beside(session, "config", "reload")
        #expect(bad.code == 78)
        #expect(bad.err == "sordino: /etc/sordino/sordino.conf:3: unknown key “levls”; did you mean “levels”?\n")
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["monitor"], ["explain", "1"], ["on"], ["off"], ["config", "reload"],
    ])
    func `Without a bus or a daemon a question is one line and exit 69`(line: [String]) throws {
        let noBus = Self.run(line)
        #expect(noBus.code == 69 && noBus.out.isEmpty)
        #expect(noBus.err == "sordino: there is no session bus\n")
        let bus = try PrivateBus()
        let noDaemon = Self.run(line, environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(noDaemon.code == 69 && noDaemon.out.isEmpty)
        #expect(noDaemon.err == "sordino: no Sordino daemon is running; “sordino run” starts one\n")
    }

    @Test func `A wrong line is one line on the standard error and exit 64`() {
        let result = Self.run(["monitro"])
        #expect(result.code == 64 && result.out.isEmpty)
        #expect(result.err == "sordino: unknown command “monitro”; did you mean “monitor”?\n")
    }

    @Test func `help of an unknown command names the nearest`() {
        #expect(Self.run(["help", "staus"]).err == "sordino: there is no command “staus”; did you mean “status”?\n")
        #expect(Self.run(["help", "config"]).out.contains("config reload"))
        #expect(Self.run(["help", "config", "check"]).out.hasPrefix("Usage: sordino config check [FILE…]"))
        #expect(Self.run(["help", "--man", "--json"]).code == 64)
    }

    // MARK: Without a daemon

    @Test func `config check names file, line and the nearest key, and is exit 78`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/sordino.conf"
        try "levels = { minimum = -6 }\nlevls = { minimum = -6 }\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let bad = Self.run(["config", "check", file])
        #expect(bad.code == 78)
        #expect(bad.err == "sordino: \(file):2: error: there is no key levls; did you mean levels?\n")
        try "levels = { minimum = -5 }\n".write(toFile: file, atomically: true, encoding: .utf8)
        let good = Self.run(["config", "check", file])
        #expect(good.code == 0 && good.err.isEmpty)
        #expect(good.out == "\(file): no errors\n")
        #expect(Self.run(["config", "check", directory.path + "/none.conf"]).code == 78)
    }

    private static let dump = """
        [ { "index": 7, "sink": 0, "corked": false, "mute": false,
            "volume": { "front-left": { "value": 65536, "value_percent": "100%", "db": "0.00 dB" } },
            "properties": { "media.role": "music", "application.name": "\\u001b[31mevil" } },
          { "index": 9, "sink": 0, "corked": false, "mute": false,
            "volume": { "mono": { "value": 65536, "value_percent": "100%", "db": "0.00 dB" } },
            "properties": { "media.role": "phone", "application.name": "tel" } } ]
        """

    @Test func `classify says one JSON object a line in the file's order, or a table`() throws {
        struct Line: Decodable, Equatable {
            var direction: String
            var index: Int
            var kind: String?
            var plumbing: Bool
            var classifiedBy: String
        }
        let directory = try TemporaryDirectory()
        let file = directory.path + "/dump.json"
        try Self.dump.write(toFile: file, atomically: true, encoding: .utf8)
        let json = Self.run(["classify", file, "--json"])
        #expect(json.code == 0, "\(json.err)")
        let lines = try json.out.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(
            lines == [
                Line(direction: "output", index: 7, kind: "mediaPlayback", plumbing: false, classifiedBy: "role"),
                Line(direction: "output", index: 9, kind: "call", plumbing: false, classifiedBy: "role"),
            ])
        #expect(json.out.contains(#""capture":null"#))
        let table = Self.run(["classify", file])
        #expect(table.code == 0 && table.out.contains("mediaPlayback") && !table.out.contains("\u{1B}"))
    }

    @Test func `A dump that is none is told from one that cannot be read`() throws {
        let directory = try TemporaryDirectory()
        let missing = Self.run(["classify", directory.path + "/none"])
        #expect(missing.code == 66 && missing.err.split(separator: "\n").count == 1)
        let file = directory.path + "/dump.json"
        try "{ \u{1B}[31m not a dump".write(toFile: file, atomically: true, encoding: .utf8)
        let malformed = Self.run(["classify", file])
        #expect(malformed.code == 65 && malformed.err.split(separator: "\n").count == 1)
        #expect(!malformed.err.contains("\u{1B}"))
    }
}
