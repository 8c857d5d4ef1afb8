import AudioPolicy
import AudioSession
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// The class "restore" of the field cases: nothing of a duck outlives it.
@Suite struct RestoreTests {
    @Test(
        "RST-01, RST-02: after a stream that was killed while ducked, the next one of its program and of any other of its role starts at its own volume, also after a restart of the server",
        arguments: HeadlessServerKind.allCases)
    func killedWhileDucked(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            var ear = try await desktop.ear()
            let music = try await desktop.play("music", 600, name: "first")
            try await ear.waitFor(600, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.call()
            try await ear.waitFor(600, at: Desktop.baseline - 20)
            music.kill()
            try await ear.waitForSilence(600)
            call.kill()
            try await desktop.waitForRest()
            for (name, tone) in [("first", 1200.0), ("other", 1800.0)] {
                let next = try await desktop.play("music", tone, name: name)
                try await ear.waitFor(tone, at: Desktop.baseline)
                #expect(try await desktop.volume(of: next.stream) == before)
                next.kill()
            }
            try await onThread { try desktop.server.restartServer() }
            ear = try await desktop.ear()
            let last = try await desktop.play("music", 2400, name: "last")
            try await ear.waitFor(2400, at: Desktop.baseline)
            #expect(try await desktop.volume(of: last.stream) == before)
        }
    }

    @Test(
        "RST-04: streams of 15, 60 and 100 % are back at exactly that after a call, and never above it",
        arguments: HeadlessServerKind.allCases)
    func ownLevels(kind: HeadlessServerKind) async throws {
        let shares = [600.0: 15, 1200.0: 60, 1800.0: 100]
        // The server's scale is the cube root of amplitude.
        let levels = shares.mapValues { 60 * log10(Double($0) / 100) }
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            var streams: [Double: Playing] = [:]
            for (tone, share) in shares {
                let playing = try await desktop.music(tone)
                _ = try await desktop.pactl("set-sink-input-volume", "\(playing.stream.index)", "\(share)%")
                streams[tone] = playing
            }
            try await desktop.expect(levels, on: ear)
            var before: [Double: [Int]] = [:]
            for (tone, playing) in streams { before[tone] = try await desktop.volume(of: playing.stream) }
            let call = try await desktop.call()
            try await desktop.expect(levels.mapValues { $0 - 20 }, on: ear)
            let start = ear.blockCount
            call.kill()
            try await desktop.expect(levels, on: ear)
            try await desktop.waitForRest()
            for (tone, level) in levels {
                let all = ear.levels(of: tone, blocks: start..<ear.blockCount)
                // A gap in one tone is heard in the others for a moment.
                let louder = all.split { $0 <= Desktop.baseline + level + 0.5 }.map(\.count).max() ?? 0
                #expect(louder < 10, "\(tone) Hz was louder than its own for \(louder)0 ms")
            }
            for (tone, playing) in streams { #expect(try await desktop.volume(of: playing.stream) == before[tone]) }
        }
    }

    @Test(
        "RST-05: calls that come and go faster than a fade takes never walk the level",
        arguments: HeadlessServerKind.allCases)
    func backAndForth(kind: HeadlessServerKind) async throws {
        let timing = "timing = { attack-ms = 20  fade-down-ms = 60  fade-up-ms = 500  hold-ms = 20 }\n"
        try await onDesktop(kind, configuration: timing) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await music.perform(.volume, "0.7")
            let level = 20 * log10(0.7)
            try await ear.waitFor(music.frequency, at: Desktop.baseline + level)
            let before = try await desktop.volume(of: music.stream)
            let caller = try await TestPlayer(in: desktop.server, name: "caller")
            for round in 0..<10 {
                let call = try await caller.perform(.call)
                try await ear.waitFor(music.frequency, at: Desktop.baseline + level - 20)
                try await call.perform(.close)
                // Into the fade: 50 to 200 ms.
                _ = try await ear.record(.milliseconds(50 + 15 * round))
            }
            try await desktop.waitForRest()
            try await desktop.expect([music.frequency: level], on: ear)
            #expect(try await desktop.volume(of: music.stream) == before)
        }
    }

    @Test(
        "RST-06, RST-07: what was silenced and killed leaves neither a mute nor a volume of 0 behind",
        arguments: HeadlessServerKind.allCases, ["event", "music"])
    func silencedAndKilled(kind: HeadlessServerKind, role: String) async throws {
        let rules = "effects = { call = { ambient = mute  mediaPlayback = mute } }\n"
        try await onDesktop(kind, configuration: Settings.quick + rules) { desktop in
            let ear = try await desktop.ear()
            let first = try await desktop.play(role, 600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let before = try await desktop.volume(of: first.stream)
            let call = try await desktop.call()
            try await desktop.expect([600: -.infinity], on: ear)
            #expect(try await desktop.volume(of: first.stream) == before)
            first.kill()
            call.kill()
            try await desktop.waitForRest()
            let next = try await desktop.play(role, 1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            #expect(try await desktop.volume(of: next.stream) == before)
            #expect(try await !desktop.isMuted(next.stream))
            guard kind == .pipewire else { return }
            // The session manager writes its store a second after a change.
            let muted = await eventually(within: .seconds(2), every: .milliseconds(100)) {
                let store = desktop.sessionManagersStore()
                return store.contains("mute=true") || store.contains("\"mute\":true")
            }
            #expect(!muted)
        }
    }

    @Test("RST-08: a gain that no mixer shows is named, never used, and cleared when its user asks for it")
    func hiddenGain() async throws {
        try await onDesktop(.pipewire, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.play("music", 600)
            try await ear.waitFor(600, at: Desktop.baseline)
            let channels = try await desktop.nodeProps(of: music.stream).channelVolumes
            let node = try await desktop.node(of: music.stream)
            _ = try await desktop.run(["pw-cli", "set-param", "\(node)", "Props", "{ volume: 0.2 }"])
            try await ear.waitFor(600, at: Desktop.baseline - 14)
            let warning = try await desktop.waitForStatus("the leftover") { !$0.warnings.isEmpty }.warnings
            #expect(warning.count == 1 && warning[0].contains("restore --hidden-gain"), "\(warning)")
            let call = try await desktop.call()
            try await ear.waitFor(600, at: Desktop.baseline - 34)
            #expect(try await desktop.nodeProps(of: music.stream).volume == 0.2)
            call.kill()
            try await ear.waitFor(600, at: Desktop.baseline - 14)
            try await desktop.waitForRest()

            // The session manager has stored it for everybody of the role.
            let next = try await desktop.play("music", 1200)
            try await ear.waitFor(1200, at: Desktop.baseline - 14)
            let restored = try await desktop.sordinoSays("restore", "--hidden-gain")
            #expect(restored.status == 0, "\(restored)")
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            #expect(try await desktop.nodeProps(of: music.stream).channelVolumes == channels)
            for stream in [music, next] { stream.kill() }
            let last = try await desktop.play("music", 1800)
            try await ear.waitFor(1800, at: Desktop.baseline)
            let props = try await desktop.nodeProps(of: last.stream)
            #expect(props.volume == 1 && props.channelVolumes == channels)
            #expect(try await desktop.status().warnings.isEmpty)
        }
    }

    @Test(
        "RST-09: the balance of two and of six channels is kept under a duck, and to the bit after it",
        arguments: HeadlessServerKind.allCases)
    func balance(kind: HeadlessServerKind) async throws {
        let options = HeadlessOptions(server: kind, sinks: [.init("spk", channels: 6)])
        try await onDesktop(kind, configuration: Settings.quick, options: options) { desktop in
            let ear = try await desktop.ear(channels: 6)
            let stereo = try await desktop.music(600)
            let surround = try await desktop.play("video", 1200) { $0.channels = 6 }
            let shares = [40, 50, 60, 70, 80, 100]
            _ = try await desktop.pactl("set-sink-input-volume", "\(stereo.stream.index)", "40%", "100%")
            _ = try await desktop.pactl(
                ["set-sink-input-volume", "\(surround.stream.index)"] + shares.map { "\($0)%" })
            func expect(_ change: Double) async throws {
                for (channel, share) in shares.enumerated() {
                    let level = 60 * log10(Double(share) / 100) + change
                    try await ear.waitFor(1200, at: Desktop.baseline + level, channel: channel)
                }
                try await ear.waitFor(600, at: Desktop.baseline + 60 * log10(0.4) + change, channel: 0)
                try await ear.waitFor(600, at: Desktop.baseline + change, channel: 1)
            }
            try await expect(0)
            let before = try await (desktop.volume(of: stereo.stream), desktop.volume(of: surround.stream))
            let call = try await desktop.call()
            try await expect(-20)
            call.kill()
            try await expect(0)
            try await desktop.waitForRest()
            let after = try await (desktop.volume(of: stereo.stream), desktop.volume(of: surround.stream))
            #expect(after == before)
        }
    }
}
