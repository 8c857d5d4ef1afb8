/// A point on a loop's monotonic clock.
public struct LoopInstant: Hashable, Comparable, Sendable {
    /// Since an arbitrary start that is the same for the loop's whole life.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static func < (a: LoopInstant, b: LoopInstant) -> Bool { a.nanoseconds < b.nanoseconds }
    public static func + (a: LoopInstant, d: Duration) -> LoopInstant {
        LoopInstant(nanoseconds: a.nanoseconds + d.nanoseconds)
    }
    public static func - (a: LoopInstant, b: LoopInstant) -> Duration {
        .nanoseconds(a.nanoseconds - b.nanoseconds)
    }
}

extension Duration {
    public var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}

/// The one loop that a session lives on. Confined to its thread: nothing here may be called from elsewhere.
public protocol EventLoop: AnyObject {
    var now: LoopInstant { get }
    /// Seconds since 1970, for people.
    var wallClock: Double { get }
    /// Calls `body` once, not before `deadline`. Dropping the timer does not cancel it.
    @discardableResult
    func schedule(at deadline: LoopInstant, _ body: @escaping () -> Void) -> any LoopTimer
}

public protocol LoopTimer: AnyObject {
    /// Does nothing after the timer has fired.
    func cancel()
}

extension EventLoop {
    @discardableResult
    public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> any LoopTimer {
        schedule(at: now + delay, body)
    }
}
