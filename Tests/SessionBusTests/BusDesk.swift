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

extension SystemEventLoop {
    /// Turns until the answer is there.
    func answer<Value>(_ ask: (@escaping (Result<Value, BusError>) -> Void) -> Void) throws -> Value {
        var answer: Result<Value, BusError>?
        ask { answer = $0 }
        try turn(until: { answer != nil }, "an answer")
        guard let answer else { throw TestFailure("no answer") }
        return try answer.get()
    }
}

/// A program on the bus that holds claims, and what it was told, in order.
final class Holder {
    let link: DaemonLink
    private let loop: SystemEventLoop
    private(set) var events: [String] = []

    init(_ desk: BusDesk) throws {
        loop = desk.loop
        link = try DaemonLink(address: desk.bus.address, loop: loop)
        link.onEvent = { [unowned self] path, event in
            events.append("\(BusContract.claim(atPath: path)?.description ?? path) \(event)")
        }
        try loop.turn(until: { link.owner != nil }, "the daemon")
    }

    private func path(_ claim: ClaimID) -> String { BusContract.path(ofClaim: claim.description) }

    func acquire(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system, _ options: DaemonLink.Options = .init()
    ) throws -> ClaimID {
        let path = try loop.answer { link.acquire(kind, output: output, options: options, done: $0) }
        return try #require(BusContract.claim(atPath: path))
    }

    func update(_ claim: ClaimID, output: AudioSessionOutput) throws {
        try loop.answer { link.update(path(claim), output: output, done: $0) }
    }

    func setActivated(_ claim: ClaimID, _ activated: Bool) throws {
        try loop.answer { link.setActivated(path(claim), activated, done: $0) }
    }

    func release(_ claim: ClaimID) throws { try loop.answer { link.release(path(claim), done: $0) } }

    /// Any other method.
    @discardableResult
    func call(_ method: String, _ fill: (BusMessage) -> Void = { _ in }) throws -> BusMessage {
        try loop.answer { link.call(method, fill, done: $0) }
    }

    /// A call with arguments that may be wrong; the error's name without what all of ours have before it.
    func refusal(_ method: String, _ fill: (BusMessage) -> Void) throws -> BusError? {
        do throws(any Error) {
            try call(method, fill)
            return nil
        } catch let error as BusError {
            return error
        }
    }
}

/// A program that listens to every event, as any program on the bus can.
final class Listener {
    private let connection: BusConnection
    private let loop: SystemEventLoop
    private var match: BusSlot?
    /// The lines that were sent to everybody, and those that were sent to this connection.
    private(set) var broadcast: [String] = []
    private(set) var own: [String] = []

    init(_ desk: BusDesk) throws {
        loop = desk.loop
        connection = try BusConnection(address: desk.bus.address)
        try connection.attach(to: loop)
        match = try connection.match(
            .init(sender: BusContract.name, interface: BusContract.interface, member: "Event")
        ) { [unowned self] message in
            guard let line = message.readString() else { return }
            if message.isUnicast { own.append(line) } else { broadcast.append(line) }
        }
        // The bus takes the match before it answers.
        _ = try loop.answer { connection.call(.ofBus("GetId"), done: $0) }
    }

    func monitor() throws {
        _ = try loop.answer { answer in
            connection.call(
                .init(
                    destination: BusContract.name, path: BusContract.path, interface: BusContract.interface,
                    member: "Monitor"), done: answer)
        }
    }
}
