@testable import AudioPolicy
import EventLoop
import Testing

struct RampTests {
    private let start = LoopInstant(nanoseconds: 1_000_000_000)

    @Test(arguments: [(1.0, 0.1), (0.1, 1.0), (0.5, 0.0178)])
    func `a fade is monotone, in steps of 20 ms, and ends exactly`(from: Double, target: Double) {
        let ramp = Ramp(from: from, to: target, over: .milliseconds(400), start: start)
        var now = start
        var values: [Double] = []
        while true {
            values.append(ramp.factor(at: now) ?? .nan)
            if ramp.isOver(at: now) { break }
            let next = ramp.nextStep(after: now)
            #expect(next - now == .milliseconds(20))
            now = next
        }
        #expect(values.count == 20 && values.last == target)
        let isFalling = target < from
        #expect(zip(values, values.dropFirst()).allSatisfy { isFalling ? $0 > $1 : $0 < $1 })
        let steps = zip([from] + values, values).map { $1 / $0 }
        #expect(steps.allSatisfy { abs($0 - steps[0]) < 1e-9 })
    }

    @Test func `a fade that begins later takes no step before`() {
        let ramp = Ramp(from: 1, to: 0.5, over: .milliseconds(100), start: start)
        let before = LoopInstant(nanoseconds: 0)
        #expect(ramp.factor(at: before) == nil && ramp.nextStep(after: before) == start)
    }

    @Test(arguments: [Duration.zero, .milliseconds(1), .milliseconds(20)])
    func `a fade of no length is one step`(duration: Duration) {
        let ramp = Ramp(from: 1, to: 0.5, over: duration, start: start)
        #expect(ramp.factor(at: start) == 0.5 && ramp.isOver(at: start))
    }

    @Test func `a late step is the one that is due`() {
        let ramp = Ramp(from: 1, to: 0.1, over: .milliseconds(100), start: start)
        #expect(ramp.factor(at: start + .seconds(9)) == 0.1)
    }
}
