import AudioPolicy
import DaemonTestSupport
import EventLoop
import Foundation
import SystemEventLoop
import Testing

@testable import SessionBus

@Suite struct SessionBusTests {
    private let bus: PrivateBus
    private let loop: SystemEventLoop
    private let session = FakeSession()

    init() throws {
        bus = try PrivateBus()
        loop = try SystemEventLoop()
    }

    /// A service that owns the name.
    private func running() throws -> SessionBusService {
        let service = SessionBusService(loop: loop, control: session, address: bus.address)
        var change: SessionBusService.Change?
        service.onChange = { change = $0 }
        try service.start()
        try loop.turn(until: { change != nil }, "the name")
        #expect(change == .running)
        return service
    }

    /// Asks as the command does, from a thread of its own.
    private func ask<Answer: Sendable>(_ question: @escaping @Sendable (SessionBusClient) throws -> Answer) throws
        -> Answer
    {
        try loop.during { [address = bus.address] in try question(SessionBusClient(address: address)) }
    }

    /// What busctl prints or says on the standard error.
    private func busctl(_ arguments: String...) throws -> String { try busctl(arguments) }

    private func busctl(_ arguments: [String]) throws -> String {
        try loop.during { [address = bus.address] in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/busctl")
            process.arguments = ["--address=\(address)"] + arguments
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            try process.run()
            let output = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: output, as: UTF8.self)
        }
    }

    private func call(_ arguments: String...) throws -> String {
        try busctl(["call", BusContract.name, BusContract.path, BusContract.interface] + arguments)
    }

    @Test func `Status gives every field of the session as JSON, hostile names unharmed`() throws {
        let service = try running()
        let json = try ask { try $0.status() }
        #expect(SessionJSON.status(json) == session.current)
        #expect(!json.contains("\n") && !json.contains("\u{1B}"))
        #expect(json.contains(#""sandbox":null"#))
        service.stop()
    }

    @Test func `A status with values that are no numbers is still an answer`() throws {
        session.current.streams[1].baseline = [.nan, .infinity]
        session.current.streams[1].effect?.decibels = -.infinity
        let service = try running()
        let json = try ask { try $0.status() }
        #expect(SessionJSON.status(json)?.streams[1].effect?.decibels == -.infinity)
        service.stop()
    }

    @Test func `Explain answers with the session's words, and says which streams there are otherwise`() throws {
        let service = try running()
        #expect(try ask { try $0.explain("74") } == "mpv is music.")
        #expect(throws: BusError(.refused("InvalidArgument"), "there is no stream 9; there are 73, 74, 75, 76")) {
            try ask { try $0.explain("9") }
        }
        #expect(throws: BusError.self) { try ask { try $0.explain("") } }
        service.stop()
    }

    @Test func `SetEnabled, Restore and Reload reach the session, and Enabled follows`() throws {
        let service = try running()
        try ask { try $0.setEnabled(false) }
        #expect(!session.isEnabled)
        #expect(
            try busctl("get-property", BusContract.name, BusContract.path, BusContract.interface, "Enabled")
                == "b false\n")
        try ask { try $0.setEnabled(true) }
        try ask { try $0.restore() }
        try ask { try $0.reload() }
        #expect(session.asked == ["setEnabled false", "setEnabled true", "restore", "reload"])
        session.reloadFailure = .badConfiguration("a.conf:3: unknown key levls; did you mean levels?")
        #expect(throws: BusError(.refused("InvalidArgument"), "a.conf:3: unknown key levls; did you mean levels?")) {
            try ask { try $0.reload() }
        }
        service.stop()
    }

    @Test func `Winner, Claims and State are properties; no winner is the root path`() throws {
        let service = try running()
        func get(_ name: String) throws -> String {
            try busctl("get-property", BusContract.name, BusContract.path, BusContract.interface, name)
        }
        #expect(try get("Winner") == "o \"/org/sordino/AudioSession1/claim/c3\"\n")
        #expect(
            try get("Claims")
                == "ao 2 \"/org/sordino/AudioSession1/claim/c3\" \"/org/sordino/AudioSession1/claim/c4\"\n")
        #expect(try get("State") == "s \"active\"\n")
        session.current.session.winner = nil
        #expect(try get("Winner") == "o \"/\"\n")
        #expect(try get("Wimmer").contains("Wimmer"))
        service.stop()
    }

    @Test func `Each event is one signal with one line of JSON, in order`() throws {
        let service = try running()
        let lines = Shared<[String]>([])
        let events = [
            SessionEvent(time: 1.5, event: .warning, message: "first\n\u{202E}"),
            SessionEvent(time: 2, event: .winnerChanged, winner: "c3"),
        ]
        try listen(lines, count: 2) { for event in events { service.emit(event) } }
        #expect(lines.value.compactMap(SessionJSON.event) == events)
        #expect(lines.value.allSatisfy { !$0.contains("\n") })
        service.stop()
    }

    /// Monitors until so many lines have come; `act` runs on the loop when the monitor would miss nothing.
    private func listen(_ lines: Shared<[String]>, count: Int, _ act: @escaping () -> Void) throws {
        let isReady = Shared(false)
        func actWhenReady() {
            if isReady.value { act() } else { loop.schedule(after: .milliseconds(5), actWhenReady) }
        }
        actWhenReady()
        try ask { client in
            try client.monitor(ready: { isReady.value = true }) { line in
                lines.value.append(line)
                return lines.value.count < count
            }
        }
    }

    @Test func `A monitor is told when the daemon goes`() throws {
        let service = try running()
        let lines = Shared<[String]>([])
        #expect(throws: BusError(.noDaemon, "the Sordino daemon has ended")) {
            try listen(lines, count: 1) { service.stop() }
        }
    }

    @Test func `Unknown methods, wrong arguments and unknown objects are proper errors`() throws {
        let service = try running()
        #expect(try call("Statsu").contains("Unknown method"))
        #expect(try call("Explain", "u", "5").contains("Invalid arguments"))
        #expect(
            try busctl("call", BusContract.name, "/org/sordino/Else", BusContract.interface, "Status")
                .contains("Unknown object"))
        service.stop()
    }

    @Test func `The object introspects with the names of arguments`() throws {
        let service = try running()
        let text = try busctl("introspect", "--xml-interface", BusContract.name, BusContract.path)
        for part in [
            #"<method name="Explain">"#, #"<arg type="s" name="stream" direction="in"/>"#,
            #"<arg type="s" name="explanation" direction="out"/>"#,
            #"<property name="Claims" type="ao" access="read">"#,
            #"<signal name="Event">"#,
        ] { #expect(text.contains(part), "\(part)") }
        service.stop()
    }

    @Test func `PER-05 A second daemon on the bus is told that the name is taken`() throws {
        let first = try running()
        let second = SessionBusService(loop: loop, control: session, address: bus.address)
        var change: SessionBusService.Change?
        second.onChange = { change = $0 }
        try second.start()
        try loop.turn(until: { change != nil }, "the refusal")
        guard case .failed(let error) = change else { return #expect(Bool(false), "\(String(describing: change))") }
        #expect(error.code == .nameTaken)
        first.stop()
        second.stop()
    }

    @Test func `CI-04 Without a bus the service says so instead of hanging`() throws {
        let address = bus.address
        bus.end()
        let service = SessionBusService(loop: loop, control: session, address: address)
        var change: SessionBusService.Change?
        service.onChange = { change = $0 }
        do throws(BusError) {
            try service.start()
            try? loop.turn(until: { change != nil }, "the failure")
            #expect(change != nil)
        } catch {
            #expect(error.code == .noBus)
        }
    }

    @Test func `A bus that goes away is reported once, and the service can be dropped`() throws {
        let service = try running()
        var changes: [SessionBusService.Change] = []
        service.onChange = { changes.append($0) }
        bus.end()
        try loop.turn(until: { !changes.isEmpty }, "the loss")
        service.emit(SessionEvent(time: 1, event: .warning, message: "nobody hears this"))
        try loop.turn(timeout: .milliseconds(10))
        #expect(changes == [.failed(BusError(.noBus, "the session bus is gone"))])
        service.stop()
    }

    @Test func `Without a daemon a question is answered at once, and nothing is started`() throws {
        #expect(throws: BusError(.noDaemon, "no Sordino daemon is running")) { try ask { try $0.status() } }
        #expect(throws: BusError.self) { try SessionBusClient(address: nil) }
    }

    @Test func `A daemon that does not answer is given up after the time-out`() throws {
        let service = try running()
        let start = ContinuousClock().now
        // On this thread, so that the loop does not turn.
        #expect(throws: BusError(.noAnswer, "the Sordino daemon does not answer")) {
            try SessionBusClient(address: bus.address, timeout: .seconds(1)).status()
        }
        #expect(ContinuousClock().now - start < .seconds(3))
        service.stop()
    }

    @Test(
        arguments: [
            (["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"], "unix:path=/x"),
            (["DBUS_SESSION_BUS_ADDRESS": "disabled:"], nil),
            (["XDG_RUNTIME_DIR": "/nowhere"], nil),
            ([:], nil),
        ] as [([String: String], String?)])
    func `The bus is where the variables say`(environment: [String: String], address: String?) {
        #expect(BusContract.address(in: environment) == address)
    }
}
