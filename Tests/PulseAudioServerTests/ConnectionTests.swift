import AudioPolicy
import EventLoop
import Foundation
import Glibc
import PulseAudioServer
import SystemEventLoop
import Testing

@Suite struct ConnectionTests {
    @Test func `CRA-03: a server that dies is lost once, and nothing is heard after`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        watcher.server.setMeters([music.id])
        try watcher.wait("metered") { !watcher.levels.isEmpty }
        watcher.server.perform([.setVolume(music.id, [0.1, 0.1]), .setCorkedRoles(["video"])])
        pulse.kill()
        try watcher.wait("lost") { !watcher.lost.isEmpty }
        #expect(watcher.lost.map(\.code) == [.unavailable])
        let heard = watcher.changes.count
        watcher.server.perform([.setMute(music.id, true)])
        watcher.server.setMeters([])
        for _ in 0..<20 { try watcher.loop.turn(timeout: .milliseconds(1)) }
        #expect(watcher.lost.count == 1)
        #expect(watcher.changes.count == heard)
        watcher.server.stop()
    }

    @Test func `No server there is unavailable, reported later and once`() throws {
        let watcher = try Watcher("unix:/nonexistent/native", connects: false)
        #expect(watcher.lost.isEmpty, "never from within start")
        try watcher.wait("lost") { !watcher.lost.isEmpty }
        #expect(watcher.lost.map(\.code) == [.unavailable])
    }

    @Test func `A server that does not let us in is another thing than none`() throws {
        let port = try freePort()
        let pulse = try PrivatePulse(
            extra: ["load-module module-native-protocol-tcp listen=127.0.0.1 port=\(port) auth-cookie=server-cookie"])
        let watcher = try Watcher("tcp:127.0.0.1:\(port)", connects: false)
        try watcher.wait("answered") { watcher.info != nil || !watcher.lost.isEmpty }
        #expect(watcher.lost.map(\.code) == [.accessDenied])
        _ = pulse
    }

    @Test func `Stopping in the middle of an event is safe`() throws {
        let pulse = try PrivatePulse()
        for stopAt in ["connected", "changed", "level"] {
            let watcher = try Watcher(pulse.address, connects: false)
            var stopped = false
            watcher.hook = { [unowned watcher] event in
                let name =
                    switch event {
                    case .connected: "connected"
                    case .changed: "changed"
                    case .level: "level"
                    default: ""
                    }
                #expect(!stopped, "\(name) after stop")
                if case .connected(_, let graph) = event { watcher.server.setMeters(Set(graph.streams.keys)) }
                if case .changed(let changes) = event {
                    for case .stream(let stream) in changes { watcher.server.setMeters([stream.id]) }
                }
                guard name == stopAt else { return }
                stopped = true
                watcher.server.stop()
            }
            let player = try pulse.play(role: "music")
            try watcher.wait("stopped at \(stopAt)") { stopped }
            for _ in 0..<20 { try watcher.loop.turn(timeout: .milliseconds(1)) }
            player.kill()
        }
    }

    @Test func `Dropping it in the middle of an event is safe`() throws {
        let pulse = try PrivatePulse()
        let loop = try SystemEventLoop()
        var server: PulseAudioServer? = PulseAudioServer(loop: loop, server: pulse.address)
        server?.onEvent = { _ in server = nil }
        server?.start()
        let deadline = Date(timeIntervalSinceNow: 10)
        while server != nil && Date() < deadline { try loop.turn(timeout: .milliseconds(20)) }
        #expect(server == nil)
        for _ in 0..<20 { try loop.turn(timeout: .milliseconds(1)) }
    }

    @Test func `What was performed before stop reaches the server`() throws {
        let pulse = try PrivatePulse()
        for _ in 0..<12 { try pulse.play(role: "music") }
        for round in 0..<10 {
            let watcher = try Watcher(pulse.address)
            try watcher.wait("all play") { watcher.outputs.count == 12 }
            let isMuted = round % 2 == 0
            watcher.server.perform(watcher.outputs.map { .setMute($0.id, isMuted) } + [.setCorkedRoles(["video"])])
            watcher.server.stop()
            let shown = try pulse.pactl("list", "sink-inputs").components(
                separatedBy: "Mute: \(isMuted ? "yes" : "no")")
            #expect(shown.count == 13)
            #expect(!(try pulse.pactl("list", "short", "modules")).contains("module-role-cork"))
        }
    }

    @Test func `Asked for PulseAudio where PipeWire answers, it says so`() throws {
        let pipewire = try PrivatePipeWire()
        let watcher = try Watcher(pipewire.address, connects: false)
        try watcher.wait("answered") { watcher.info != nil || !watcher.lost.isEmpty }
        #expect(watcher.info == nil)
        #expect(watcher.lost.map(\.code) == [.wrongServer])
        #expect(watcher.lost.first?.message.contains("use pipewire") == true)
    }
}

/// One that nobody listened on a moment ago.
private func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return try withUnsafeMutablePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            guard bind(descriptor, address, size) == 0, getsockname(descriptor, address, &size) == 0 else {
                throw Failure("no port: \(errno)")
            }
        }
        return UInt16(bigEndian: pointer.pointee.sin_port)
    }
}
