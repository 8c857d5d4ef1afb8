import AudioPolicy
import HeadlessAudio
import SoundRig
import Testing

@Suite struct DuckingTests {
    @Test(
        "A call turns music down by 20 dB, and it comes back to the bit when the call is killed",
        arguments: HeadlessServerKind.allCases)
    func callDucksMusic(kind: HeadlessServerKind) async throws {
        try await onDesktop(kind) { desktop in
            let ear = try await desktop.ear()
            let music = try await desktop.music()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            let before = try await desktop.volume(of: music.stream)
            let call = try await desktop.call()
            try await ear.waitFor(music.frequency, at: Desktop.baseline - 20)
            try await ear.waitFor(call.frequency, at: Desktop.baseline)
            call.kill()
            try await ear.waitFor(music.frequency, at: Desktop.baseline)
            try await desktop.waitForRest()
            #expect(try await desktop.volume(of: music.stream) == before)
        }
    }
}
