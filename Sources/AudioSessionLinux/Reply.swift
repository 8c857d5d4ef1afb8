import EventLoop
import SystemEventLoop

/// The place of one answer that a task waits for, at most so long. Confined to the loop, so that it is handed from one
/// callback there to the next without a lock.
final class Reply<Value: Sendable>: @unchecked Sendable {
    private var continuation: CheckedContinuation<Value?, Never>?
    private var timer: (any LoopTimer)?

    init(_ continuation: CheckedContinuation<Value?, Never>, within limit: Duration, on loop: SystemEventLoop) {
        self.continuation = continuation
        timer = loop.schedule(after: limit) { [self] in give(nil) }
    }

    /// Whether the task still waits.
    var isAwaited: Bool { continuation != nil }

    /// `nil`: there is no answer. Does nothing once the task waits no more.
    func give(_ value: Value?) {
        guard let continuation else { return }
        self.continuation = nil
        timer?.cancel()
        timer = nil
        continuation.resume(returning: value)
    }
}
