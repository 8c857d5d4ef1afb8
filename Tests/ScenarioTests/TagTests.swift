import AudioPolicy
import AudioSession
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// Tags on streams of others than the claim's holder, on real servers.
@Suite struct TagTests {
    /// How a claim is held.
    enum Way: CaseIterable {
        /// By `sordino hold`, over the bus, with a wish.
        case bus
        /// By a program that is written with the library.
        case library
    }

    @Test(
        "a stream that carries another program's tag is not its claim's: not routed, not spared, and explained as what it is",
        arguments: HeadlessServerKind.allCases, Way.allCases)
    func foreignTag(kind: HeadlessServerKind, way: Way) async throws {
        let form = kind == .pulseaudio ? "device.form_factor" : "device.form-factor"
        let options = HeadlessOptions(
            server: kind,
            sinks: [.init("hs", properties: [form: "headphone"]), .init("spk", properties: [form: "speaker"])])
        let everywhere = atOnce + "\nsession = { scope = everywhere }\n"
        try await onDesktop(kind, configuration: everywhere, options: options) { desktop in
            let headset = try await desktop.ear(on: "hs")
            let speakers = try await desktop.ear(on: "spk")
            let holder = try await desktop.holder(way)
            let own = way == .bus ? speakers : headset
            try await own.waitFor(Desktop.Tone.voice, at: Desktop.baseline)
            let held = try await desktop.waitForStatus("a claim with its stream") { status in
                status.claims.contains { $0.origin == "explicit" && $0.streams.count == 1 }
            }
            let claim = try #require(held.claims.first { $0.origin == "explicit" })
            let tag = try #require(try await desktop.tags().first)
            #expect(tag.hasSuffix("/\(claim.kind)"))

            let other = try await desktop.play(
                "music", Desktop.Tone.music, name: "radio", properties: [AudioSessionClientKind.streamTagProperty: tag])
            let level = way == .bus ? -6.0 : -14.0
            try await desktop.expect([other.frequency: level], on: headset)
            try await desktop.expect(
                [other.frequency: -.infinity, Desktop.Tone.voice: way == .bus ? 0 : -.infinity], on: speakers)
            #expect(try await desktop.tags().count == 2)
            let status = try await desktop.status()
            #expect(status.claims.first { $0.id == claim.id }?.streams == claim.streams)
            let stream = try #require(status.streams.first { $0.id == String(other.stream.index) })
            #expect(stream.kind == "mediaPlayback" && stream.classifiedBy == "role" && stream.claim != claim.id)
            #expect(stream.effect?.because == [claim.id])
            let explained = try await desktop.sordino("explain", "radio").lines.joined()
            #expect(
                explained.lowercased().contains(
                    "is taken for mediaplayback by its role “music”; the tag that it carries names no claim"),
                "\(explained)")
            #expect(explained.contains("because of \(claim.owner.name) (\(claim.kind), \(claim.id))"), "\(explained)")

            holder.process.signal(SIGTERM)
            try await desktop.expect([other.frequency: 0], on: headset)
            try await desktop.waitForRest()
        }
    }
}

extension Desktop {
    /// A program with a claim and a voice of its own.
    fileprivate func holder(_ way: TagTests.Way) async throws -> LineProcess {
        switch way {
        case .bus:
            let caller = try await hold("groupCall", "--output", "speaker", "--name", "Telephone")
            _ = try await caller.play("voice", .init(frequency: Tone.voice))
            return caller.lines
        case .library:
            let file = try toneFile(in: server, frequency: Tone.voice, amplitude: 0.1, seconds: 60)
            var player = try LineProcess([product("player"), file], in: server)
            // On a busy machine the daemon's answer may take longer than programs wait, and this one ends then.
            try await waitForStatus("the player's claim") { status in
                if player.hasEnded, let next = try? LineProcess([product("player"), file], in: server) {
                    player = next
                }
                return status.claims.contains { $0.kind == "playback" }
            }
            return player
        }
    }

    /// The tags of all playback streams, as anybody can read them.
    fileprivate func tags() async throws -> [String] {
        struct Input: Decodable { var properties: [String: String] }
        let json = try await pactl("-f", "json", "list", "sink-inputs").joined(separator: "\n")
        return try JSONDecoder().decode([Input].self, from: Data(json.utf8))
            .compactMap { $0.properties[AudioSessionClientKind.streamTagProperty] }
    }
}
