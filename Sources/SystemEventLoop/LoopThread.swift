import CSystemd
import Glibc

extension SystemEventLoop {
    /// Runs on a thread of its own, which lives until `exit`, for a program whose main thread is its own. Nothing but
    /// jobs may reach the loop from outside from then on.
    ///
    /// The thread takes no signals: those are the program's.
    package func runOnItsOwnThread() throws(SystemEventLoopError) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let result = pthread_create(&thread, nil, runLoop, context.toOpaque())
        guard result == 0 else {
            context.release()
            throw SystemEventLoopError(operation: "pthread_create", code: result)
        }
        pthread_detach(thread)
    }
}

private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let loop = Unmanaged<SystemEventLoop>.fromOpaque(context).takeRetainedValue()
    // It ends by `exit` alone; whatever else ends it leaves nobody to tell.
    _ = try? loop.run()
    return nil
}
