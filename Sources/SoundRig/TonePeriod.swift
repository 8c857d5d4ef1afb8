import Glibc

/// Sound at 48 kHz folded to 80 samples. Tones at multiples of 600 Hz repeat after 80 samples, so folding keeps them,
/// and over one period they are orthogonal: each tone's amplitude comes out exactly, whatever else plays.
public struct TonePeriod: Sendable {
    public static let rate = 48000
    /// Samples in a period.
    public static let length = 80

    private var sum = [Float](repeating: 0, count: length)
    /// How many samples went in.
    public private(set) var count = 0

    public init() {}

    /// Adds samples of one channel; `stride` is the distance between them.
    mutating func add(_ samples: UnsafeBufferPointer<Float>, offset: Int, stride: Int, frames: Range<Int>) {
        sum.withUnsafeMutableBufferPointer { sum in
            var position = count % TonePeriod.length
            for frame in frames {
                sum[position] += samples[frame * stride + offset]
                position = position == TonePeriod.length - 1 ? 0 : position + 1
            }
        }
        count += frames.count
    }

    mutating func add(_ other: TonePeriod) {
        for index in sum.indices { sum[index] += other.sum[index] }
        count += other.count
    }

    /// The linear amplitude of a tone. Zero if nothing went in.
    public func amplitude(of frequency: Double) -> Double {
        let bin = Int((frequency * Double(TonePeriod.length) / Double(TonePeriod.rate)).rounded())
        var real = 0.0
        var imaginary = 0.0
        for index in 0..<TonePeriod.length {
            let step = index * bin % TonePeriod.length
            real += Double(sum[index]) * cosine[step]
            imaginary += Double(sum[index]) * cosine[(step + 60) % TonePeriod.length]
        }
        return count == 0 ? 0 : 2 * (real * real + imaginary * imaginary).squareRoot() / Double(count)
    }
}

private let cosine = (0..<TonePeriod.length).map { cos(2 * Double.pi * Double($0) / Double(TonePeriod.length)) }

/// Linear amplitude as decibels; silence is −200.
public func decibels(_ amplitude: Double) -> Double { amplitude > 1e-10 ? 20 * log10(amplitude) : -200 }
