public import AudioPolicy
internal import Glibc

/// What `/proc` says of processes. Reads are of the kernel's memory and wait for nothing.
///
/// Facts that cost several reads are kept for as long as the process stays the same: same start, same name (which changes
/// when it executes another program).
public final class ProcessDirectory: ProcessInspector {
    private struct Known {
        var startTicks: UInt64
        var facts: ProcessFacts
    }

    public let userID: UInt32
    private let root: String
    private let ticksPerSecond: Double
    private var known: [Int32: Known] = [:]
    /// Each process's own id in the innermost PID namespace that it lives in, of those that there were when last asked.
    private var innerPids: [Int32: Int32] = [:]
    /// Facts of more processes than this are not kept.
    private static let mostKnown = 1024

    /// `root`: another directory than `/proc`, for tests.
    public init(root: String = "/proc", userID: UInt32? = nil) {
        self.root = root
        self.userID = userID ?? getuid()
        ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Seconds since 1970.
    public var now: Double { Self.seconds(CLOCK_REALTIME) }

    public func facts(of pid: Int32) -> ProcessFacts? { lookUp(pid)?.facts }

    public func process(namespaced pid: Int32, executable: String) -> ProcessFacts? {
        var inner: [Int32: Int32] = [:]
        for candidate in processes() {
            inner[candidate] = innerPids[candidate] ?? status(candidate)?.innerPid ?? candidate
        }
        // Only processes that are new since the last time cost a read.
        innerPids = inner
        let found = inner.compactMap { candidate, innerPid -> ProcessFacts? in
            guard innerPid == pid, candidate != pid, let facts = facts(of: candidate), facts.userID == userID,
                facts.executable.hasSuffix("/" + executable)
            else { return nil }
            return facts
        }
        return found.count == 1 ? found.first : nil
    }

    private func lookUp(_ pid: Int32) -> Known? {
        guard pid > 0, let stat = stat(pid) else {
            known[pid] = nil
            return nil
        }
        if let known = known[pid], known.startTicks == stat.startTicks, known.facts.name == stat.name {
            var current = known
            current.facts.parent = stat.parent
            current.facts.sessionID = stat.session
            return current
        }
        guard let status = status(pid) else { return nil }
        let unit = withFile("\(pid)/cgroup") { ControlGroup.leaf($0) }
        let facts = ProcessFacts(
            pid: pid, parent: stat.parent, userID: status.userID, started: started(stat.startTicks),
            executable: executable(pid), name: stat.name, sessionID: stat.session,
            applicationUnit: unit.flatMap { ControlGroup.isApplication($0) ? $0 : nil },
            sandbox: sandbox(pid, unit: unit))
        let item = Known(startTicks: stat.startTicks, facts: facts)
        if known.count >= Self.mostKnown { known.removeAll() }
        known[pid] = item
        return item
    }

    /// Ticks count from the boot, on a clock that runs on while the machine sleeps.
    private func started(_ ticks: UInt64) -> Double {
        Self.seconds(CLOCK_REALTIME) - Self.seconds(CLOCK_BOOTTIME) + Double(ticks) / ticksPerSecond
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func executable(_ pid: Int32) -> String {
        let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let length = readlink("\(root)/\(pid)/exe", start, buffer.count)
            return String(decoding: UnsafeRawBufferPointer(start: start, count: max(length, 0)), as: UTF8.self)
        }
        // A program replaced while it runs.
        let deleted = " (deleted)"
        return path.hasSuffix(deleted) ? String(path.dropLast(deleted.count)) : path
    }

    private func sandbox(_ pid: Int32, unit: String?) -> ProcessFacts.Sandbox? {
        if let info = text("\(pid)/root/.flatpak-info"), let sandbox = Sandboxes.flatpak(info) { return sandbox }
        return Sandboxes.snap(label: text("\(pid)/attr/apparmor/current") ?? text("\(pid)/attr/current"), unit: unit)
    }

    private func processes() -> [Int32] {
        guard let directory = opendir(root) else { return [] }
        defer { closedir(directory) }
        var pids: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let pid = Int32(name) { pids.append(pid) }
        }
        return pids
    }

    /// The one file that every question needs.
    private func stat(_ pid: Int32) -> ProcessStat? { withFile("\(pid)/stat") { ProcessStat($0) } }

    private func status(_ pid: Int32) -> ProcessStatus? { withFile("\(pid)/status") { ProcessStatus($0) } }

    private func text(_ path: String) -> String? { withFile(path) { String(decoding: $0, as: UTF8.self) } }

    /// What is in a file, up to 8 kB of it; `nil` where there is no such file, it may not be read, or it is empty.
    private func withFile<Result>(_ path: String, _ body: (UnsafeRawBufferPointer) -> Result?) -> Result? {
        let descriptor = open("\(root)/\(path)", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            // The kernel gives all that there is at once, but for what does not fit.
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            return count > 0 ? body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : nil
        }
    }
}
