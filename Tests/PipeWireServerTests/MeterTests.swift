import AudioPolicy
import EventLoop
import Foundation
import PipeWireServer
import SystemEventLoop
import Testing

@Suite(.serialized) struct MeterTests {
    private func start(_ server: PrivateServer, _ name: String, amplitude: Double) throws {
        let tone = try Tone(server.directory, frequency: 600, amplitude: amplitude)
        try server.start("pw-cat", "-p", "-P", "{ node.name = \(name) }", tone.path)
    }

    @Test func aMeterTellsTheLevelOfItsStreamAloneWithTheGainInIt() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            try start(server, "tone", amplitude: 0.25)
            try start(server, "loud", amplitude: 0.9)
            try start(server, "silence", amplitude: 0)
            let tone = try watched.playing("tone")
            let silence = try watched.playing("silence")
            watched.server.setMeters([tone, silence])
            try watched.wait("levels") { ($0.levels[tone]?.count ?? 0) > 5 && ($0.levels[silence]?.count ?? 0) > 5 }
            #expect(abs(try #require(watched.levels[tone]?.max()) - 0.25) < 0.01)
            #expect(watched.levels[silence]?.max() == 0)
            watched.server.perform([.setSoftGain(tone, SoftGain(volume: [0.1, 0.1], isMuted: false))])
            try watched.wait("the lower level") { abs(($0.levels[tone]?.last ?? 0) - 0.025) < 0.002 }
            // Nothing of the meters is in the graph, and mixers show them as monitors.
            #expect(watched.graph.streams.values.allSatisfy { $0.id.direction == .output })
            #expect(watched.graph.streams.count == 3)
            watched.server.setMeters([])
            try watched.wait("the meters' end") { _ in
                try server.output("pactl", "list", "short", "source-outputs").isEmpty
            }
            watched.forget()
            try watched.turn(for: 0.2)
            #expect(watched.levels.isEmpty)
        }
    }

    @Test func aMeterReports25TimesASecond() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            try start(server, "tone", amplitude: 0.25)
            let tone = try watched.playing("tone")
            watched.server.setMeters([tone])
            try watched.wait("levels") { ($0.levels[tone]?.count ?? 0) > 0 }
            watched.forget()
            let begin = watched.loop.now
            try watched.wait("a second of them") { ($0.levels[tone]?.count ?? 0) >= 20 }
            let rate =
                20
                / (Double((watched.loop.now - begin).components.attoseconds) / 1e18
                    + Double((watched.loop.now - begin).components.seconds))
            #expect(rate > 12 && rate < 30)
        }
    }

    @Test func aMeterEndsWithItsStreamAndHearsNoMicrophone() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let tone = try Tone(server.directory, frequency: 600)
            let process = try server.start("pw-cat", "-p", "-P", "{ node.name = tone }", tone.path)
            let id = try watched.playing("tone")
            watched.server.setMeters([id])
            try watched.wait("levels") { ($0.levels[id]?.count ?? 0) > 0 }
            PrivateServer.end(process)
            try watched.wait("the meter's end") { watched in
                try watched.graph.streams[id] == nil
                    && server.output("pactl", "list", "short", "source-outputs").isEmpty
            }
        }
    }
}
