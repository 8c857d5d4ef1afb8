public import AudioPolicy
import Glibc

/// The ledger in a file of the runtime directory. Whoever holds the session's lock is its one writer.
///
/// Appending is one write to the page cache: it survives the process, not the machine. What a server stores, and
/// therefore has to be undone after a restart of the machine too, is also in a lasting copy.
public final class FileLedgerStore: LedgerStore {
    private let path: String
    private let copy: LastingCopy?
    private var descriptor: Int32
    /// A line that is not whole is at the end of the file: what follows must begin a new one.
    private var endsInsideLine: Bool
    /// The copy is not what the ledger says any more, and nobody has told it.
    private var isCopyBehind = false
    /// Called, once for each kind of failure, where a line could not be written.
    public var onFailure: ((String) -> Void)?
    private var reported: Set<Int32> = []

    /// Opens the ledger. Where the runtime directory has none, which is so after a restart of the machine, it begins as
    /// the lasting copy.
    public init(_ path: String, copy: LastingCopy?) throws(CommandFailure) {
        self.path = path
        self.copy = copy
        let isNew = access(path, F_OK) != 0
        do throws(SystemError) {
            if isNew, let lines = copy?.read(), !lines.isEmpty { try replaceFile(path, with: lines, durable: false) }
            descriptor = try Self.open(path)
        } catch {
            throw CommandFailure(
                ExitCode.cannotCreate, "cannot open the ledger \(path.shown(limit: 200)): \(errnoText(error.code))")
        }
        let text = (try? readFile(path)) ?? ""
        endsInsideLine = !text.isEmpty && text.utf8.last != UInt8(ascii: "\n")
    }

    deinit { close(descriptor) }

    private static func open(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        return descriptor
    }

    public func read() -> String { (try? readFile(path)) ?? "" }

    public func append(_ lines: String) {
        do throws(SystemError) {
            try writeAll(endsInsideLine ? "\n" + lines : lines, to: descriptor)
            endsInsideLine = false
        } catch {
            // Part of it may be there.
            endsInsideLine = true
            report(error)
        }
        isCopyBehind = true
    }

    public func replace(with lines: String) {
        // So it is at nearly every start, which is not to set up the copy's thread.
        if lines.isEmpty, isEmpty, copy?.isThere != true { return }
        do throws(SystemError) {
            if lines.isEmpty {
                guard ftruncate(descriptor, 0) == 0 else { throw SystemError(code: errno) }
            } else {
                try replaceFile(path, with: lines, durable: false)
                let new = try Self.open(path)
                close(descriptor)
                descriptor = new
            }
            endsInsideLine = false
        } catch {
            report(error)
        }
        isCopyBehind = true
    }

    private var isEmpty: Bool { lseek(descriptor, 0, SEEK_END) == 0 }

    public func operationsSent() {
        guard isCopyBehind else { return }
        isCopyBehind = false
        copy?.ledgerChanged()
    }

    /// Brings the lasting copy up to date now, waiting for the disk. For the end of the process.
    public func finish() { copy?.finish() }

    private func report(_ error: SystemError) {
        guard reported.insert(error.code).inserted else { return }
        onFailure?("the ledger \(path.shown(limit: 200)) cannot be written: \(errnoText(error.code))")
    }
}
