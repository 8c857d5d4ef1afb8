import AudioPolicy
import EventLoop
import Foundation
import PulseAudioServer
import SystemEventLoop

/// A loop with a connection on it, and everything that has been heard.
final class Watcher {
    let loop: SystemEventLoop
    let server: PulseAudioServer
    var graph = ServerGraph()
    var info: ServerInfo?
    var changes: [GraphChange] = []
    var failures: [(operation: ServerOperation, failure: ServerFailure)] = []
    var levels: [(stream: StreamID, peak: Double)] = []
    var lost: [ServerFailure] = []
    /// Called first with each event.
    var hook: (SoundServerEvent) -> Void = { _ in }

    init(_ address: String, connects: Bool = true) throws {
        loop = try SystemEventLoop()
        server = PulseAudioServer(loop: loop, server: address)
        server.onEvent = { [unowned self] in heard($0) }
        server.start()
        if connects { try wait("connected") { self.info != nil } }
    }

    deinit { server.stop() }

    private func heard(_ event: SoundServerEvent) {
        hook(event)
        switch event {
        case .connected(let info, let graph):
            self.info = info
            self.graph = graph
        case .changed(let new):
            changes += new
            for change in new { graph.apply(change) }
        case .level(let stream, let peak): levels.append((stream, peak))
        case .failed(let operation, let failure): failures.append((operation, failure))
        case .lost(let failure): lost.append(failure)
        }
    }

    func wait(_ what: String, seconds: Double = 15, _ condition: () -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while !condition() {
            guard Date() < deadline else { throw Failure("waited in vain: \(what)") }
            try loop.turn(timeout: .milliseconds(20))
        }
    }

    /// Lets pass what is under way: everything sent until now has been answered, and its events have arrived.
    func settle() throws {
        let marker = RestoreEntry(
            key: "sink-input-by-media-role:marker-\(markers)", volume: [], channelMap: "", isMuted: true, device: nil)
        markers += 1
        server.perform([.writeRestoreEntry(marker)])
        try wait("settled") { self.graph.restoreEntries[marker.key] != nil }
    }
    private var markers = 0

    var outputs: [ServerStream] { graph.streams.values.filter { $0.id.direction == .output }.sorted { $0.id < $1.id } }
    var inputs: [ServerStream] { graph.streams.values.filter { $0.id.direction == .input }.sorted { $0.id < $1.id } }

    func output(role: String) -> ServerStream? { outputs.first { $0.properties["media.role"] == role } }

    func device(_ name: String) -> ServerDevice? { graph.devices.values.first { $0.name == name } }

    /// Waits for a playback stream with this role.
    func stream(role: String) throws -> ServerStream {
        try wait("a stream with role \(role)") { self.output(role: role) != nil }
        guard let stream = output(role: role) else { throw Failure("no stream with role \(role)") }
        return stream
    }
}
