import Glibc

/// What a recording of eight tones of music and one burst of a voice would be like, with every change at a known sample.
/// Tells how far off the measurement of such recordings is.
public struct SyntheticBurst: Sendable {
    public static let voice = 3000.0
    public static let music = [600.0, 1200, 1800, 2400, 3600, 4200, 4800, 5400]

    /// Samples, from the start; of the music one for each tone.
    public var voiceOn = 24000
    public var voiceOff = 48000
    public var down: [Int]
    public var back: [Int]
    /// How many samples it takes to go down, in steps of 960; 0: one.
    public var fade = 0
    /// A player that misses its turn: its tone, in Hz, is not there for these samples.
    public var gap: (tone: Double, samples: Range<Int>)?

    private static let length = 72000

    public init(voiceOff: Int = 48000, down: [Int], back: [Int], fade: Int = 0) {
        self.voiceOff = voiceOff
        self.down = down
        self.back = back
        self.fade = fade
    }

    private func isMissing(_ tone: Double, at index: Int) -> Bool {
        gap.map { $0.tone == tone && $0.samples.contains(index) } ?? false
    }

    private func gain(at index: Int, of tone: Int) -> Double {
        guard index >= down[tone], index < back[tone] else { return 1 }
        guard fade > 0 else { return 0.1 }
        let steps = Double((index - down[tone]) / 960 + 1) * 960 / Double(fade)
        return pow(0.1, min(steps, 1))
    }

    /// One channel, quantised to 16 bits, with a little noise.
    public func samples(_ random: inout some RandomNumberGenerator) -> [Float] {
        let phases = Self.music.map { _ in Double.random(in: 0..<2 * .pi, using: &random) }
        return (0..<Self.length).map { index in
            var value = Double.random(in: -1e-5...1e-5, using: &random)
            for (tone, frequency) in Self.music.enumerated() where !isMissing(frequency, at: index) {
                value +=
                    0.02 * gain(at: index, of: tone) * cos(2 * .pi * frequency * Double(index) / 48000 + phases[tone])
            }
            if (voiceOn..<voiceOff).contains(index), !isMissing(Self.voice, at: index) {
                value += 0.2 * sin(2 * .pi * Self.voice * Double(index - voiceOn) / 48000)
            }
            return Float((value * 32767).rounded() / 32767)
        }
    }

    public func timing(_ random: inout some RandomNumberGenerator) throws(SoundRigError) -> BurstTiming {
        try BurstTiming(of: samples(&random), voice: Self.voice, music: Self.music)
    }

    /// One with its changes at random places.
    /// - Parameter together: whether all tones change at once, which may be before the voice; else each for itself.
    public static func random(together: Bool) -> SyntheticBurst {
        var random = SystemRandomNumberGenerator()
        var burst = SyntheticBurst(down: [], back: [])
        burst.voiceOn += Int.random(in: 0..<2000, using: &random)
        burst.voiceOff += Int.random(in: 0..<2000, using: &random)
        func changes(_ edge: Int) -> [Int] {
            let one = edge + Int.random(in: -1100..<1900, using: &random)
            return music.map { _ in together ? one : edge + Int.random(in: -100..<1500, using: &random) }
        }
        burst.down = changes(burst.voiceOn)
        burst.back = changes(burst.voiceOff)
        return burst
    }

    /// The greatest error, in ms, of the four times of one burst at random places.
    /// - Parameter together: whether all tones change at once, which may be before the voice; else each for itself.
    public static func error(together: Bool) throws(SoundRigError) -> Double {
        var random = SystemRandomNumberGenerator()
        let burst = Self.random(together: together)
        let timing = try burst.timing(&random)
        var worst = 0.0
        for (edge, origin, truth) in [
            (timing.down, burst.voiceOn, burst.down), (timing.back, burst.voiceOff, burst.back),
        ] {
            let first = Double((truth.min() ?? 0) - origin) / 48
            let last = Double((truth.max() ?? 0) - origin) / 48
            worst = max(worst, abs(edge.first - first), abs(edge.last - last))
        }
        return worst
    }
}
