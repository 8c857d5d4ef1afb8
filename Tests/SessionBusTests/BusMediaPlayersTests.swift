import AudioPolicy
import CSystemd
import DaemonTestSupport
import EventLoop
import Foundation
import SystemEventLoop
import Testing

@testable import SessionBus

/// The media players on a private bus, with players that only this test could think of.
@Suite struct BusMediaPlayersTests {
    private let bus: PrivateBus
    private let loop: SystemEventLoop

    init() throws {
        bus = try PrivateBus()
        loop = try SystemEventLoop()
    }

    /// What was told, and who tells it.
    private final class Ear {
        let players: BusMediaPlayers
        var events: [PlayerEvent] = []

        init(_ players: BusMediaPlayers) {
            self.players = players
            players.onEvent = { [unowned self] in events.append($0) }
        }

        func count(_ event: PlayerEvent) -> Int { events.count { $0 == event } }
        var present: [MediaPlayer] { events.compactMap { if case .present(let player) = $0 { player } else { nil } } }
    }

    private func listening() throws -> Ear {
        let ear = Ear(BusMediaPlayers(loop: loop, address: bus.address))
        try ear.players.start()
        return ear
    }

    private func player(_ names: String...) throws -> FakePlayer {
        let player = try FakePlayer(bus.address, loop)
        for name in names { try player.take("org.mpris.MediaPlayer2." + name) }
        return player
    }

    @Test func `players are told of with their names and process, those that were there before the end of the list`()
        throws
    {
        let first = try player("one", "one.instance1")
        let stranger = try FakePlayer(bus.address, loop)
        try stranger.take("org.example.Other")
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        let expected = MediaPlayer(
            id: first.id, names: ["org.mpris.MediaPlayer2.one", "org.mpris.MediaPlayer2.one.instance1"], pid: getpid())
        #expect(ear.present.last == expected)
        #expect(Set(ear.present.map(\.id)) == [first.id])

        let second = try player("two")
        try loop.turn(until: { ear.present.last?.id == second.id }, "the second player")
        #expect(ear.present.last == MediaPlayer(id: second.id, names: ["org.mpris.MediaPlayer2.two"], pid: getpid()))
        try first.drop("org.mpris.MediaPlayer2.one")
        try loop.turn(until: { ear.present.last?.names == ["org.mpris.MediaPlayer2.one.instance1"] }, "one name less")
        second.leave()
        try loop.turn(until: { ear.count(.gone(second.id)) == 1 }, "the second player's end")
        #expect(ear.count(.gone(first.id)) == 0 && ear.count(.listed) == 1)
        ear.players.stop()
    }

    @Test func `an empty bus is listed, and a lost one is told of`() throws {
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        #expect(ear.present.isEmpty)
        bus.end()
        try loop.turn(until: { ear.count(.lost) == 1 }, "the loss")
    }

    @Test func `a status is read, and what is no status is none`() throws {
        let player = try player("one")
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        var round: UInt64 = 0
        func read() throws -> PlayerEvent? {
            round += 1
            ear.events = []
            ear.players.perform([.readStatus(player.id, round: round)])
            try loop.turn(until: { !ear.events.isEmpty }, "an answer")
            return ear.events.first
        }
        for status in [PlaybackStatus.playing, .paused, .stopped] {
            player.status = .text(status.rawValue)
            #expect(try read() == .status(player.id, round: round, status))
        }
        let nonsense: [FakePlayer.Status] = [
            .text(""), .text("playing"), .text(String(repeating: "Playing", count: 100_000)), .number, .error,
        ]
        for status in nonsense {
            player.status = status
            #expect(try read() == .status(player.id, round: round, nil))
        }
        ear.players.stop()
    }

    @Test func `a player that is gone gives no status, and nobody is started in its place`() throws {
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        ear.players.perform([.readStatus(PlayerID(":1.999"), round: 7), .pause(PlayerID(":1.999"), round: 8)])
        try loop.turn(until: { ear.events.count >= 4 }, "the answers")
        #expect(ear.count(.status(PlayerID(":1.999"), round: 7, nil)) == 1)
        #expect(ear.count(.answered(PlayerID(":1.999"), round: 8)) == 1)
        ear.players.stop()
    }

    @Test func `changes of status are told of a watched player alone, among whatever else has changed`() throws {
        let player = try player("one")
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        player.tellChanged(.text("Paused"), among: 3)
        // Its answer comes after what it has said before.
        ear.players.perform([.readStatus(player.id, round: 0)])
        try loop.turn(until: { ear.count(.status(player.id, round: 0, .playing)) == 1 }, "the answer")
        ear.players.perform([.watch(player.id), .readStatus(player.id, round: 1)])
        try loop.turn(until: { ear.count(.status(player.id, round: 1, .playing)) == 1 }, "the watch")
        #expect(ear.count(.changed(player.id, .paused)) == 0)
        player.tellChanged(.text("Stopped"), among: 3)
        try loop.turn(until: { ear.count(.changed(player.id, .stopped)) == 1 }, "the change")
        player.tellChanged(.number, among: 2)
        player.tellChanged(nil, among: 2)
        player.tellChanged(.text("Paused"), among: 0)
        try loop.turn(until: { ear.count(.changed(player.id, .paused)) == 1 }, "the next change")
        ear.players.perform([.unwatch(player.id), .readStatus(player.id, round: 2)])
        player.tellChanged(.text("Playing"), among: 0)
        try loop.turn(until: { ear.count(.status(player.id, round: 2, .playing)) == 1 }, "the end of the watch")
        #expect(ear.count(.changed(player.id, .playing)) == 0)
        ear.players.stop()
    }

    @Test func `what a player says before the bus has passed Pause on is told before, and what comes of it after`()
        throws
    {
        let player = try player("one")
        let ear = try listening()
        try loop.turn(until: { ear.count(.listed) == 1 }, "the list")
        ear.players.perform([.watch(player.id), .readStatus(player.id, round: 1)])
        try loop.turn(until: { ear.count(.status(player.id, round: 1, .playing)) == 1 }, "the watch")
        player.tellChanged(.text("Stopped"), among: 0)
        player.flush()
        ear.players.perform([.pause(player.id, round: 2)])
        try loop.turn(until: { ear.count(.answered(player.id, round: 2)) == 1 }, "the answer")
        let order = ear.events.suffix(4)
        #expect(
            Array(order) == [
                .changed(player.id, .stopped), .passedOn(player.id, round: 2), .changed(player.id, .paused),
                .answered(player.id, round: 2),
            ])
        #expect(player.calls == ["Pause"])
        ear.players.stop()
    }
}

/// A player of the test's own, on the test's loop.
private final class FakePlayer {
    enum Status {
        case text(String)
        case number
        /// No such property.
        case error
    }

    var status = Status.text("Playing")
    private(set) var calls: [String] = []
    private var connection: BusConnection?
    let id: PlayerID

    init(_ address: String, _ loop: SystemEventLoop) throws {
        let connection = try BusConnection(address: address)
        _ = try connection.work(for: .seconds(5)) { sd_bus_is_ready(connection.handle) > 0 }
        var name: UnsafePointer<CChar>?
        sd_bus_get_unique_name(connection.handle, &name)
        id = PlayerID(name.map { String(cString: $0) } ?? "")
        self.connection = connection
        sd_bus_add_filter(connection.handle, nil, called, Unmanaged.passUnretained(self).toOpaque())
        try connection.attach(to: loop)
    }

    func take(_ name: String) throws {
        guard let connection, sd_bus_request_name(connection.handle, name, 0) >= 0 else {
            throw TestFailure("the bus does not give \(name)")
        }
    }

    func drop(_ name: String) throws {
        guard let connection, sd_bus_release_name(connection.handle, name) >= 0 else {
            throw TestFailure("the bus does not take \(name)")
        }
    }

    func leave() { connection = nil }
    func flush() { if let connection { sd_bus_flush(connection.handle) } }

    fileprivate func receive(_ message: OpaquePointer) -> Int32 {
        let member = sd_bus_message_get_member(message).map { String(cString: $0) } ?? ""
        var type: UInt8 = 0
        sd_bus_message_get_type(message, &type)
        guard type == 1 else { return 0 }
        if member == "Get" {
            answer(message)
        } else {
            calls.append(member)
            status = .text("Paused")
            tellChanged(status, among: 1)
            var reply: OpaquePointer?
            if sd_bus_message_new_method_return(message, &reply) >= 0, let reply {
                sd_bus_send(nil, reply, nil)
                sd_bus_message_unref(reply)
            }
        }
        return 1
    }

    private func answer(_ message: OpaquePointer) {
        if case .error = status {
            sd_bus_reply_method_errno(message, ENOENT, nil)
            return
        }
        var handle: OpaquePointer?
        guard sd_bus_message_new_method_return(message, &handle) >= 0, let handle else { return }
        append(status, to: handle)
        sd_bus_send(nil, handle, nil)
        sd_bus_message_unref(handle)
    }

    private func append(_ status: Status, to message: OpaquePointer) {
        switch status {
        case .text(let text):
            sd_bus_message_open_container(message, CChar(UInt8(ascii: "v")), "s")
            _ = text.withCString { sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0) }
        case .number, .error:
            var number: UInt32 = 7
            sd_bus_message_open_container(message, CChar(UInt8(ascii: "v")), "u")
            sd_bus_message_append_basic(message, CChar(UInt8(ascii: "u")), &number)
        }
        sd_bus_message_close_container(message)
    }

    /// `PropertiesChanged`, with so many other properties before the status.
    func tellChanged(_ status: Status?, among others: Int) {
        guard let connection else { return }
        var handle: OpaquePointer?
        guard
            sd_bus_message_new_signal(
                connection.handle, &handle, "/org/mpris/MediaPlayer2", "org.freedesktop.DBus.Properties",
                "PropertiesChanged") >= 0, let handle
        else { return }
        let message = BusMessage(owning: handle)
        message.append("org.mpris.MediaPlayer2.Player")
        sd_bus_message_open_container(handle, CChar(UInt8(ascii: "a")), "{sv}")
        for number in 0..<others { entry("Other\(number)", .number, in: handle) }
        if let status { entry("PlaybackStatus", status, in: handle) }
        sd_bus_message_close_container(handle)
        sd_bus_message_open_container(handle, CChar(UInt8(ascii: "a")), "s")
        sd_bus_message_close_container(handle)
        sd_bus_send(connection.handle, handle, nil)
    }

    private func entry(_ name: String, _ value: Status, in message: OpaquePointer) {
        sd_bus_message_open_container(message, CChar(UInt8(ascii: "e")), "sv")
        _ = name.withCString { sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0) }
        append(value, to: message)
        sd_bus_message_close_container(message)
    }
}

private func called(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let context else { return 0 }
    return Unmanaged<FakePlayer>.fromOpaque(context).takeUnretainedValue().receive(message)
}
