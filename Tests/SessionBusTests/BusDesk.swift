import AudioPolicy
import AudioSession
import DaemonTestSupport
import EventLoop
import Foundation
import SystemEventLoop
import Testing

@testable import SessionBus

/// A private bus, and a session to be served on it.
final class BusDesk {
    let bus: PrivateBus
    let loop: SystemEventLoop
    let session: FakeSession
    let processes = KnownProcesses()

    init(_ status: SessionStatus = .everything) throws {
        bus = try PrivateBus()
        loop = try SystemEventLoop()
        session = FakeSession(status)
    }

    /// A service that owns the name.
    func running() throws -> SessionBusService {
        let service = SessionBusService(loop: loop, control: session, processes: processes, address: bus.address)
        var change: SessionBusService.Change?
        service.onChange = { change = $0 }
        session.onEvent = { [weak service] in service?.emit($0) }
        try service.start()
        try loop.turn(until: { change != nil }, "the name")
        #expect(change == .running)
        return service
    }

    /// Asks as the command does, from a thread of its own.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (SessionBusClient) throws -> Answer) throws -> Answer {
        try loop.during { [address = bus.address] in try question(SessionBusClient(address: address)) }
    }

    /// What busctl prints or says on the standard error.
    func busctl(_ arguments: String...) throws -> String { try busctl(arguments) }

    func busctl(_ arguments: [String]) throws -> String {
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

    /// Calls a method of the session's object.
    func call(_ arguments: String...) throws -> String {
        try busctl(["call", BusContract.name, BusContract.path, BusContract.interface] + arguments)
    }

    /// A property of an object's, as busctl prints it.
    func property(_ name: String, of path: String = BusContract.path) throws -> String {
        let interface = path == BusContract.path ? BusContract.interface : BusContract.claimInterface
        return try busctl("get-property", BusContract.name, path, interface, name).trimmingCharacters(in: .newlines)
    }
}

/// A program on the bus that holds claims, and what it was told, in order.
final class Holder {
    let caller: SessionBusCaller
    private let loop: SystemEventLoop
    private(set) var events: [String] = []
    private(set) var isDaemonThere: Bool?

    init(_ desk: BusDesk) throws {
        loop = desk.loop
        caller = try SessionBusCaller(address: desk.bus.address, loop: loop)
        caller.onEvent = { [unowned self] in events.append("\($0) \($1)") }
        caller.onDaemon = { [unowned self] in isDaemonThere = $0 }
        try loop.turn(until: { isDaemonThere != nil }, "the bus")
    }

    /// Turns the loop until the answer is there.
    func wait<Value>(_ ask: (@escaping (Result<Value, BusError>) -> Void) -> Void) throws -> Value {
        var answer: Result<Value, BusError>?
        ask { answer = $0 }
        try loop.turn(until: { answer != nil }, "an answer")
        guard let answer else { throw TestFailure("no answer") }
        return try answer.get()
    }

    func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system,
        _ options: SessionBusCaller.Options = .init()
    ) throws -> ClaimID {
        try wait { caller.acquire(kind, output: output, options: options, $0) }
    }

    /// A call with arguments that may be wrong; the error's name without what all of ours have before it.
    func refusal(_ method: String, _ fill: @escaping (BusMessage) -> Void) throws -> BusError? {
        do throws(any Error) {
            _ = try wait { caller.call(method, fill, answer: $0) } as BusMessage
            return nil
        } catch let error as BusError {
            return error
        }
    }
}

/// A program that listens to every event, as any program on the bus can.
final class Listener {
    private let holder: Holder
    /// The lines that were sent to everybody, and those that were sent to this connection.
    private(set) var broadcast: [String] = []
    private(set) var own: [String] = []

    init(_ desk: BusDesk) throws {
        holder = try Holder(desk)
        holder.caller.onOther = { [unowned self] message in
            guard message.isSignal("Event", of: BusContract.interface), let line = message.readString() else { return }
            if message.isUnicast { own.append(line) } else { broadcast.append(line) }
        }
        let bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        _ = try holder.wait {
            holder.caller.call(
                "AddMatch", of: bus, { $0.append("type='signal',interface='\(BusContract.interface)'") }, answer: $0)
        }
    }

    func monitor() throws { _ = try holder.wait { holder.caller.call("Monitor", answer: $0) } }
}
