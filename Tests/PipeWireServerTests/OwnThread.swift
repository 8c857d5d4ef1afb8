import Foundation
import Synchronization

/// Runs a test's body on a thread of its own: it turns a loop and waits, which would keep one of the few threads that
/// all other tests share.
func onOwnThread(_ body: () throws -> Void) async throws {
    let executor = ThreadExecutor()
    defer { executor.finish() }
    try await withTaskExecutorPreference(executor) { try body() }
}

private final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isFinished = false
    }

    private let state = Mutex(State())
    private let ready = DispatchSemaphore(value: 0)

    init() {
        let thread = Thread { [self] in
            while let job = next() { job?.runSynchronously(on: asUnownedTaskExecutor()) }
        }
        thread.name = "test"
        thread.stackSize = 8 << 20
        thread.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        ready.signal()
    }

    func finish() {
        state.withLock { $0.isFinished = true }
        ready.signal()
    }

    /// `nil` when there will be no more.
    private func next() -> UnownedJob?? {
        ready.wait()
        return state.withLock { state in
            if !state.jobs.isEmpty { return .some(state.jobs.removeFirst()) }
            return state.isFinished ? nil : .some(nil)
        }
    }
}
