import AudioPolicy
import Foundation
import PipeWireServer
import Testing

/// What the streams' own programs do meanwhile.
@Suite(.serialized) struct ProgramTests {
    @Test func aProgramThatStartsAgainByItselfIsNotPausedAgain() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let player = try Player(server)
            try player.send("play", "music", "frequency=600", "amplitude=0.25", "prop:node.name=music")
            let music = try watched.playing("music")
            let recording = try Recording(server, of: "spk")
            func hear(_ what: String, _ holds: (Double) -> Bool) throws {
                try watched.wait(what) { watched in holds(try recording.level(of: 600) { try watched.turnOnce() }) }
            }
            try hear("the music") { $0 > 0.2 }
            watched.server.perform([.pause(music)])
            try hear("the pause") { $0 < 0.001 }
            #expect(try !watched.stream(music).isCorked)
            try player.send("cork", "music")
            try watched.wait("the cork") { try $0.stream(music).isCorked }
            try player.send("uncork", "music")
            try watched.wait("the uncork") { try !$0.stream(music).isCorked }
            try hear("the music again") { $0 > 0.2 }
            try hear("the music still") { $0 > 0.2 }
        }
    }

    @Test func aStreamThatIsMadeCorkedIsSoonSeenAsSuch_TRG03() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let player = try Player(server)
            try player.send(
                "play", "voice", "frequency=600", "corked=1", "prop:node.name=voice", "prop:media.role=phone")
            try watched.wait("the stream") {
                player.hasSaid("started", "voice") && $0.stream(named: "voice")?.isCorked == true
            }
            try player.send("uncork", "voice")
            try watched.wait("its sound") { $0.stream(named: "voice")?.isCorked == false }
            try player.send("cork", "voice")
            try watched.wait("its end") { $0.stream(named: "voice")?.isCorked == true }
        }
    }

    @Test func aStreamThatMayNotBeMovedIsLeftWhereItIs() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            let player = try Player(server)
            try player.send("play", "fixed", "frequency=600", "dont-move=1", "prop:node.name=fixed")
            let fixed = try watched.playing("fixed")
            #expect(try !watched.stream(fixed).isMovable)
            watched.server.perform([.move(fixed, try #require(watched.device(named: "hs")).id)])
            try watched.wait("the failure") { !$0.failures.isEmpty }
            #expect(watched.failures.map(\.1.code) == [.other])
        }
    }

    @Test func aStoppedProgramHoldsUpNobodyElse() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            let stopped = try server.start("pw-cat", "-p", "-P", "{ node.name = stopped }", tone.path)
            try server.start("pw-cat", "-p", "-P", "{ node.name = lively }", tone.path)
            let first = try watched.playing("stopped")
            let second = try watched.playing("lively")
            let gain = SoftGain(volume: [0.1, 0.1], isMuted: false)
            try watched.hold(SoftGain(volume: [0.9, 0.9], isMuted: false), on: second)
            kill(stopped.processIdentifier, SIGSTOP)
            watched.forget()
            watched.server.perform([.setSoftGain(first, gain), .setSoftGain(second, gain)])
            // The stream is told of again, so that what did not reach it is sent again.
            try watched.wait("the held up stream's turn") { watched in
                watched.events.contains { event in
                    guard case .failed(.setSoftGain(second, gain), let failure) = event else { return false }
                    return failure.code == .other
                }
            }
            try watched.hold(gain, on: second)
            watched.server.perform([.clearSoftGain(second)])
            try watched.wait("the end of the gain") { try $0.stream(second).softGain == nil }
            // It is asked nothing while it is silent, and can be asked again when it is back.
            watched.forget()
            watched.server.perform([.setSoftGain(first, gain)])
            try watched.wait("the failure") { !$0.failures.isEmpty }
            #expect(watched.lost.isEmpty)
            watched.forget()
            kill(stopped.processIdentifier, SIGCONT)
            try watched.wait("its return") { watched in
                watched.events.contains { event in
                    guard case .changed(let changes) = event else { return false }
                    return changes.contains { if case .stream(let stream) = $0 { stream.id == first } else { false } }
                }
            }
            try watched.hold(SoftGain(volume: [0.2, 0.2], isMuted: false), on: first)
        }
    }
}
