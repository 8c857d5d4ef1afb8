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
            // As all changes, to a quarter of a millisecond: its first step is a small one.
            #expect(abs(edge.first - Double(start - 24000) / 48) <= 0.25)
            #expect(edge.last > edge.first + 10)
        }
    }

    @Test
    func `sound whose every tone changes for itself is not taken for torn`() throws {
        var random = SystemRandomNumberGenerator()
        for index in 0..<12 {
            // As a server does it that takes 0.1 ms for each stream, or one that takes some cycles more.
            var burst = SyntheticBurst.random(together: index % 4 == 0)
            if index % 2 == 1 {
                burst.down = burst.down.indices.map { burst.voiceOn + 5 * $0 + Int.random(in: 0..<5, using: &random) }
                burst.back = burst.back.indices.map { burst.voiceOff + 30 * $0 + Int.random(in: 0..<9, using: &random) }
            }
            let timing = try burst.timing(&random)
            #expect(!timing.down.isTorn && !timing.back.isTorn, "\(burst)")
        }
    }

    @Test
    func `a gap of 2.5 ms is found in any tone, before, between and after the changes`() throws {
        var random = SystemRandomNumberGenerator()
        let gaps = zip(SyntheticBurst.music, [8000, 20000, 27000, 33000, 41000, 45000, 52000, 66000])
        for (tone, start) in Array(gaps) + [(SyntheticBurst.voice, 27000), (SyntheticBurst.voice, 41000)] {
            var burst = SyntheticBurst(
                down: SyntheticBurst.music.indices.map { 24100 + 37 * $0 },
                back: SyntheticBurst.music.indices.map { 48020 + 41 * $0 })
            burst.gap = (tone, start..<start + 120)
            let timing = try burst.timing(&random)
            #expect(
                timing.down.isTorn == (start < 36000) && timing.back.isTorn == (start > 36000), "\(tone) at \(start)")
        }
    }

    @Test
    func `a gap among the changes is found`() throws {
        var random = SystemRandomNumberGenerator()
        for start in [24000, 24400] {
            var burst = SyntheticBurst(
                down: SyntheticBurst.music.indices.map { 24100 + 80 * $0 },
                back: SyntheticBurst.music.indices.map { _ in 48000 })
            burst.gap = (SyntheticBurst.music[2], start..<start + 480)
            #expect(try burst.timing(&random).down.isTorn, "at \(start)")
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
