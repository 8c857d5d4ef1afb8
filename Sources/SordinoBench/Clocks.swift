import Glibc

/// Milliseconds of a clock that only goes forward.
func monotonic() -> Double { read(CLOCK_MONOTONIC) * 1000 }

/// Microseconds of processor time that this thread has used.
func threadTime() -> Double { read(CLOCK_THREAD_CPUTIME_ID) * 1_000_000 }

private func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
