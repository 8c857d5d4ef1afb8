import AudioPolicy
import Foundation
import PipeWireServer
import Testing

@Suite(.serialized) struct OperationTests {
    private func play(_ server: PrivateServer, _ name: String, _ frequency: Double) throws -> Process {
        let tone = try Tone(server.directory, frequency: frequency)
        return try server.start(
            "pacat", "-p", "--file-format=wav", "--latency-msec=50", "--property=node.name=\(name)", tone.path)
    }

    /// Music on the default device, and the other one.
    private func musicOnSpeakers(
        _ server: PrivateServer, _ watched: Watched
    ) throws -> (music: StreamID, spk: ServerDevice, hs: ServerDevice) {
        _ = try play(server, "music", 600)
        let music = try watched.playing("music")
        return (
            music, try #require(watched.device(named: "spk")), try #require(watched.device(named: "hs"))
        )
    }

    private func hear(
        _ watched: Watched, _ recording: Recording, _ frequency: Double, _ what: String, _ holds: (Double) -> Bool
    ) throws {
        try watched.wait(what) { watched in
            holds(try recording.level(of: frequency) { try watched.turnOnce() })
        }
    }

    @Test func aPausedStreamIsSilentAndTheOtherPlaysOn() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            _ = try play(server, "music", 600)
            _ = try play(server, "other", 1200)
            let recording = try Recording(server, of: "spk")
            let music = try watched.playing("music")
            try hear(watched, recording, 600, "the music") { $0 > 0.2 }
            let batch = watched.server.perform([.pause(music)])
            try hear(watched, recording, 600, "the pause") { $0 < 0.001 }
            try hear(watched, recording, 1200, "the other") { $0 > 0.2 }
            try watched.wait("the answer") { try $0.stream(music).includesBatch == batch }
            watched.server.perform([.resume(music)])
            try hear(watched, recording, 600, "the music again") { $0 > 0.2 }
            #expect(watched.failures.isEmpty)
        }
    }

    @Test func aPauseHoldsAcrossAMoveAndTheStreamNeverSeemsCorked() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            _ = try play(server, "music", 600)
            let music = try watched.playing("music")
            let recording = try Recording(server, of: "hs")
            watched.server.perform([.pause(music)])
            watched.forget()
            let hs = try #require(watched.device(named: "hs"))
            watched.server.perform([.move(music, hs.id)])
            try watched.wait("the move") { try $0.stream(music).device == hs.id && $0.stream(music).includesBatch == 2 }
            // Heard here, were the pause lost: the sink's sound without it follows within a quantum.
            try hear(watched, recording, 600, "silence") { $0 < 0.001 }
            try hear(watched, recording, 600, "more silence") { $0 < 0.001 }
            for case .changed(let changes) in watched.events {
                for case .stream(let stream) in changes where stream.id == music { #expect(!stream.isCorked) }
            }
            watched.server.perform([.resume(music)])
            try hear(watched, recording, 600, "the music") { $0 > 0.2 }
        }
    }

    @Test func aMovedStreamGoesBackToTheDefaultAndLeavesNoKeyBehind_RTE() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let (music, spk, hs) = try musicOnSpeakers(server, watched)
            let before = try server.output("pw-metadata", "0")
            watched.server.perform([.move(music, hs.id)])
            try watched.wait("the move") { try $0.stream(music).device == hs.id }
            watched.server.perform([.move(music, nil)])
            try watched.wait("the way back") { try $0.stream(music).device == spk.id }
            let subject = try #require(try watched.stream(music).properties["object.id"])
            #expect(!(try server.output("pw-metadata", subject).contains("target.object")))
            #expect(
                try server.output("pw-metadata", "0").contains("default.configured")
                    == before.contains("default.configured"))
            #expect(watched.failures.isEmpty)
        }
    }

    @Test func aRouteIsGoneByAndTheStreamsOwnDeviceIsStored_RTE() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let (music, spk, hs) = try musicOnSpeakers(server, watched)
            let subject = try #require(try watched.stream(music).properties["object.id"])
            let own = try #require(spk.properties["object.id"])
            func stored() throws -> String {
                let lines = try server.output("pw-metadata", subject).split(separator: "\n")
                return lines.first { $0.contains("target.node") }.map { String($0.split(separator: "'")[3]) } ?? ""
            }
            #expect(try watched.stream(music).preferred == nil)
            watched.server.perform([.route(music, hs.id, back: nil)])
            try watched.wait("the route") { try $0.stream(music).device == hs.id }
            #expect(try stored() == "-1")
            watched.server.perform([.route(music, hs.id, back: spk.id)])
            try watched.wait("the same route") { try $0.stream(music).includesBatch == 2 }
            #expect(try stored() == own)
            watched.server.perform([.move(music, spk.id)])
            try watched.wait("the way back") { try $0.stream(music).device == spk.id }
            #expect(try stored() == "")
            // What we have asked for is nobody's word.
            #expect(try watched.stream(music).preferred == nil)
            // As the session manager restores it, and as people write it.
            _ = try server.output("pw-metadata", "-d", subject, "target.object")
            _ = try server.output("pw-metadata", subject, "target.node", own, "Spa:Id")
            try watched.wait("a restored device") { try $0.stream(music).preferred == spk.id }
            _ = try server.output("pw-metadata", subject, "target.object", "hs")
            try watched.wait("a device by its name") { try $0.stream(music).preferred == hs.id }
            _ = try server.output("pw-metadata", "-d", subject)
            try watched.wait("none") { try $0.stream(music).preferred == nil }
            #expect(watched.failures.isEmpty)
        }
    }

    @Test func whatCannotBeDoneIsSaid() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            _ = try play(server, "music", 600)
            let music = try watched.playing("music")
            let nobody = StreamID(.output, 99_999)
            watched.server.perform([
                .setVolume(music, [1, 1]), .setSoftGain(nobody, SoftGain(volume: [1], isMuted: false)),
                .move(music, DeviceID(.output, 99_999)),
            ])
            try watched.wait("the failures") { $0.failures.count == 3 }
            #expect(watched.failures.map(\.1.code) == [.other, .noEntity, .noEntity])
        }
    }

    @Test func aReusedIdIsAnotherStream_RAC02() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            var seen: [String: StreamID] = [:]
            for _ in 0..<10 {
                let process = try play(server, "music", 600)
                let id = try watched.playing("music")
                let global = try #require(try watched.stream(id).properties["object.id"])
                if let old = seen[global] {
                    watched.server.perform([
                        .setSoftGain(old, SoftGain(volume: [0.1, 0.1], isMuted: true)), .pause(old),
                        .clearSoftGain(old),
                    ])
                    try watched.wait("the failures") { $0.failures.count == 3 }
                    #expect(watched.failures.allSatisfy { $0.1.code == .noEntity })
                    #expect(try watched.stream(id).softGain == nil)
                    return
                }
                seen[global] = id
                PrivateServer.end(process)
                try watched.wait("the end") { $0.graph.streams[id] == nil }
            }
            Issue.record("no id was reused")
        }
    }

    @Test func aHiddenGainIsShownAndClearedOnRequest_RST08() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            _ = try play(server, "music", 600)
            let music = try watched.playing("music")
            let global = try #require(try watched.stream(music).properties["object.id"])
            try server.output("pw-cli", "s", global, "Props", "{ volume: 0.2 }")
            try watched.wait("the gain") { abs(try $0.stream(music).hiddenGain - 0.2) < 1e-6 }
            watched.server.perform([.setHiddenGain(music, 1)])
            try watched.wait("the end") { try $0.stream(music).hiddenGain == 1 }
            #expect(try watched.stream(music).volume == [1, 1])
        }
    }
}
