import AudioPolicy
import EventLoop
import Foundation
import PipeWireServer
import SystemEventLoop
import Testing

/// A `PipeWireServer` on a loop that the test turns, with the graph as its events make it.
final class Watched {
    let loop: SystemEventLoop
    let server: PipeWireServer
    private(set) var info: ServerInfo?
    private(set) var graph = ServerGraph()
    private(set) var events: [SoundServerEvent] = []
    private(set) var levels: [StreamID: [Double]] = [:]
    private(set) var failures: [(ServerOperation, ServerFailure)] = []
    private(set) var lost: [ServerFailure] = []
    var onEvent: ((SoundServerEvent) -> Void)?

    init(_ privateServer: PrivateServer) throws {
        loop = try SystemEventLoop()
        server = PipeWireServer(loop: loop, remote: privateServer.socket)
        server.onEvent = { [unowned self] in self.receive($0) }
        server.start()
        try wait("the connection") { $0.info != nil || !$0.lost.isEmpty }
    }

    init(remote: String) throws {
        loop = try SystemEventLoop()
        server = PipeWireServer(loop: loop, remote: remote)
        server.onEvent = { [unowned self] in self.receive($0) }
        server.start()
    }

    deinit { server.stop() }

    private func receive(_ event: SoundServerEvent) {
        events.append(event)
        switch event {
        case .connected(let info, let graph):
            self.info = info
            self.graph = graph
        case .changed(let changes): for change in changes { graph.apply(change) }
        case .level(let stream, let peak): levels[stream, default: []].append(peak)
        case .failed(let operation, let failure): failures.append((operation, failure))
        case .lost(let failure): lost.append(failure)
        }
        onEvent?(event)
    }

    func forget() {
        events = []
        levels = [:]
        failures = []
    }

    /// Turns the loop until the condition holds, at most ten seconds.
    func wait(
        _ what: String, seconds: Double = 10, for condition: (Watched) throws -> Bool
    ) throws {
        let end = Date() + seconds
        while try !condition(self) {
            guard Date() < end else { throw Failure("waited in vain for \(what): \(summary)") }
            try loop.turn(timeout: .milliseconds(20))
        }
    }

    private var summary: String {
        graph.streams.values.map { stream in
            "\(stream.properties["node.name"] ?? "?") on \(String(describing: stream.device?.serial)) \(stream.volume) "
                + "corked \(stream.isCorked) soft \(String(describing: stream.softGain)) batch \(stream.includesBatch)"
        }.joined(separator: "; ") + " failures \(failures) lost \(lost)"
    }

    func turnOnce() throws { try loop.turn(timeout: .milliseconds(10)) }

    func turn(for duration: Double) throws {
        let end = Date() + duration
        while Date() < end { try loop.turn(timeout: .milliseconds(10)) }
    }

    /// Sets a soft gain, and again as the policy would where somebody's write ends it: programs write their own volume
    /// when they begin to play.
    func hold(_ gain: SoftGain, on id: StreamID) throws {
        var batch = server.perform([.setSoftGain(id, gain)])
        try wait("the gain") { watched in
            let stream = try watched.stream(id)
            if stream.softGain != gain, stream.includesBatch >= batch {
                batch = watched.server.perform([.setSoftGain(id, gain)])
            }
            return stream.softGain == gain
        }
    }

    func stream(named name: String, _ direction: AudioDirection = .output) -> ServerStream? {
        graph.streams.values.filter { $0.id.direction == direction && $0.properties["node.name"] == name }
            .max { $0.id < $1.id }
    }

    func stream(_ id: StreamID) throws -> ServerStream { try #require(graph.streams[id]) }

    func device(named name: String) -> ServerDevice? { graph.devices.values.first { $0.name == name } }

    /// Waits until the stream plays on a device with a known volume.
    func playing(_ name: String, _ direction: AudioDirection = .output) throws -> StreamID {
        try wait("\(name) to play") {
            guard let stream = $0.stream(named: name, direction) else { return false }
            return !stream.isCorked && stream.device != nil && !stream.volume.isEmpty
        }
        return try #require(stream(named: name, direction)).id
    }
}
