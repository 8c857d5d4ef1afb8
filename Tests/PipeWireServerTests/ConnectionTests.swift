import AudioPolicy
import Foundation
import PipeWireServer
import Testing

@Suite(.serialized) struct ConnectionTests {
    @Test func whereThereIsNoServerItIsUnavailable() async throws {
        try await onOwnThread {
            let watched = try Watched(remote: "/nonexistent/pipewire-0")
            #expect(watched.lost.isEmpty)
            try watched.wait("the failure") { !$0.lost.isEmpty }
            #expect(watched.lost.map(\.code) == [.unavailable])
            #expect(watched.events.count == 1)
        }
    }

    /// By a list that servers of 0.3 have, and later ones no more.
    @Test func aServerThatLetsUsDoNothingDeniesAccess_CI02() async throws {
        try await onOwnThread {
            let server = try PrivateServer(hasSessionManager: false, rejects: CommandLine.arguments[0])
            let watched = try Watched(remote: server.socket)
            try watched.wait("the refusal") { !$0.lost.isEmpty }
            #expect(watched.lost.map(\.code) == [.accessDenied])
            #expect(watched.events.count == 1)
        }
    }

    @Test func aServerThatDiesIsLostOnce_CRA02() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            server.killServer()
            try watched.wait("the loss") { !$0.lost.isEmpty }
            try watched.turn(for: 0.2)
            #expect(watched.lost.map(\.code) == [.unavailable])
            if case .lost = watched.events.last {} else { Issue.record("something came after the loss") }
            // What comes too late is nobody's.
            watched.server.perform([.pause(StreamID(.output, 1))])
            watched.server.setMeters([StreamID(.output, 1)])
            watched.server.stop()
        }
    }

    @Test func aCallbackMayStopTheServer() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            watched.onEvent = { [unowned watched] event in
                if case .changed = event { watched.server.stop() }
            }
            watched.forget()
            try server.start("pw-cat", "-p", tone.path)
            try watched.wait("a change") { !$0.events.isEmpty }
            try watched.turn(for: 0.3)
            #expect(watched.events.count == 1)
        }
    }

    @Test func withoutASessionManagerThereIsAGraphWithoutDefaults_CI04() async throws {
        try await onOwnThread {
            let server = try PrivateServer(hasSessionManager: false)
            let watched = try Watched(server)
            #expect(watched.info != nil)
            #expect(watched.graph.defaultOutput == nil && watched.graph.streams.isEmpty)
            // Servers of 1.4 show a client nothing until a session manager allows it to look.
            #expect([0, 3].contains(watched.graph.devices.count))
            try server.startSessionManager()
            try watched.wait("the default") { $0.graph.defaultOutput != nil && $0.graph.devices.count == 3 }
        }
    }

    @Test func aSessionManagerThatDiesAndComesBackIsOnlyChanges_CRA03() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            try server.start("pw-cat", "-p", "-P", "{ node.name = music }", tone.path)
            let id = try watched.playing("music")
            let gain = SoftGain(volume: [0.1, 0.1], isMuted: false)
            try watched.hold(gain, on: id)
            let devices = Set(watched.graph.devices.keys)
            server.killSessionManager()
            try watched.wait("its end") { $0.graph.defaultOutput == nil && $0.graph.streams[id]?.device == nil }
            #expect(Set(watched.graph.devices.keys) == devices)
            #expect(try watched.stream(id).softGain == gain)
            try watched.wait("its silence") { try $0.stream(id).isCorked }
            watched.server.perform([.move(id, devices.first { $0.direction == .output })])
            try watched.wait("the failure") { !$0.failures.isEmpty }
            #expect(watched.failures.map(\.1.code) == [.other])
            watched.forget()
            try server.startSessionManager()
            try watched.wait("its return") { $0.graph.defaultOutput != nil }
            #expect(watched.graph.defaultOutput == watched.device(named: "spk")?.id)
            watched.server.perform([.clearSoftGain(id)])
            try watched.wait("the end of the gain") { try $0.stream(id).softGain == nil }
            #expect(Set(watched.graph.devices.keys) == devices)
            #expect(watched.lost.isEmpty && watched.failures.isEmpty)
        }
    }
}
