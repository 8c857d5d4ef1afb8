import SoundRig
import Testing

@Suite struct BurstTimingTests {
    @Test
    func `nearly all changes around a voice are found to a tenth of a millisecond, and all to a quarter`() throws {
        let errors =
            try (0..<24).map { _ in try SyntheticBurst.error(together: false) }
            + (0..<8).map { _ in try SyntheticBurst.error(together: true) }
        #expect(errors.allSatisfy { $0 <= 0.25 }, "\(errors)")
        #expect(errors.count { $0 <= 0.1 } >= 28, "\(errors)")
    }

    @Test
    func `the first step of a fade is told from its end`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<4 {
            let start = 24000 + Int.random(in: 500..<4000, using: &random)
            let recording = SyntheticBurst(
                voiceOff: 72000, down: SyntheticBurst.music.map { _ in start },
                back: SyntheticBurst.music.map { _ in 80000 },
                fade: 4800)
            let edge = try BurstTiming.onset(
                of: recording.samples(&random), voice: SyntheticBurst.voice, music: SyntheticBurst.music)
            #expect(abs(edge.first - Double(start - 24000) / 48) <= 0.1)
            #expect(edge.last > edge.first + 10)
        }
    }

    @Test
    func `music that does not give way, or is not there, is said to be so`() {
        var random = SystemRandomNumberGenerator()
        let never = SyntheticBurst.music.map { _ in 80000 }
        let still = SyntheticBurst(down: never, back: never)
        #expect(throws: SoundRigError.self) { try still.timing(&random) }
        var lost = SyntheticBurst(
            down: SyntheticBurst.music.map { _ in 24000 }, back: SyntheticBurst.music.map { _ in 48000 })
        lost.down[3] = 0
        lost.back[3] = 0
        #expect(throws: SoundRigError.self) {
            try BurstTiming(
                of: lost.samples(&random), voice: SyntheticBurst.voice, music: SyntheticBurst.music + [7200])
        }
    }
}
