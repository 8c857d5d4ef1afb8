/// A loop whose clock is turned by hand, for tests: time passes only in `advance`.
public final class ManualEventLoop: EventLoop {
    public private(set) var now = LoopInstant(nanoseconds: 0)
    public var wallClock: Double { 1_000_000_000 + Double(now.nanoseconds) / 1e9 }

    private final class Timer: LoopTimer {
        let deadline: LoopInstant
        let order: Int
        var body: (() -> Void)?

        init(deadline: LoopInstant, order: Int, body: @escaping () -> Void) {
            self.deadline = deadline
            self.order = order
            self.body = body
        }

        func cancel() { body = nil }
    }

    /// Sorted by deadline, then by the order of scheduling.
    private var timers: [Timer] = []
    private var scheduled = 0

    public init() {}

    @discardableResult
    public func schedule(at deadline: LoopInstant, _ body: @escaping () -> Void) -> any LoopTimer {
        scheduled += 1
        let timer = Timer(deadline: deadline, order: scheduled, body: body)
        let index = timers.firstIndex { ($0.deadline, $0.order) > (deadline, timer.order) } ?? timers.endIndex
        timers.insert(timer, at: index)
        return timer
    }

    /// Whether any timer is still to fire.
    public var isIdle: Bool { !timers.contains { $0.body != nil } }

    /// Lets time pass, firing what falls due in order, each at its own time.
    public func advance(by duration: Duration) {
        let end = now + duration
        while let first = timers.first, first.deadline <= end {
            timers.removeFirst()
            now = max(now, first.deadline)
            let body = first.body
            first.body = nil
            body?()
        }
        now = end
    }
}
