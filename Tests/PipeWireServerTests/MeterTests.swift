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

    @Test func theMeterOfACaptureHearsItsSourceAndFollowsItToAnother() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            try server.output("pactl", "load-module", "module-remap-source", "source_name=throat", "master=hs.monitor")
            let watched = try Watched(server)
            let tone = try Tone(server.directory, frequency: 600)
            try server.start("pw-cat", "-p", "--target", "hs", "-P", "{ node.name = tone }", tone.path)
            _ = try watched.playing("tone")
            try watched.wait("the microphone") { $0.device(named: "throat") != nil }
            try server.start(
                "pw-cat", "-r", "--target", "throat", "-P", "{ node.name = capture }",
                server.directory.appending(path: "capture.wav").path)
            let id = try watched.playing("capture", .input)
            watched.server.setMeters([id])
            func heard(_ what: String, _ fits: @escaping (Double) -> Bool) throws {
                watched.forget()
                try watched.wait(what) {
                    ($0.levels[id] ?? []).suffix(3).count == 3 && $0.levels[id]?.suffix(3).allSatisfy(fits) == true
                }
            }
            try heard("the sound") { $0 > 0.2 }
            // Its own mute is its program's business: the source is what is heard.
            try server.output("pactl", "set-source-output-mute", "\(id)", "1")
            try watched.wait("the mute") { try $0.stream(id).isMuted }
            try heard("the sound still") { $0 > 0.2 }
            for (source, isSilent) in [("mic", true), ("throat", false)] {
                try watched.wait("the move to \(source)") { watched in
                    try server.output("pactl", "move-source-output", "\(id)", source)
                    return try watched.stream(id).device == watched.device(named: source)?.id
                }
                try heard("what \(source) has") { ($0 == 0) == isSilent }
            }
            let captures = watched.graph.streams.values.filter {
                $0.properties["node.name"]?.hasPrefix("sordino") == true
            }
            #expect(captures.isEmpty, "the meter is no part of the graph")
            watched.server.setMeters([])
            try watched.wait("the meter's end") { _ in
                try !server.output("pactl", "list", "source-outputs").contains("sordino.meter")
            }
        }
    }

    @Test func anotherProgramSeesTheMeterOfAMicrophoneAsAMonitor() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            try server.start(
                "pw-cat", "-r", "--target", "mic", "-P", "{ node.name = capture }",
                server.directory.appending(path: "capture.wav").path)
            let id = try watched.playing("capture", .input)
            watched.server.setMeters([id])
            try watched.wait("levels") { ($0.levels[id]?.count ?? 0) > 0 }
            let other = try Watched(server)
            let meters = other.graph.streams.values.filter { $0.properties["node.name"]?.hasPrefix("sordino") == true }
            #expect(meters.count == 1)
            for property in ["stream.monitor", "node.virtual", "node.passive"] {
                #expect(meters.first?.properties[property] == "true", "\(property)")
            }
        }
    }

    /// Where the stream has just been unlinked a meter has nothing to hear, and gets it with the next link.
    @Test func aCaptureThatIsNotLinkedYetIsMeteredOnceItIs() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            watched.onEvent = { event in
                guard case .changed(let changes) = event else { return }
                for case .stream(let stream) in changes where stream.id.direction == .input {
                    watched.server.setMeters([stream.id])
                }
            }
            try server.start(
                "pw-cat", "-r", "--target", "mic", "-P", "{ node.name = capture }",
                server.directory.appending(path: "capture.wav").path)
            let id = try watched.playing("capture", .input)
            try watched.wait("levels") { ($0.levels[id]?.count ?? 0) > 2 }
            #expect(watched.levels[id]?.max() == 0)
        }
    }
}
