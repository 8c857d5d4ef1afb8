import DaemonTestSupport
import SystemEventLoop
import Testing

@testable import SessionBus

@Suite struct BusCallsTests {
    private let desk: BusDesk
    private let connection: BusConnection

    init() throws {
        desk = try BusDesk(.quiet)
        connection = try BusConnection(address: desk.bus.address)
        try connection.attach(to: desk.loop)
    }

    @Test func `A match that the bus refuses is told of, and the connection goes on`() throws {
        var errors: [BusError] = []
        let match = try connection.match(.ownerChange("arg0namespace='no name'")) { _ in
        } refused: { error in
            errors.append(error)
        }
        try desk.loop.turn(until: { !errors.isEmpty }, "the refusal")
        let id = try desk.loop.answer { connection.call(.ofBus("GetId"), done: $0) }
        #expect(id.readString()?.isEmpty == false)
        #expect(errors.count == 1)
        withExtendedLifetime(match) {}
    }

    @Test func `A call that fails gives the error that came back, and a property of another type is none`() throws {
        let unknown = BusConnection.Method(
            destination: "org.example.Nobody", path: "/", interface: "org.example.Nobody", member: "Ask")
        #expect(throws: BusError(.noDaemon, "no Sordino daemon is running")) {
            try desk.loop.answer { connection.call(unknown, done: $0) }
        }
        #expect(throws: BusError(.other, "Features is not of the type s")) {
            try desk.loop.answer {
                connection.get(
                    "Features", signature: "s", of: BusNames.bus, at: BusNames.busPath, BusNames.bus, done: $0)
            }
        }
    }
}
