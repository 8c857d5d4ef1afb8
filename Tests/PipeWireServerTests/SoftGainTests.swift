import AudioPolicy
import Foundation
import PipeWireServer
import Testing

/// Ducking by soft volumes, heard in the sound of the sink.
@Suite(.serialized) struct SoftGainTests {
    private let tenth = SoftGain(volume: [0.1, 0.1], isMuted: false)

    private struct Stage {
        let server: PrivateServer
        let watched: Watched
        let recording: Recording
        let stream: StreamID
        let frequency: Double

        /// Waits until the tone has this level, relative to its own, in decibels.
        func expectLevel(_ wanted: Double, within tolerance: Double = 0.5) throws {
            var last = 0.0
            let end = Date() + 10
            repeat {
                last = decibels(try level() / 0.25)
                if abs(last - wanted) <= tolerance || (wanted < -60 && last < -60) { return }
            } while Date() < end
            throw Failure("the level is \(last) dB, not \(wanted) dB")
        }

        func level() throws -> Double {
            try recording.level(of: frequency) { try watched.turnOnce() }
        }
    }

    private func stage(_ command: [String] = ["pw-cat", "-p", "-P", "{ node.name = music }"]) throws -> Stage {
        let server = try PrivateServer()
        let tone = try Tone(server.directory, frequency: 600)
        let watched = try Watched(server)
        try server.start(command + [tone.path])
        let recording = try Recording(server, of: "spk")
        let stream = try watched.playing("music")
        let stage = Stage(server: server, watched: watched, recording: recording, stream: stream, frequency: 600)
        try watched.wait("the tone") { _ in try stage.level() > 0.2 }
        return stage
    }

    private let pacat = ["pacat", "-p", "--file-format=wav", "--latency-msec=50", "--property=node.name=music"]

    @Test func aSoftGainIsHeardAndNoMixerShowsIt() async throws {
        try await onOwnThread {
            for command in [["pw-cat", "-p", "-P", "{ node.name = music }"], pacat] {
                let stage = try stage(command)
                let batch = stage.watched.server.perform([.setSoftGain(stage.stream, tenth)])
                try stage.watched.wait("the echo") { try $0.stream(stage.stream).softGain == tenth }
                #expect(try stage.watched.stream(stage.stream).includesBatch == batch)
                try stage.expectLevel(-20)
                #expect(try stage.server.output("pactl", "list", "sink-inputs").contains("100%"))
                #expect(try stage.watched.stream(stage.stream).volume == [1, 1])
                stage.watched.server.perform([.clearSoftGain(stage.stream)])
                try stage.watched.wait("the end") { try $0.stream(stage.stream).softGain == nil }
                try stage.expectLevel(0, within: 0.05)
                #expect(try stage.watched.stream(stage.stream).volume == [1, 1])
            }
        }
    }

    @Test func aUsersVolumeOrMuteEndsTheSoftGainAndIsSeenEvenWhereItChangesNothing() async throws {
        try await onOwnThread {
            let stage = try stage(pacat)
            let serial = stage.stream.description
            let writes: [[String]] = [
                ["pactl", "set-sink-input-volume", serial, "50%"], ["pactl", "set-sink-input-volume", serial, "50%"],
                ["pactl", "set-sink-input-mute", serial, "0"], ["pactl", "set-sink-input-mute", serial, "1"],
                ["pactl", "set-sink-input-mute", serial, "1"], ["pactl", "set-sink-input-mute", serial, "0"],
            ]
            for write in writes {
                let now = try stage.watched.stream(stage.stream)
                let gain = SoftGain(volume: now.volume.map { $0 * 0.1 }, isMuted: now.isMuted)
                stage.watched.server.perform([.setSoftGain(stage.stream, gain)])
                try stage.watched.wait("the gain") { try $0.stream(stage.stream).softGain == gain }
                try stage.server.output(write)
                try stage.watched.wait("the end after \(write)") { try $0.stream(stage.stream).softGain == nil }
            }
            #expect(try stage.watched.stream(stage.stream).volume == [0.125, 0.125])
            try stage.expectLevel(decibels(0.125))
        }
    }

    @Test func aStreamThatItsUserMutedStaysSilentUnderASoftGain() async throws {
        try await onOwnThread {
            let stage = try stage(pacat)
            try stage.server.output("pactl", "set-sink-input-mute", stage.stream.description, "1")
            try stage.watched.wait("the mute") { try $0.stream(stage.stream).isMuted }
            try stage.expectLevel(-100)
            let gain = SoftGain(volume: [0.1, 0.1], isMuted: true)
            stage.watched.server.perform([.setSoftGain(stage.stream, gain)])
            try stage.watched.wait("the gain") { try $0.stream(stage.stream).softGain == gain }
            try stage.expectLevel(-100)
            stage.watched.server.perform([.clearSoftGain(stage.stream)])
            try stage.watched.wait("the end") { try $0.stream(stage.stream).softGain == nil }
            #expect(try stage.watched.stream(stage.stream).isMuted)
            try stage.expectLevel(-100)
        }
    }

    @Test func aClearOverwritesNoVolumeThatTheUserWritesInTheSameMoment() async throws {
        try await onOwnThread {
            let stage = try stage(pacat)
            stage.watched.server.perform([.setSoftGain(stage.stream, tenth)])
            try stage.watched.wait("the gain") { try $0.stream(stage.stream).softGain == tenth }
            // The user's write is on the server before ours, and its event is not read before.
            try stage.server.output("pactl", "set-sink-input-volume", stage.stream.description, "50%")
            stage.watched.server.perform([.clearSoftGain(stage.stream)])
            try stage.watched.wait("the answer") { try $0.stream(stage.stream).includesBatch == 2 }
            #expect(try stage.watched.stream(stage.stream).volume == [0.125, 0.125])
            #expect(try stage.server.output("pactl", "list", "sink-inputs").contains("50%"))
        }
    }

    @Test func aBalanceAndSixChannelsAreKeptPerChannel() async throws {
        try await onOwnThread {
            let stage = try stage(pacat)
            try stage.server.output("pactl", "set-sink-input-volume", stage.stream.description, "40%", "100%")
            try stage.watched.wait("the balance") { try $0.stream(stage.stream).volume.first.map { $0 < 0.1 } == true }
            let volume = try stage.watched.stream(stage.stream).volume
            let gain = SoftGain(volume: volume.map { $0 * 0.2 }, isMuted: false)
            stage.watched.server.perform([.setSoftGain(stage.stream, gain)])
            try stage.watched.wait("the gain") { try $0.stream(stage.stream).softGain == gain }
            stage.watched.server.perform([.clearSoftGain(stage.stream)])
            try stage.watched.wait("the end") { try $0.stream(stage.stream).softGain == nil }
            #expect(try stage.watched.stream(stage.stream).volume == volume)
        }
    }

    @Test func theSessionManagersStoreNeverSeesASoftGain_RST01_RST02() async throws {
        try await onOwnThread {
            let stage = try stage(pacat + ["--property=media.role=music"])
            stage.watched.server.perform([.setSoftGain(stage.stream, tenth)])
            try stage.watched.wait("the gain") { try $0.stream(stage.stream).softGain == tenth }
            // Long enough for the store to be written, which the user's write after it shows.
            try stage.server.output("pactl", "set-sink-input-volume", stage.stream.description, "90%")
            var text = ""
            try stage.watched.wait("the store") { _ in
                text = stage.server.store
                return text.contains("0.7289")
            }
            #expect(!text.contains("0.1;") && !text.contains(":0.100"))
        }
    }

    @Test func aStreamInTheMakingGetsItsGainAfterTheStoredVolume() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            // Leave a stored volume behind.
            let first = try server.start(pacat + [tone.path])
            let id = try watched.playing("music")
            try server.output("pactl", "set-sink-input-volume", id.description, "50%")
            try watched.wait("the store") { _ in server.store.contains("0.125") }
            PrivateServer.end(first)
            try watched.wait("the end") { $0.graph.streams[id] == nil }

            var asked: StreamID?
            let gain = SoftGain(volume: [0.0125, 0.0125], isMuted: false)
            watched.onEvent = { [unowned watched] event in
                guard case .changed(let changes) = event else { return }
                for case .stream(let stream) in changes where asked == nil && stream.id != id {
                    asked = stream.id
                    #expect(stream.volume.isEmpty)
                    watched.server.perform([.setSoftGain(stream.id, gain)])
                }
            }
            try server.start(pacat + [tone.path])
            let second = try watched.playing("music")
            #expect(second == asked)
            watched.onEvent = nil
            try watched.hold(gain, on: second)
            #expect(try watched.stream(second).volume == [0.125, 0.125])
            let recording = try Recording(server, of: "spk")
            try watched.wait("the level") { watched in
                let level = try recording.level(of: 600) { try watched.turnOnce() }
                return abs(decibels(level / 0.25) - decibels(0.0125)) < 0.5
            }
        }
    }
}
