import EventLoop

/// One direction of a connection: messages arrive in their order, each some time after it was sent.
final class MessagePipe {
    private let loop: ManualEventLoop
    private let latency: () -> Duration
    private var last: LoopInstant

    init(loop: ManualEventLoop, latency: @escaping () -> Duration) {
        self.loop = loop
        self.latency = latency
        last = loop.now
    }

    func send(_ arrive: @escaping () -> Void) {
        last = max(last, loop.now + latency())
        loop.schedule(at: last, arrive)
    }
}
