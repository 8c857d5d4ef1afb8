import EventLoop
import Glibc

/// One fade of one stream: from the level it has, in equal steps of decibels, 20 ms apart.
struct Ramp: Equatable {
    static let step: Duration = .milliseconds(20)

    let target: Double
    private let from: Double
    private let start: LoopInstant
    private let steps: Int

    /// `nil` where there is nothing to fade. Factors of amplitude, above 0.
    init?(from: Double, to target: Double, over duration: Duration, now: LoopInstant) {
        let steps = Int((duration.nanoseconds + Self.step.nanoseconds - 1) / Self.step.nanoseconds)
        guard steps > 1, from != target else { return nil }
        self.target = target
        self.from = from
        self.steps = steps
        start = now
    }

    /// The factor at this moment; the first step is taken at once, the last is exactly the target.
    func factor(at now: LoopInstant) -> Double {
        let step = Int((now - start).nanoseconds / Self.step.nanoseconds) + 1
        guard step < steps else { return target }
        return from * pow(target / from, Double(step) / Double(steps))
    }

    func isOver(at now: LoopInstant) -> Bool { factor(at: now) == target }

    /// When the next step is due.
    func nextStep(after now: LoopInstant) -> LoopInstant {
        let passed = (now - start).nanoseconds / Self.step.nanoseconds
        return start + Self.step * Int(passed + 1)
    }
}
