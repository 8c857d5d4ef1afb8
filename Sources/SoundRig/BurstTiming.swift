import Glibc

/// When music gave way to a voice and when it came back, found in the recorded sound to the sample.
///
/// All tones are multiples of 600 Hz, so steady sound repeats every 80 samples and `x[n] − x[n − 80]` is nothing but
/// what has changed in the 80 samples before `n`. A change at sample `c` shows from `c` to `c + 79`.
public struct BurstTiming: Equatable, Sendable {
    /// How the music changed around one edge of the voice.
    public struct Edge: Equatable, Sendable {
        /// When the music began to change, and when the last tone of it had its final level, in ms after the voice's
        /// first sample (or the first sample without it). Negative: before.
        public var first: Double
        public var last: Double
        /// The level after the change over the one before it, linear; the median of the tones.
        public var ratio: Double
        /// Whether the sample was found; else the times are those of a window of 1.67 ms.
        public var isExact: Bool
        /// Whether a tone, the voice's among them, was gone for a moment: the machine did not let its player play. The
        /// times may then be those of the gap.
        public var isTorn: Bool
    }

    public var down: Edge
    public var back: Edge

    /// The recording, one channel at 48 kHz, with 0.3 s of steady music before the voice and after it, and one burst of
    /// at least as much of the voice; frequencies in Hz.
    public init(of samples: [Float], voice: Double, music: [Double]) throws(SoundRigError) {
        let burst = try Self.burst(of: voice, in: samples)
        let middle = (burst.lowerBound + burst.upperBound) / 2
        down = try EdgeFinder(samples[..<middle], around: burst.lowerBound, isRising: true, voice, music).edge()
        back = try EdgeFinder(samples[middle...], around: burst.upperBound, isRising: false, voice, music).edge()
    }

    /// Only how the music gives way; the recording ends while the voice is there.
    public static func onset(of samples: [Float], voice: Double, music: [Double]) throws(SoundRigError) -> Edge {
        let burst = try burst(of: voice, in: samples)
        return try EdgeFinder(samples[...], around: burst.lowerBound, isRising: true, voice, music).edge()
    }

    /// From where to where the voice is heard, to within a window.
    private static func burst(of voice: Double, in samples: [Float]) throws(SoundRigError) -> Range<Int> {
        let magnitudes = SlidingTone(voice, in: samples).magnitudes
        let peak = magnitudes.max() ?? 0
        guard peak > 0.005, let on = magnitudes.firstIndex(where: { $0 > peak / 2 }),
            let off = magnitudes.lastIndex(where: { $0 > peak / 2 }), off - on > 9600
        else { throw SoundRigError("no voice in the recording") }
        return on + TonePeriod.length / 2..<off + TonePeriod.length / 2
    }
}

/// Looks at one edge of the voice.
private struct EdgeFinder {
    private static let period = TonePeriod.length

    let isRising: Bool
    let music: [Double]
    /// The part's sound without the voice.
    private var rest: [Float]
    /// The voice's edge, a sample of `rest`.
    private let edgeSample: Int
    private let isVoiceTorn: Bool

    init(
        _ part: ArraySlice<Float>, around coarse: Int, isRising: Bool, _ voice: Double, _ music: [Double]
    ) throws(SoundRigError) {
        self.isRising = isRising
        self.music = music
        rest = Array(part)
        let near = coarse - part.startIndex
        let away = isRising ? near + 3840..<near + 8640 : near - 8640..<near - 3840
        guard away.lowerBound >= 0, away.upperBound < rest.count - Self.period, near > 400, near < rest.count - 400
        else { throw SoundRigError("the recording is too short around the voice") }
        let tone = SlidingTone(voice, in: rest)
        let waveform = tone.waveform(over: away)
        // The period's phase is that of the part's own first sample.
        edgeSample = Self.sharpest(rest, waveform, near: near, isRising: isRising)
        for index in rest.indices where (index >= edgeSample) == isRising {
            rest[index] -= waveform[index % Self.period]
        }
        let magnitudes = tone.magnitudes
        let inside = isRising ? near + Self.period..<magnitudes.count : 0..<near - 2 * Self.period
        isVoiceTorn = Self.isTorn(magnitudes[inside], below: 0.5 * median(Array(magnitudes[away])))
    }

    /// Whether a tone is gone for a while. Windows over a change of other tones have some of these in them, which may
    /// cancel what there is of this one, but not in all the windows of half a period: a gap of a period and a half is
    /// found wherever it is.
    private static func isTorn(_ magnitudes: ArraySlice<Double>, below least: Double) -> Bool {
        var low = 0
        return magnitudes.contains { magnitude in
            low = magnitude < least ? low + 1 : 0
            return low > period / 2
        }
    }

    /// The edge for which least is left of the voice once it has been subtracted.
    private static func sharpest(_ samples: [Float], _ waveform: [Float], near: Int, isRising: Bool) -> Int {
        func residue(_ edge: Int) -> Float {
            func without(_ index: Int) -> Float {
                (index >= edge) == isRising ? samples[index] - waveform[index % period] : samples[index]
            }
            var sum: Float = 0
            for index in near - 220..<near + 330 {
                let change = without(index) - without(index - period)
                sum += change * change
            }
            return sum
        }
        return (near - 110...near + 110).min { residue($0) < residue($1) } ?? near
    }

    func edge() throws(SoundRigError) -> BurstTiming.Edge {
        var crossings: [Int] = []
        var ratios: [Double] = []
        var amplitude = 0.0
        var isTorn = isVoiceTorn
        let before = 960..<max(960, edgeSample - 2880)
        let after = min(edgeSample + 2880, rest.count - 1200)..<rest.count - 200
        guard before.count > 480, after.count > 480 else { throw SoundRigError("the recording is too short") }
        for frequency in music {
            let magnitudes = SlidingTone(frequency, in: rest).magnitudes
            // Steady at both ends of the part, away from the edge.
            let start = median(Array(magnitudes[before.prefix(4800)]))
            let end = median(Array(magnitudes[after.suffix(4800)]))
            guard max(start, end) > 0.002 else { throw SoundRigError("\(Int(frequency)) Hz is missing") }
            let ratio = end / max(start, 1e-9)
            guard isRising ? ratio < 0.6 : ratio > 1.6 else {
                throw SoundRigError("\(Int(frequency)) Hz is not \(isRising ? "turned down" : "back") (\(ratio))")
            }
            let half = (start + end) / 2
            let last = magnitudes.lastIndex { isRising ? $0 > half : $0 < half } ?? 0
            crossings.append(last + Self.period / 2)
            ratios.append(ratio)
            amplitude = max(amplitude, start, end)
            let sound = magnitudes[480..<magnitudes.count - Self.period]
            isTorn = isTorn || Self.isTorn(sound, below: 0.5 * min(start, end))
        }
        let first = change(near: crossings.min() ?? 0, amplitude, isLast: false)
        let last = change(near: crossings.max() ?? 0, amplitude, isLast: true)
        return BurstTiming.Edge(
            first: milliseconds(first ?? crossings.min() ?? 0), last: milliseconds(last ?? crossings.max() ?? 0),
            ratio: median(ratios), isExact: first != nil && last != nil, isTorn: isTorn)
    }

    /// The sample at which something changed first or last, near a place; `nil` if that is not where it was expected.
    private func change(near place: Int, _ amplitude: Double, isLast: Bool) -> Int? {
        let period = Self.period
        let threshold = Float(0.1 * amplitude)
        // The first change of a fade is well before its middle.
        let reach = isLast ? 2 * period : 200 * period
        let range = max(period, place - reach)..<min(rest.count, place + 2 * period)
        let found = range.filter { index in
            abs(rest[index] - rest[index - period]) > threshold
                && abs(index - edgeSample) > 3 && abs(index - edgeSample - period) > 3
        }
        guard let index = isLast ? found.last.map({ $0 - period + 1 }) : found.first else { return nil }
        return isLast && abs(index - place) > period ? nil : index
    }

    private func milliseconds(_ sample: Int) -> Double {
        Double(sample - edgeSample) * 1000 / Double(TonePeriod.rate)
    }
}

/// One tone in each window of 80 samples, in which all other tones cancel out.
private struct SlidingTone {
    /// By the window's first sample: the tone as a complex amplitude whose phase does not turn with time.
    private var real: [Double] = []
    private var imaginary: [Double] = []
    private let bin: Int

    init(_ frequency: Double, in samples: some RandomAccessCollection<Float>) {
        let period = TonePeriod.length
        bin = Int((frequency * Double(period) / Double(TonePeriod.rate)).rounded())
        let samples = Array(samples)
        guard samples.count > period else { return }
        var sum = (real: 0.0, imaginary: 0.0)
        let turns = (0..<period).map { index in
            let angle = 2 * Double.pi * Double(index * bin % period) / Double(period)
            return (real: cos(angle), imaginary: sin(angle))
        }
        func add(_ value: Double, at index: Int) {
            let turn = turns[index % period]
            sum.real += value * turn.real
            sum.imaginary -= value * turn.imaginary
        }
        for index in 0..<period { add(Double(samples[index]), at: index) }
        real.reserveCapacity(samples.count - period)
        imaginary.reserveCapacity(samples.count - period)
        for index in 0..<samples.count - period {
            real.append(sum.real * 2 / Double(period))
            imaginary.append(sum.imaginary * 2 / Double(period))
            // The sample that leaves and the one that enters are a period apart, so they share a phase.
            add(Double(samples[index + period]) - Double(samples[index]), at: index)
        }
    }

    /// Linear amplitudes.
    var magnitudes: [Double] {
        zip(real, imaginary).map { ($0 * $0 + $1 * $1).squareRoot() }
    }

    /// One period of the tone as it is in the given windows, by the sample's place in the recording modulo 80.
    func waveform(over windows: Range<Int>) -> [Float] {
        let amplitude = (real: median(Array(real[windows])), imaginary: median(Array(imaginary[windows])))
        return (0..<TonePeriod.length).map { index in
            let turn = 2 * Double.pi * Double(index * bin % TonePeriod.length) / Double(TonePeriod.length)
            return Float(amplitude.real * cos(turn) - amplitude.imaginary * sin(turn))
        }
    }
}

private func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return 0 }
    return values.sorted()[values.count / 2]
}
