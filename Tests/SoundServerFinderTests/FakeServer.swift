import AudioPolicy
import EventLoop
import Foundation
import Glibc
import SystemEventLoop

/// A sound server on a socket in the file system: whoever has the socket open there is connected to it.
final class FakeServer: SoundServer {
    let kind: ServerKind
    var onEvent: ((SoundServerEvent) -> Void)?
    private(set) var isStopped = false
    private var answer: (() -> SoundServerEvent?)?
    private let loop: SystemEventLoop

    /// - Parameter answer: what it says a moment after `start`; `nil`: nothing at all.
    init(_ kind: ServerKind, loop: SystemEventLoop, answer: @escaping () -> SoundServerEvent?) {
        self.kind = kind
        self.loop = loop
        self.answer = answer
    }

    func start() {
        loop.schedule(after: .milliseconds(1)) { [weak self] in
            guard let self, let event = answer?() else { return }
            onEvent?(event)
        }
    }

    func stop() {
        isStopped = true
        answer = nil
    }

    func perform(_ operations: [ServerOperation]) -> UInt64 { 0 }
    func setMeters(_ streams: Set<StreamID>) {}
    func say(_ event: SoundServerEvent) { onEvent?(event) }
}

/// A listening socket, or the leftover of one.
final class FakeSocket {
    let path: String
    private var descriptor: Int32

    /// Makes the directories on the way.
    init(_ path: String) throws {
        self.path = path
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        unlink(path)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        listen(descriptor, 128)
    }

    /// As a server that was killed: the socket's file stays.
    func die() {
        close(descriptor)
        descriptor = -1
    }

    /// As a server that ended in order.
    func end() {
        die()
        unlink(path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
