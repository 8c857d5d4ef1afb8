import AudioPolicy
import DaemonTestSupport
import EventLoop
import Foundation
import SystemEventLoop
import Testing

@testable import SoundServerFinder

@Suite struct ServerFinderTests {
    private let directory: TemporaryDirectory
    private let loop: SystemEventLoop
    private let world = World()

    /// What the finder made and said.
    private final class World {
        /// Whether what answers PulseAudio's socket is PipeWire in disguise.
        var pulseIsPipeWire = false
        var denies: Set<ServerKind> = []
        var silent: Set<ServerKind> = []
        var made: [FakeServer] = []
        var said: [String] = []

        var last: String { said.last ?? "" }
        var current: FakeServer? { made.last { !$0.isStopped } }
    }

    init() throws {
        directory = try TemporaryDirectory()
        loop = try SystemEventLoop()
    }

    private var pulse: String { directory.path + "/pulse/native" }
    private var pipeWire: String { directory.path + "/pipewire-0" }

    private func finder(_ choice: PolicySettings.ServerChoice = .auto, waits: Bool = true) -> ServerFinder {
        let places = ServerPlaces(environment: ["XDG_RUNTIME_DIR": directory.path])
        let finder = ServerFinder(loop: loop, choice: choice, places: places, waits: waits) { [self] kind in
            let server = FakeServer(kind, loop: loop) { [self] in answer(kind) }
            world.made.append(server)
            return server
        }
        finder.onConnected = { [world] server, info, _ in world.said.append("connected \(server.kind) \(info.version)")
        }
        finder.onLost = { [world] in world.said.append("lost \($0.code)") }
        finder.onNone = { [world] in world.said.append("none \($0.code): \($0.message)") }
        finder.onRefused = { [world] in world.said.append("refused \($0.code)") }
        finder.onEvent = { [world] in if case .level(_, let peak) = $0 { world.said.append("level \(peak)") } }
        finder.start()
        return finder
    }

    private func answer(_ kind: ServerKind) -> SoundServerEvent? {
        if world.silent.contains(kind) { return nil }
        guard socketAnswers(kind == .pulseaudio ? pulse : pipeWire) else {
            return .lost(ServerFailure(.unavailable, "connection refused"))
        }
        if world.denies.contains(kind) { return .lost(ServerFailure(.accessDenied, "\(kind.shownName) denies access")) }
        if kind == .pulseaudio, world.pulseIsPipeWire {
            return .lost(ServerFailure(.wrongServer, "this is PipeWire's pipewire-pulse; use --server pipewire"))
        }
        return .connected(ServerInfo(kind: kind, version: "1"), ServerGraph())
    }

    private func wait(for said: String) throws {
        try loop.turn(until: { world.last.hasPrefix(said) }, "\(said), after \(world.said)")
    }

    @Test func `A PulseAudio that is none in disguise comes first`() throws {
        let sockets = try [FakeSocket(pulse), FakeSocket(pipeWire)]
        let finder = finder()
        try wait(for: "connected pulseaudio 1")
        finder.stop()
        withExtendedLifetime(sockets) {}
    }

    @Test func `Where pipewire-pulse answers, PipeWire itself is taken, and PulseAudio's connection is closed`() throws
    {
        world.pulseIsPipeWire = true
        let sockets = try [FakeSocket(pulse), FakeSocket(pipeWire)]
        let finder = finder()
        try wait(for: "connected pipewire 1")
        #expect(world.made.map(\.isStopped) == [true, false])
        finder.stop()
        #expect(world.made.allSatisfy { $0.isStopped })
        withExtendedLifetime(sockets) {}
    }

    @Test func `PulseAudio asked for where pipewire-pulse answers is refused`() throws {
        world.pulseIsPipeWire = true
        let socket = try FakeSocket(pulse)
        let finder = finder(.pulseaudio)
        try wait(for: "refused wrongServer")
        finder.stop()
        withExtendedLifetime(socket) {}
    }

    @Test(arguments: [PolicySettings.ServerChoice.auto, .pipewire])
    func `A server that appears later is found, also in directories that do not exist yet`(
        choice: PolicySettings.ServerChoice
    ) throws {
        let finder = finder(choice)
        try wait(for: "none unavailable")
        #expect(world.made.isEmpty)
        let start = ContinuousClock().now
        let socket = try FakeSocket(choice == .auto ? pulse : pipeWire)
        try wait(for: "connected")
        #expect(ContinuousClock().now - start < .seconds(2))
        finder.stop()
        withExtendedLifetime(socket) {}
    }

    @Test func `CRA-02 A killed server is found again within 2 s of its return, without a busy loop meanwhile`() throws
    {
        var socket = try FakeSocket(pulse)
        let finder = finder()
        try wait(for: "connected")
        socket.die()
        world.current?.say(.lost(ServerFailure(.unavailable, "killed")))
        try wait(for: "none")
        let end = ContinuousClock().now + .seconds(1)
        try loop.turn(until: { ContinuousClock().now > end })
        // 10, 20, 40 … ms: seven tries in the first 1.3 s.
        #expect(world.made.count <= 9)
        let start = ContinuousClock().now
        socket = try FakeSocket(pulse)
        try wait(for: "connected")
        #expect(ContinuousClock().now - start < .seconds(2))
        #expect(world.said.prefix(2) == ["connected pulseaudio 1", "lost unavailable"])
        finder.stop()
    }

    @Test func `Another kind that appears instead is taken`() throws {
        let socket = try FakeSocket(pulse)
        let finder = finder()
        try wait(for: "connected pulseaudio")
        socket.end()
        world.current?.say(.lost(ServerFailure(.unavailable, "ended")))
        try wait(for: "none")
        let other = try FakeSocket(pipeWire)
        try wait(for: "connected pipewire")
        finder.stop()
        withExtendedLifetime(other) {}
    }

    @Test func `CI-02 A server that shuts us out is told from none`() throws {
        world.denies = [.pulseaudio]
        let socket = try FakeSocket(pulse)
        let finder = finder()
        try wait(for: "none accessDenied: PulseAudio denies access")
        try loop.turn(until: { world.made.count > 2 }, "another try")
        #expect(world.said.count == 1)
        world.denies = []
        try wait(for: "connected")
        finder.stop()
        withExtendedLifetime(socket) {}
    }

    @Test func `A one-shot search says at once that nothing is there`() throws {
        let finder = finder(waits: false)
        #expect(world.said == ["none unavailable: neither PulseAudio nor PipeWire answers"])
        finder.stop()
    }

    @Test func `A server that accepts and says nothing does not hide the other one`() throws {
        world.silent = [.pulseaudio]
        let sockets = try [FakeSocket(pulse), FakeSocket(pipeWire)]
        let finder = finder()
        try wait(for: "connected pipewire")
        finder.stop()
        withExtendedLifetime(sockets) {}
    }

    @Test func `Events of the connected server are passed on, those of a dropped one are not`() throws {
        let socket = try FakeSocket(pulse)
        let finder = finder()
        try wait(for: "connected")
        let server = try #require(world.current)
        server.say(.level(StreamID(.output, 1), peak: 0.5))
        #expect(world.last == "level 0.5")
        server.say(.lost(ServerFailure(.unavailable, "gone")))
        server.say(.level(StreamID(.output, 1), peak: 0.25))
        #expect(world.last == "lost unavailable")
        finder.stop()
        let count = world.made.count
        let end = ContinuousClock().now + .milliseconds(200)
        try loop.turn(until: { ContinuousClock().now > end })
        #expect(world.made.count == count)
        withExtendedLifetime(socket) {}
    }

    @Test(
        arguments: [
            (["XDG_RUNTIME_DIR": "/r"], [.socket("/r/pulse/native")], [.socket("/r/pipewire-0")]),
            (
                ["XDG_RUNTIME_DIR": "/r", "PULSE_RUNTIME_PATH": "/p"], [.socket("/p/native")],
                [.socket("/r/pipewire-0")]
            ),
            (
                ["PULSE_SERVER": "{a1}unix:/s tcp:host:4713", "PIPEWIRE_RUNTIME_DIR": "/w", "XDG_RUNTIME_DIR": "/r"],
                [.socket("/s"), .elsewhere("tcp:host:4713")], [.socket("/w/pipewire-0")]
            ),
            (["PULSE_SERVER": "/s", "PIPEWIRE_REMOTE": "/abs/other"], [.socket("/s")], [.socket("/abs/other")]),
            (
                ["PIPEWIRE_REMOTE": "[ \"a-manager\", \"a\" ]", "XDG_RUNTIME_DIR": "/r"], [.socket("/r/pulse/native")],
                [.socket("/r/a-manager"), .socket("/r/a")]
            ),
            ([:], [], []),
        ] as [([String: String], [ServerPlaces.Place], [ServerPlaces.Place])])
    func `Servers are where their libraries' variables say`(
        environment: [String: String], pulseAudio: [ServerPlaces.Place], pipeWire: [ServerPlaces.Place]
    ) {
        let places = ServerPlaces(environment: environment)
        #expect(places[.pulseaudio] == pulseAudio)
        #expect(places[.pipewire] == pipeWire)
    }
}
