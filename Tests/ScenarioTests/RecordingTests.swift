import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct RecordingTests {
    private static let refusing = atOnce + "\nobserved = { recording.refuse = mute }"

    @Test(
        "REC-01, REC-02: meters and recorders of what the speakers play are left alone; a microphone's is muted where asked",
        arguments: HeadlessServerKind.allCases, [false, true])
    func whoIsRefused(kind: HeadlessServerKind, refusing: Bool) async throws {
        try await onDesktop(kind, configuration: refusing ? Self.refusing : atOnce) { desktop in
            let recorders = try await desktop.program("recorders")
            var meter = TestPlayer.Options(device: "mic")
            meter.peakDetect = true
            let peaks = try await recorders.record("peaks", meter)
            let screen = try await recorders.record("screen", .init(device: "spk.monitor"))
            let voice = try await desktop.program("memo")
            let memo = try await voice.record("memo", .init(device: "mic"))
            let call = try await desktop.call()
            try await desktop.waitForStatus("a call that counts") {
                $0.claims.contains { $0.kind == "call" && $0.counts }
            }
            try await desktop.waitForStatus("the recorder as it should be") { status in
                status.streams.contains { $0.id == String(memo.index) && ($0.effect?.action == "mute") == refusing }
            }
            // PipeWire's is a soft mute, which no mixer shows.
            if kind == .pulseaudio { #expect(try await desktop.recordersMuted()[memo.index] == refusing) }
            let muted = try await desktop.recordersMuted()
            #expect(muted[peaks.index] == false)
            #expect(muted[screen.index] == false)
            call.kill()
            #expect(await eventually { (try? await desktop.recordersMuted()[memo.index]) == false })
            try await desktop.waitForRest()
        }
    }

    @Test(
        "REC-03: the legs of filters record for nobody; who records from their output is the recorder",
        arguments: HeadlessServerKind.allCases)
    func filtersRecordForNobody(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.refusing) { desktop in
            try await desktop.load("module-loopback", "source=mic", "sink=hs")
            try await desktop.load(
                "module-echo-cancel", "source_name=clean", "sink_name=cancelled", "source_master=mic", "sink_master=spk"
            )
            _ = try await desktop.call()
            try await desktop.waitForStatus("a call that counts") {
                $0.claims.contains { $0.kind == "call" && $0.counts }
            }
            #expect(try await desktop.recordersMuted().values.allSatisfy { !$0 })
            let program = try await desktop.program("memo")
            let memo = try await program.record("memo", .init(device: "clean"))
            try await desktop.waitForStatus("the recorder muted") { status in
                status.streams.contains { $0.id == String(memo.index) && $0.effect?.action == "mute" }
            }
            let status = try await desktop.status()
            #expect(status.streams.filter(\.plumbing).allSatisfy { $0.effect == nil })
        }
    }

    @Test(
        "REC-04: a recorder that ends while it is muted is not muted the next time",
        arguments: HeadlessServerKind.allCases)
    func refusalIsForgotten(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.refusing) { desktop in
            let first = try await desktop.program("memo")
            let muted = try await first.record("memo", .init(device: "mic"))
            let call = try await desktop.call()
            try await desktop.waitForStatus("the recorder muted") { status in
                status.streams.contains { $0.id == String(muted.index) && $0.effect?.action == "mute" }
            }
            first.kill()
            call.kill()
            try await desktop.waitForRest()
            let second = try await desktop.program("memo")
            let memo = try await second.record("memo", .init(device: "mic"))
            #expect(try await desktop.recordersMuted()[memo.index] == false)
        }
    }

    @Test("REC-06: the caller's own program records as it likes", arguments: HeadlessServerKind.allCases)
    func callersOwnRecorders(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind, configuration: Self.refusing) { desktop in
            let phone = try await desktop.program("softphone")
            _ = try await phone.play("voice", .init(frequency: Desktop.Tone.voice, role: "phone"))
            var recorders = [
                try await phone.record("a", .init(device: "mic")), try await phone.record("b", .init(device: "mic")),
            ]
            try await desktop.waitForStatus("a call that counts") {
                $0.claims.contains { $0.kind == "call" && $0.counts }
            }
            try await phone.perform(.close, "a")
            recorders.removeFirst()
            recorders.append(try await phone.record("c", .init(device: "mic")))
            let stranger = try await desktop.program("memo")
            let memo = try await stranger.record("memo", .init(device: "mic"))
            try await desktop.waitForStatus("the stranger muted") { status in
                status.streams.contains { $0.id == String(memo.index) && $0.effect?.action == "mute" }
            }
            let muted = try await desktop.recordersMuted()
            for recorder in recorders { #expect(muted[recorder.index] == false) }
        }
    }
}
