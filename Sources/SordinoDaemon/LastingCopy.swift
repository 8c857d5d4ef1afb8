import Dispatch
import Glibc
import SoundServerFinder
import Synchronization

/// The part of the ledger that must outlive a restart of the machine, in a file of the state directory: written and
/// synchronised on a queue of its own, never waited for by the session's loop, within 5 s of the change (PulseAudio
/// saves its database 10 s after one).
public final class LastingCopy: Sendable {
    /// From a change of the ledger to its copy: long enough for a call's worth of changes to be one write.
    private static let delay = DispatchTimeInterval.milliseconds(1500)

    private let ledger: String
    private let path: String
    private let lasting: @Sendable (String) -> String
    private let queue = DispatchQueue(label: "org.sordino.ledger-copy")
    private let isScheduled = Mutex(false)
    /// What the file has, as far as this process knows.
    private let written = Mutex<String?>(nil)

    /// - Parameters:
    ///   - ledger: the file to copy from.
    ///   - path: the file to copy to.
    ///   - lasting: what of a ledger is about values that a server stores; empty where nothing is.
    public init(of ledger: String, at path: String, lasting: @escaping @Sendable (String) -> String) {
        self.ledger = ledger
        self.path = path
        self.lasting = lasting
    }

    /// Whether there is a file.
    public var isThere: Bool { access(path, F_OK) == 0 }

    public func read() -> String { (try? readFile(path)) ?? "" }

    /// Something was written to the ledger. Costs next to nothing while a copy is due anyway.
    public func ledgerChanged() {
        let wasScheduled = isScheduled.withLock { scheduled in
            defer { scheduled = true }
            return scheduled
        }
        guard !wasScheduled else { return }
        queue.asyncAfter(deadline: .now() + Self.delay) { [self] in
            isScheduled.withLock { $0 = false }
            write()
        }
    }

    /// Copies now and returns when it is on the disk.
    public func finish() { queue.sync { write() } }

    private func write() {
        let lines = lasting((try? readFile(ledger)) ?? "")
        guard written.withLock({ $0 }) != lines else { return }
        do throws(SystemError) {
            if lines.isEmpty {
                if unlink(path) == 0 { syncDirectory(of: path) }
            } else {
                try makeDirectories(parent(of: path))
                try replaceFile(path, with: lines, durable: true)
            }
            written.withLock { $0 = lines }
        } catch {
            // The copy is a second net; the next change tries again.
        }
    }
}
