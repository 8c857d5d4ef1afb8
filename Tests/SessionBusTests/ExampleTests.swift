import AudioSession
import DaemonTestSupport
import Foundation
import SystemEventLoop
import Testing

@testable import SessionBus

/// The program in another language that comes with the project.
@Suite struct ExampleTests {
    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "docs/examples/hold.py").path

    /// The running example and what it has printed.
    private final class Example {
        let process = Process()
        private let output = Pipe()
        private let text = Shared("")

        init(_ desk: BusDesk, _ kind: String) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
            process.arguments = [script, kind]
            process.environment = ["DBUS_SESSION_BUS_ADDRESS": desk.bus.address, "PATH": "/usr/bin:/bin"]
            process.standardOutput = output
            process.standardError = output
            output.fileHandleForReading.readabilityHandler = { [text] handle in
                text.value += String(decoding: handle.availableData, as: UTF8.self)
            }
            try process.run()
        }

        deinit {
            output.fileHandleForReading.readabilityHandler = nil
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }

        var lines: [String] { text.value.split(separator: "\n").map(String.init) }
    }

    @Test func `A Python program acquires, is subordinated and told so, is killed, and its claim is gone`() throws {
        let desk = try BusDesk(.quiet)
        let service = try desk.running()
        var times: [Duration] = []
        for _ in 1...3 {
            let example = try Example(desk, "playback")
            try desk.loop.turn(until: { example.lines.count == 1 }, "the claim; it said \(example.lines)")
            let id = try #require(desk.session.core.arbiter.winner)
            #expect(example.lines == ["Acquired \(BusContract.path(ofClaim: id.description))"])
            let phone = try Holder(desk)
            let call = try phone.acquire(.call)
            try desk.loop.turn(until: { example.lines.count == 2 }, "the event; it said \(example.lines)")
            #expect(example.lines.last == "Subordinated")
            try phone.release(call)
            let start = ContinuousClock().now
            kill(example.process.processIdentifier, SIGKILL)
            try desk.loop.turn(until: { desk.session.core.arbiter.isEmpty }, "the end of the claim")
            times.append(ContinuousClock().now - start)
        }
        // The best of three, since a busy machine may stop this process itself for so long.
        #expect(times.min() ?? .seconds(1) < .milliseconds(50), "\(times)")
        service.stop()
    }

    @Test func `A refusal is a sentence for people`() throws {
        let desk = try BusDesk(.quiet)
        let service = try desk.running()
        let phone = try Holder(desk)
        _ = try phone.acquire(.call, .init(name: "Linphone"))
        let example = try Example(desk, "recording")
        try desk.loop.turn(until: { !example.process.isRunning && !example.lines.isEmpty }, "the refusal")
        #expect(example.process.terminationStatus == 1)
        #expect(example.lines.joined().contains("Linphone is in a call and has the microphone"))
        service.stop()
    }
}
