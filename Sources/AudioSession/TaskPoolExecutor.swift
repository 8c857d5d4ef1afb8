import Synchronization

/// Runs an actor's jobs one after the other on the task pool, for drivers that need no thread of their own.
package final class TaskPoolExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { Task.detached { self.drain() } }
    }

    private func drain() {
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                if state.jobs.isEmpty { state.isRunning = false }
                return state.jobs
            }
            guard !jobs.isEmpty else { return }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }
}
