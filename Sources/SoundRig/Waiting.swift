import Glibc

/// Waits for a condition without holding a thread, at most `deadline`; returns whether it came true.
public func eventually(
    within deadline: Duration = .seconds(10), every interval: Duration = .milliseconds(3),
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + deadline
    while true {
        if try await condition() { return true }
        if ContinuousClock.now > end { return false }
        try? await Task.sleep(for: interval)
    }
}

/// Runs a body that blocks on a thread of its own, so that it takes none from those that wait.
public func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result { try body() }) }
    }
}

/// A detached thread.
func startThread(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let result = pthread_create(&thread, nil, runThread, box.toOpaque())
    // Only a lack of memory or processes fails here.
    precondition(result == 0, "pthread_create: \(result)")
    pthread_detach(thread)
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
