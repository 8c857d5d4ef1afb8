import AudioPolicy
import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// The class "config" of the field cases.
@Suite struct ConfigurationTests {
    /// In PulseAudio's units.
    private static func sinkVolume(_ desktop: Desktop) async throws -> Int {
        let lines = try await desktop.pactl("get-sink-volume", "spk")
        let numbers = lines.joined().split(separator: " ").compactMap { Int($0) }
        guard let volume = numbers.max() else { throw SoundRigError("no volume in \(lines)") }
        return volume
    }

    @Test(
        "CFG-03: with flat volumes the sink is never louder than its user wants it, through a call and a change in the middle of it"
    )
    func flatVolumes() async throws {
        var options = HeadlessOptions(server: .pulseaudio)
        options.flatVolumes = true
        try await onDesktop(.pulseaudio, configuration: Settings.quick, options: options) { desktop in
            let ear = try await desktop.ear()
            _ = try await desktop.pactl("set-sink-volume", "spk", "50%")
            let music = try await desktop.music()
            let before = try await desktop.volume(of: music.stream)
            #expect(before == [32768, 32768], "with flat volumes a stream starts at the sink's volume")
            let own = Desktop.baseline + 60 * log10(0.5)
            try await ear.waitFor(music.frequency, at: own)
            var allowed = try await Self.sinkVolume(desktop)
            // Nothing lowers a sink that a stream has raised, so a look afterwards is enough.
            func watch(_ body: () async throws -> Void) async throws {
                try await body()
                let found = try await Self.sinkVolume(desktop)
                #expect(found <= allowed + 1, "the sink is at \(found), its user had it at \(allowed)")
            }
            var call: Playing?
            try await watch {
                call = try await desktop.call()
                try await ear.waitFor(music.frequency, at: own - 20)
            }
            _ = try await desktop.pactl("set-sink-volume", "spk", "20%")
            allowed = try await Self.sinkVolume(desktop)
            // The sink's change is no user's word on the stream: it stays ducked, and goes along.
            let lower = own + 60 * log10(0.2 / 0.5)
            try await watch { try await ear.waitFor(music.frequency, at: lower - 20) }
            try await watch {
                call?.kill()
                try await ear.waitFor(music.frequency, at: lower)
                try await desktop.waitForRest()
            }
            let after = try await desktop.volume(of: music.stream)
            #expect(after.allSatisfy { abs($0 - Int(65536 * 0.2)) <= 2 }, "\(after)")
        }
    }

    @Test(
        "CFG-04: decibels mean the same on both servers, in amplitude, whatever scale their tools show",
        arguments: HeadlessServerKind.allCases, [-6.0, -20, -35])
    func decibels(kind: HeadlessServerKind, level: Double) async throws {
        let effect = Settings.call("\(level)")
        try await onDesktop(kind, configuration: Settings.quick + effect) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            let before = try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline + level)
            let levels = ear.levels(of: music.frequency, blocks: try await ear.record(.milliseconds(300)))
            let ratio = pow(10, (levels.sorted()[levels.count / 2] - before) / 20)
            let factor = pow(10, level / 20)
            #expect(abs(ratio - factor) <= 0.05 * factor, "\(ratio) instead of \(factor)")
            let shown = try await desktop.volume(of: music.stream)[0]
            if kind == .pulseaudio {
                #expect(abs(Double(shown) - 65536 * cbrt(factor)) <= 1)
            } else {
                #expect(shown == 65536)
                let props = try await desktop.nodeProps(of: music.stream)
                #expect(props.channelVolumes == [1, 1])
                #expect(props.softVolumes?.allSatisfy { abs($0 - factor) < 1e-5 } == true, "\(props)")
            }
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
        }
    }
}
