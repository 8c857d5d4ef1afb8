import EventLoop

import func Glibc.pow

/// One fade of one stream: from the level it has, in equal steps of decibels, 20 ms apart.
struct Ramp: Equatable {
    static let step: Duration = .milliseconds(20)

    let target: Double
    private let from: Double
    private let start: LoopInstant
    private let steps: Int

    /// Factors of amplitude, above 0. The first step is taken at `start`, the last is exactly the target.
    init(from: Double, to target: Double, over duration: Duration, start: LoopInstant) {
        self.target = target
        self.from = from
        self.start = start
        steps = max(1, Int((duration.nanoseconds + Self.step.nanoseconds - 1) / Self.step.nanoseconds))
    }

    /// `nil` before it starts.
    func factor(at now: LoopInstant) -> Double? {
        guard now >= start else { return nil }
        let step = Int((now - start).nanoseconds / Self.step.nanoseconds) + 1
        guard step < steps, from != target else { return target }
        return from * pow(target / from, Double(step) / Double(steps))
    }

    func isOver(at now: LoopInstant) -> Bool { factor(at: now) == target }

    /// When the next step is due.
    func nextStep(after now: LoopInstant) -> LoopInstant {
        guard now >= start else { return start }
        let passed = (now - start).nanoseconds / Self.step.nanoseconds
        return start + Self.step * Int(passed + 1)
    }
}
