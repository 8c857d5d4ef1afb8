import AudioPolicy
import DaemonTestSupport
import EventLoop
import Foundation
import SystemEventLoop
import Testing

@testable import SessionBus

@Suite struct SessionBusTests {
    private let desk: BusDesk

    init() throws { desk = try BusDesk() }

    @Test func `Status gives every field of the session as JSON, hostile names unharmed`() throws {
        let service = try desk.running()
        let json = try desk.ask { try $0.status() }
        #expect(SessionJSON.status(json) == desk.session.current)
        #expect(!json.contains("\n") && !json.contains("\u{1B}"))
        #expect(json.contains(#""sandbox":null"#))
        service.stop()
    }

    @Test func `A status with values that are no numbers is still an answer`() throws {
        desk.session.current.streams[1].baseline = [.nan, .infinity]
        desk.session.current.streams[1].effect?.decibels = -.infinity
        let service = try desk.running()
        let json = try desk.ask { try $0.status() }
        #expect(SessionJSON.status(json)?.streams[1].effect?.decibels == -.infinity)
        service.stop()
    }

    @Test func `Explain answers with the session's words, and says which streams there are otherwise`() throws {
        let service = try desk.running()
        #expect(try desk.ask { try $0.explain("74") } == "mpv is music.")
        #expect(throws: BusError(.refused("InvalidArgument"), "there is no stream 9; there are 73, 74, 75, 76")) {
            try desk.ask { try $0.explain("9") }
        }
        #expect(throws: BusError.self) { try desk.ask { try $0.explain("") } }
        service.stop()
    }

    @Test func `SetEnabled, Restore and Reload reach the session, and Enabled follows`() throws {
        let service = try desk.running()
        try desk.ask { try $0.setEnabled(false) }
        #expect(!desk.session.isEnabled)
        #expect(
            try desk.busctl("get-property", BusContract.name, BusContract.path, BusContract.interface, "Enabled")
                == "b false\n")
        try desk.ask { try $0.setEnabled(true) }
        try desk.ask { try $0.restore() }
        try desk.ask { try $0.reload() }
        #expect(desk.session.asked == ["setEnabled false", "setEnabled true", "restore", "reload"])
        desk.session.reloadFailure = .badConfiguration("a.conf:3: unknown key levls; did you mean levels?")
        #expect(throws: BusError(.refused("InvalidArgument"), "a.conf:3: unknown key levls; did you mean levels?")) {
            try desk.ask { try $0.reload() }
        }
        service.stop()
    }

    @Test func `Winner, Claims and State are properties; no winner is the root path`() throws {
        let service = try desk.running()
        func get(_ name: String) throws -> String {
            try desk.busctl("get-property", BusContract.name, BusContract.path, BusContract.interface, name)
        }
        #expect(try get("Winner") == "o \"/org/sordino/AudioSession1/claim/c3\"\n")
        #expect(
            try get("Claims")
                == "ao 2 \"/org/sordino/AudioSession1/claim/c3\" \"/org/sordino/AudioSession1/claim/c4\"\n")
        #expect(try get("State") == "s \"active\"\n")
        desk.session.current.session.winner = nil
        #expect(try get("Winner") == "o \"/\"\n")
        #expect(try get("Wimmer").contains("Wimmer"))
        service.stop()
    }

    @Test func `Each event is one signal with one line of JSON, in order`() throws {
        let service = try desk.running()
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
            if isReady.value { act() } else { desk.loop.schedule(after: .milliseconds(5), actWhenReady) }
        }
        actWhenReady()
        try desk.ask { client in
            try client.monitor(ready: { isReady.value = true }) { line in
                lines.value.append(line)
                return lines.value.count < count
            }
        }
    }

    @Test func `A monitor is told when the daemon goes`() throws {
        let service = try desk.running()
        let lines = Shared<[String]>([])
        #expect(throws: BusError(.noDaemon, "the Sordino daemon has ended")) {
            try listen(lines, count: 1) { service.stop() }
        }
    }

    @Test func `Unknown methods, wrong arguments and unknown objects are proper errors`() throws {
        let service = try desk.running()
        #expect(try desk.call("Statsu").contains("Unknown method"))
        #expect(try desk.call("Explain", "u", "5").contains("Invalid arguments"))
        #expect(
            try desk.busctl("call", BusContract.name, "/org/sordino/Else", BusContract.interface, "Status")
                .contains("Unknown object"))
        service.stop()
    }

    @Test func `The object introspects with the names of arguments`() throws {
        let service = try desk.running()
        let text = try desk.busctl("introspect", "--xml-interface", BusContract.name, BusContract.path)
        for part in [
            #"<method name="Explain">"#, #"<arg type="s" name="stream" direction="in"/>"#,
            #"<arg type="s" name="explanation" direction="out"/>"#,
            #"<property name="Claims" type="ao" access="read">"#,
            #"<signal name="Event">"#,
        ] { #expect(text.contains(part), "\(part)") }
        service.stop()
    }

    @Test func `PER-05 A second daemon on the bus is told that the name is taken`() throws {
        let first = try desk.running()
        let second = SessionBusService(
            loop: desk.loop, control: desk.session, processes: desk.processes, address: desk.bus.address)
        var change: SessionBusService.Change?
        second.onChange = { change = $0 }
        try second.start()
        try desk.loop.turn(until: { change != nil }, "the refusal")
        guard case .failed(let error) = change else { return #expect(Bool(false), "\(String(describing: change))") }
        #expect(error.code == .nameTaken)
        first.stop()
        second.stop()
    }

    @Test func `CI-04 Without a bus the service says so instead of hanging`() throws {
        let address = desk.bus.address
        desk.bus.end()
        let service = SessionBusService(
            loop: desk.loop, control: desk.session, processes: desk.processes, address: address)
        var change: SessionBusService.Change?
        service.onChange = { change = $0 }
        do throws(BusError) {
            try service.start()
            try? desk.loop.turn(until: { change != nil }, "the failure")
            #expect(change != nil)
        } catch {
            #expect(error.code == .noBus)
        }
    }

    @Test func `A bus that goes away is reported once, and the service can be dropped`() throws {
        let service = try desk.running()
        var changes: [SessionBusService.Change] = []
        service.onChange = { changes.append($0) }
        desk.bus.end()
        try desk.loop.turn(until: { !changes.isEmpty }, "the loss")
        service.emit(SessionEvent(time: 1, event: .warning, message: "nobody hears this"))
        try desk.loop.turn(timeout: .milliseconds(10))
        #expect(changes == [.failed(BusError(.noBus, "the session bus is gone"))])
        service.stop()
    }

    @Test func `Without a daemon a question is answered at once, and nothing is started`() throws {
        #expect(throws: BusError(.noDaemon, "no Sordino daemon is running")) { try desk.ask { try $0.status() } }
        #expect(throws: BusError.self) { try SessionBusClient(address: nil) }
    }

    @Test func `A daemon that does not answer is given up after the time-out`() throws {
        let service = try desk.running()
        let start = ContinuousClock().now
        // On this thread, so that the loop does not turn.
        #expect(throws: BusError(.noAnswer, "the Sordino daemon does not answer")) {
            try SessionBusClient(address: desk.bus.address, timeout: .seconds(1)).status()
        }
        #expect(ContinuousClock().now - start < .seconds(3))
        service.stop()
    }

    @Test func `A bus that does not answer is given up after the time-out`() throws {
        let directory = try TemporaryDirectory()
        let listener = try SilentSocket(directory.path + "/bus")
        let start = ContinuousClock().now
        #expect(throws: BusError(.noBus, "the session bus does not answer")) {
            try SessionBusClient(address: "unix:path=\(directory.path)/bus", timeout: .milliseconds(200))
        }
        #expect(ContinuousClock().now - start < .seconds(5))
        extendLifetime(listener)
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

/// A socket that takes connections and never says a word.
private final class SilentSocket {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result == 0, listen(descriptor, 8) == 0 else { throw TestFailure("\(path): \(errno)") }
    }

    deinit { close(descriptor) }
}
