import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

/// Who is in whose way: streams that come out in the same place.
@Suite struct ScopeTests {
    @Test(
        "RTE-01: music on another output is left alone, unless the scope is everywhere",
        arguments: HeadlessServerKind.allCases, [false, true])
    func otherOutput(kind: HeadlessServerKind, everywhere: Bool) async throws {
        let scope = everywhere ? "\nsession = { scope = everywhere }" : ""
        try await onDesktop(kind, configuration: atOnce + scope) { desktop in
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let near = try await desktop.music()
            let far = try await desktop.music(Desktop.Tone.second, sink: "hs")
            try await there.waitFor(far.frequency, at: Desktop.baseline)
            _ = try await desktop.call()
            try await here.waitFor(near.frequency, at: Desktop.baseline - 20)
            try await there.waitFor(far.frequency, at: Desktop.baseline - (everywhere ? 20 : 0))
            try await there.holds(far.frequency, at: Desktop.baseline - (everywhere ? 20 : 0), for: .seconds(1))
        }
    }

    @Test(
        "RTE-02: music that moves out of the voice's way is at its baseline there at once, and stays so",
        arguments: HeadlessServerKind.allCases)
    func movesOutOfScope(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let music = try await desktop.music()
            let call = try await desktop.call(sink: "spk")
            try await here.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await desktop.move(music.stream, to: "hs")
            try await there.waitFor(music.frequency, at: Desktop.baseline)
            call.kill()
            try await desktop.waitForRest()
            try await desktop.move(music.stream, to: "spk")
            try await here.waitFor(music.frequency, at: Desktop.baseline)
        }
    }

    @Test("Music that moves into the voice's way is turned down there", arguments: HeadlessServerKind.allCases)
    func movesIntoScope(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let music = try await desktop.music(sink: "hs")
            _ = try await desktop.call(sink: "spk")
            try await here.waitFor(Desktop.Tone.voice, at: Desktop.baseline)
            try await there.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.move(music.stream, to: "spk")
            try await here.waitFor(music.frequency, at: Desktop.baseline - 20)
        }
    }

    @Test(
        "RTE-03: paused music that moves out of the voice's way plays on there", arguments: HeadlessServerKind.allCases)
    func pausedMovesOutOfScope(kind: HeadlessServerKind) async throws {
        let pause = atOnce + "\neffects = { call = { mediaPlayback = pause } }"
        try await onDesktop(kind, configuration: pause) { desktop in
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            // As browsers and most players do, this one plays on when PulseAudio asks it to cork, and is muted.
            let music = try await desktop.play("music") { $0.stubborn = true }
            try await here.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call(sink: "spk")
            try await here.waitForSilence(music.frequency)
            try await desktop.move(music.stream, to: "hs")
            try await there.waitFor(music.frequency, at: Desktop.baseline)
            #expect(try await !desktop.isMuted(music.stream))
            call.kill()
            try await desktop.waitForRest()
            try await there.holds(music.frequency, at: Desktop.baseline, for: .milliseconds(500))
        }
    }

    @Test("RTE-03: a program that PulseAudio asked to cork is unmuted when it moves, and plays when it is told to")
    func corkedMovesOutOfScope() async throws {
        let pause = atOnce + "\neffects = { call = { mediaPlayback = pause } }"
        try await onDesktop(.pulseaudio, configuration: pause) { desktop in
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let music = try await desktop.music()
            try await here.waitFor(music.frequency, at: Desktop.baseline)
            _ = try await desktop.call(sink: "spk")
            try await music.player.waitFor("request-cork", music.stream.name)
            try await desktop.move(music.stream, to: "hs")
            // The server forgets a stream that moves, and nobody but its program can uncork it.
            #expect(await eventually { (try? await desktop.isMuted(music.stream)) == false })
            try await music.perform(.uncork)
            try await there.waitFor(music.frequency, at: Desktop.baseline)
        }
    }

    @Test(
        "VIR-01: music through a remap sink is turned down once, at its own stream",
        arguments: HeadlessServerKind.allCases)
    func throughRemap(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            try await desktop.load("module-remap-sink", "sink_name=rm", "master=spk")
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "rm")
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call(sink: "spk")
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await ear.holds(music.frequency, at: Desktop.baseline - 20, for: .seconds(1))
            let status = try await desktop.status()
            #expect(status.streams.filter(\.plumbing).allSatisfy { $0.effect == nil })
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
        }
    }

    @Test(
        "A voice through a remap sink is in the way of music on the hardware below",
        arguments: HeadlessServerKind.allCases)
    func voiceThroughRemap(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            try await desktop.load("module-remap-sink", "sink_name=rm", "master=hs")
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let near = try await desktop.music(sink: "spk")
            let far = try await desktop.music(Desktop.Tone.second, sink: "hs")
            try await here.waitFor(near.frequency, at: Desktop.baseline)
            try await there.waitFor(far.frequency, at: Desktop.baseline)
            _ = try await desktop.call(sink: "rm")
            try await there.waitFor(far.frequency, at: Desktop.baseline - 20)
            try await here.holds(near.frequency, at: Desktop.baseline, for: .seconds(1))
        }
    }

    @Test("A combine sink is on all its outputs", arguments: HeadlessServerKind.allCases)
    func throughCombine(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            try await desktop.load("module-combine-sink", "sink_name=both", "slaves=spk,hs")
            let here = try await desktop.ear()
            let there = try await desktop.ear(on: "hs")
            let music = try await desktop.music(sink: "both")
            try await here.waitFor(music.frequency, at: Desktop.baseline, within: 1)
            try await there.waitFor(music.frequency, at: Desktop.baseline, within: 1)
            let call = try await desktop.call(sink: "hs")
            try await here.waitFor(music.frequency, at: Desktop.baseline - 20, within: 1)
            try await there.waitFor(music.frequency, at: Desktop.baseline - 20, within: 1)
            call.kill()
            try await here.waitFor(music.frequency, at: Desktop.baseline, within: 1)
        }
    }

    @Test(
        "VIR-02: the legs of remap, combine, loopback and echo cancel are plumbing and are never touched",
        arguments: HeadlessServerKind.allCases)
    func legsArePlumbing(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            try await desktop.load("module-remap-sink", "sink_name=rm", "master=spk")
            try await desktop.load("module-combine-sink", "sink_name=both", "slaves=spk,hs")
            try await desktop.load("module-loopback", "source=mic", "sink=spk")
            try await desktop.load(
                "module-echo-cancel", "source_name=clean", "sink_name=cancelled", "source_master=mic", "sink_master=spk"
            )
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            _ = try await desktop.call(sink: "spk")
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            let status = try await desktop.status()
            let programs = status.streams.filter { !$0.plumbing && $0.kind != nil }
            #expect(Set(programs.map(\.application)) == ["music-600", "phone-3000"])
            #expect(status.streams.filter(\.plumbing).count >= 4)
            #expect(status.streams.filter(\.plumbing).allSatisfy { $0.effect == nil && $0.claim == nil })
        }
    }

    @Test(
        "VIR-03: a combine sink that runs with nothing playing is nobody's voice",
        arguments: HeadlessServerKind.allCases)
    func idleCombine(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            try await desktop.load("module-combine-sink", "sink_name=both", "slaves=spk,hs")
            let ear = try await desktop.ear()
            let music = try await desktop.music(sink: "spk")
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await ear.holds(music.frequency, at: Desktop.baseline, for: .seconds(1))
            #expect(try await desktop.status().claims.map(\.kind) == ["mediaPlayback"])
        }
    }

    @Test(
        "RTE-06, RTE-07, RTE-12: a call leaves defaults, targets and device volumes as they were",
        arguments: HeadlessServerKind.allCases)
    func devicesAreNeverWritten(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: atOnce) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let game = try await desktop.play("game", Desktop.Tone.third)
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.facts()
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await ear.waitFor(game.frequency, at: Desktop.baseline - 14)
            #expect(try await desktop.facts() == before)
            call.kill()
            try await desktop.waitForRest()
            #expect(try await desktop.facts() == before)
        }
    }

    @Test("VIR-06: a compressed stream is never reported as turned down, and lives")
    func passthrough() async throws {
        let options = HeadlessOptions(
            server: .pulseaudio,
            sinks: [.init("hd", formats: "ac3-iec61937; pcm"), .init("spk")])
        // While it plays its sink takes no other stream, so the call is elsewhere and its scope is everywhere.
        let everywhere = atOnce + "\nsession = { scope = everywhere }"
        try await onDesktop(.pulseaudio, configuration: everywhere, options: options) { desktop in
            let film = try await desktop.play("video", sink: "hd") { $0.passthrough = true }
            _ = try await desktop.call(sink: "spk")
            try await desktop.waitForStatus("a call that counts") {
                $0.claims.contains { $0.kind == "call" && $0.counts }
            }
            let status = try await desktop.status()
            let stream = status.streams.first { $0.id == String(film.stream.index) }
            #expect(stream != nil)
            #expect(stream?.effect?.action != "duck")
        }
    }
}

extension Desktop {
    /// What a call must not change: the defaults, every device's volume and mute, where each stream goes.
    func facts() async throws -> [String] {
        var facts = try await pactl("info").filter { $0.hasPrefix("Default") }
        for kind in ["sinks", "sources"] {
            facts += try await run(["pactl", "list", kind]).lines.filter { line in
                let text = line.drop { $0 == "\t" }
                return ["Name:", "Volume:", "Mute:"].contains { text.hasPrefix($0) }
            }
        }
        if server.kind == .pipewire {
            facts += try await run(["pw-metadata"]).lines.filter {
                $0.contains("configured") || $0.contains("target")
            }
        }
        return facts
    }
}
