import func Glibc.cbrt
import func Glibc.pow

/// A level relative to a stream's baseline, in decibels of amplitude; 0 or less.
public struct Decibels: Hashable, Comparable, Sendable {
    public var value: Double

    public init(_ value: Double) { self.value = value }

    /// The factor of amplitude: 0.1 at −20 dB.
    public var factor: Double { pow(10, value / 20) }

    public static func < (a: Decibels, b: Decibels) -> Bool { a.value < b.value }
}

/// What one kind does to the streams of another.
public enum Effect: Hashable, Sendable {
    case none
    case duck(Decibels)
    case pause
    case mute
}

extension Effect {
    /// Of several effects on one stream the strongest applies, never the product: a pause also silences, and keeps the
    /// place in the music.
    public func isStronger(than other: Effect) -> Bool {
        switch (self, other) {
        case (.duck(let a), .duck(let b)): a < b
        default: strength > other.strength
        }
    }

    private var strength: Int {
        switch self {
        case .none: 0
        case .duck: 1
        case .mute: 2
        case .pause: 3
        }
    }

    /// The factor on the baseline; pause and mute leave the level alone.
    public var factor: Double {
        if case .duck(let level) = self { level.factor } else { 1 }
    }
}

/// Servers round the volumes that they are given. Two amplitudes are the same if they are within a step of the server's
/// volume scale, which is the cube root of amplitude on both servers.
struct VolumeResolution: Equatable, Sendable {
    /// In units of the cube root of amplitude. PulseAudio: 1/65536; PipeWire: single precision.
    var step: Double

    func same(_ a: Double, _ b: Double) -> Bool { abs(cbrt(a) - cbrt(b)) <= step }

    func same(_ a: [Double], _ b: [Double]) -> Bool { a.count == b.count && zip(a, b).allSatisfy(same) }

    /// Whether the server keeps both as the very same number.
    func equal(_ a: [Double], _ b: [Double]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { (cbrt($0) / step).rounded() == (cbrt($1) / step).rounded() }
    }
}
