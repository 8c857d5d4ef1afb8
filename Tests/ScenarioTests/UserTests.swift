import AudioPolicy
import AudioSession
import HeadlessAudio
import SoundRig
import Testing

/// What its user does to a stream while it gives way.
@Suite struct UserTests {
    @Test(
        "RST-03: a volume that its user sets during a duck is there when it ends, and the next stream has it too",
        arguments: HeadlessServerKind.allCases)
    func volume(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            _ = try await desktop.pactl("set-sink-input-volume", "\(music.stream.index)", "60%")
            // The mixer shows the duck on PulseAudio, so the user has chosen what is heard; on PipeWire it shows what
            // the stream has of its own, and the duck stays on it. 60 % is −13.3 dB.
            let level = kind == .pulseaudio ? -13.3 : -33.3
            try await desktop.expect([music.frequency: level], on: ear)
            try await desktop.waitForStatus("the user's word") { status in
                status.streams.contains { $0.id == "\(music.stream.index)" && $0.overridden == (kind == .pulseaudio) }
            }
            let chosen = try await desktop.volume(of: music.stream)
            call.kill()
            try await desktop.expect([music.frequency: -13.3], on: ear)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == chosen)
            music.kill()
            let next = try await desktop.music(1200)
            try await ear.waitFor(1200, at: Desktop.baseline - 13.3)
            #expect(try await desktop.volume(of: next.stream) == chosen)
        }
    }

    @Test(
        "RST-03: a volume set in the middle of a fade is kept, down and up",
        arguments: HeadlessServerKind.allCases, [true, false])
    func volumeInAFade(kind: HeadlessServerKind, isDown: Bool) async throws {
        let fades = isDown ? "fade-down-ms = 3000  fade-up-ms = 60" : "fade-down-ms = 60  fade-up-ms = 3000"
        try await onDesktop(kind, configuration: "timing = { attack-ms = 20  hold-ms = 60  \(fades) }\n") { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            if !isDown {
                try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
                call.kill()
            }
            try await ear.waitFor(music.frequency, "to be in the middle of its fade") {
                (-18 ... -2).contains($0 - Desktop.baseline)
            }
            // As when a slider is dragged. A single write may fall between a step of the fade and the reading of it, and
            // PulseAudio's events, which name no originator, then tell nobody of it.
            for _ in 1...3 {
                _ = try await desktop.pactl("set-sink-input-volume", "\(music.stream.index)", "60%")
            }
            if isDown {
                let level = kind == .pulseaudio ? -13.3 : -33.3
                try await desktop.expect([music.frequency: level], on: ear)
                call.kill()
            }
            try await desktop.expect([music.frequency: -13.3], on: ear)
            try await desktop.waitForRest()
            let volume = try await desktop.volume(of: music.stream)
            #expect(volume.allSatisfy { abs($0 - 65536 * 6 / 10) <= 1 }, "\(volume)")
        }
    }

    @Test(
        "RST-13: a stream that its user mutes during a duck stays muted after it, at its own volume",
        arguments: HeadlessServerKind.allCases)
    func mute(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "1")
            try await ear.waitForSilence(music.frequency)
            call.kill()
            try await desktop.waitForRest()
            try await desktop.expect([music.frequency: -.infinity], on: ear)
            let after = try await desktop.sinkInput(music.stream)
            #expect(after.mute)
            _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "0")
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            #expect(try await desktop.volume(of: music.stream) == before)
        }
    }

    @Test(
        "A stream that was muted before a call is silent during it, ducked when its user unmutes it, and back afterwards",
        arguments: HeadlessServerKind.allCases)
    func unmuteDuringADuck(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Settings.quick) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "1")
            try await ear.waitForSilence(music.frequency)
            let call = try await desktop.call()
            try await desktop.waitForEffect("duck", on: music.stream)
            // A soft volume that forgot the mute would make it audible.
            try await desktop.expect([music.frequency: -.infinity], on: ear)
            _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "0")
            try await desktop.expect([music.frequency: -20], on: ear)
            call.kill()
            try await desktop.expect([music.frequency: 0], on: ear)
            try await desktop.waitForRest()
            #expect(try await !desktop.isMuted(music.stream))
        }
    }

    @Test(
        "RST-12: a stream that its user unmutes during a call stays unmuted until the call is over",
        arguments: ["mute", "pause"])
    func unmute(effect: String) async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick + Settings.call(effect)) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: -.infinity], on: ear)
            try await desktop.waitForEffect(effect, on: music.stream)
            _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "0")
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            // Whatever else happens: `module-role-cork` would mute it again here.
            let bell = try await desktop.perform(.ambient, as: "bell", 1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            bell.kill()
            try await ear.waitForSilence(1200)
            try await desktop.expect([music.frequency: 0], on: ear)
            #expect(try await !desktop.isMuted(music.stream))
            call.kill()
            try await ear.waitForSilence(call.frequency)
            try await desktop.waitForRest()
            try await desktop.expect([music.frequency: 0], on: ear)
            let after = try await desktop.sinkInput(music.stream)
            #expect(!after.mute && !after.corked)
        }
    }

    @Test("RST-12: on PipeWire a user's mute and unmute ends our mute until the call is over")
    func unmutePipeWire() async throws {
        try await onDesktop(.pipewire, configuration: Settings.quick + Settings.call("mute")) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: -.infinity], on: ear)
            for mute in ["1", "0"] {
                _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", mute)
            }
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let bell = try await desktop.perform(.ambient, as: "bell", 1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            bell.kill()
            try await ear.waitForSilence(1200)
            try await desktop.expect([music.frequency: 0], on: ear)
            call.kill()
            try await desktop.waitForRest()
            try await desktop.expect([music.frequency: 0], on: ear)
            #expect(try await !desktop.isMuted(music.stream))
        }
    }

    @Test(
        "RST-13: a stream muted by its user, before a call or during it, is muted after it, whatever the call does to it",
        arguments: HeadlessServerKind.allCases, ["mute", "pause", "medium"])
    func mutedByUser(kind: HeadlessServerKind, effect: String) async throws {
        try await onDesktop(kind, configuration: Settings.quick + Settings.call(effect)) { desktop in
            let ear = try await desktop.ear()
            let before = try await desktop.music(600)
            let during = try await desktop.play("video", 1200)
            try await desktop.expect([600: 0, 1200: 0], on: ear)
            _ = try await desktop.pactl("set-sink-input-mute", "\(before.stream.index)", "1")
            try await ear.waitForSilence(600)
            let call = try await desktop.call()
            try await desktop.waitForEffect(effect == "medium" ? "duck" : effect, on: during.stream)
            if kind == .pulseaudio, effect != "medium" {
                // Where the mute is ours already, only an unmute before it says whose it is.
                _ = try await desktop.pactl("set-sink-input-mute", "\(during.stream.index)", "0")
                try await ear.waitFor(1200, at: Desktop.baseline)
            }
            _ = try await desktop.pactl("set-sink-input-mute", "\(during.stream.index)", "1")
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            call.kill()
            try await ear.waitForSilence(call.frequency)
            try await desktop.waitForRest()
            try await desktop.expect([600: -.infinity, 1200: -.infinity], on: ear)
            for stream in [before, during] {
                #expect(try await desktop.isMuted(stream.stream))
                _ = try await desktop.pactl("set-sink-input-mute", "\(stream.stream.index)", "0")
            }
            // Neither corked nor turned down below the mute.
            try await desktop.expect([600: 0, 1200: 0], on: ear)
        }
    }

    @Test(
        "RST-14: after a call music runs on, with as many uncork as cork requests, also where its user unmuted it meanwhile",
        arguments: [false, true])
    func requestsBalance(isOverridden: Bool) async throws {
        try await onDesktop(.pulseaudio, configuration: Settings.quick + Settings.call("pause")) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await desktop.expect([music.frequency: -.infinity], on: ear)
            try await music.player.waitFor("request-cork", music.stream.name)
            if isOverridden {
                _ = try await desktop.pactl("set-sink-input-mute", "\(music.stream.index)", "0")
                try await ear.waitFor(music.frequency, at: Desktop.baseline)
            }
            let bell = try await desktop.perform(.ambient, as: "bell", 1200)
            try await ear.waitFor(1200, at: Desktop.baseline)
            bell.kill()
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            try await desktop.expect([music.frequency: 0], on: ear, for: .milliseconds(500))
            #expect(try await !desktop.isCorked(music.stream))
            #expect(music.player.count("request-cork", music.stream.name) == 1)
            #expect(music.player.count("request-uncork", music.stream.name) == 1)
        }
    }
}
