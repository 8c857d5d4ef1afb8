import AudioPolicy
import Glibc

/// The right to be the one daemon of this session: an advisory lock that the kernel takes away with the process.
public struct SessionLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock; throws where another daemon holds it, with a hint at what to do then.
    public init(_ paths: SessionPaths, hint: String = "--replace takes its place") throws(CommandFailure) {
        try paths.makeRuntimeDirectory()
        let descriptor = open(paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(ExitCode.cannotCreate, "cannot open \(paths.lock.shown(limit: 200)): \(errnoText())")
        }
        guard lockFile(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            let holder = Self.holder(paths).map { " (process \($0))" } ?? ""
            throw CommandFailure(
                ExitCode.unavailable, "a Sordino daemon is already running\(holder); \(hint)")
        }
        ftruncate(descriptor, 0)
        let text = "\(getpid())\n"
        pwrite(descriptor, text, text.utf8.count, 0)
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Takes the lock after asking the daemon that holds it to end, which undoes its effects first.
    public static func replacing(_ paths: SessionPaths, timeout: Duration = .seconds(5)) throws(CommandFailure)
        -> SessionLock
    {
        let deadline = ContinuousClock().now + timeout
        var asked: Int32?
        while true {
            do throws(CommandFailure) {
                return try SessionLock(paths)
            } catch {
                guard error.code == ExitCode.unavailable else { throw error }
                // It may have ended since: then the lock is free at the next try.
                let holder = holder(paths)
                guard ContinuousClock().now < deadline else {
                    guard let holder else { throw error }
                    throw CommandFailure(
                        ExitCode.unavailable, "the running daemon (process \(holder)) does not end when asked to")
                }
                if let holder, asked != holder {
                    kill(holder, SIGTERM)
                    asked = holder
                }
                usleep(10_000)
            }
        }
    }

    /// The process that holds the lock, as far as its file says so and the process really has that file open: a number
    /// left by a daemon of the past may be anybody's by now.
    public static func holder(_ paths: SessionPaths) -> Int32? {
        guard let text = try? readFile(paths.lock), let pid = Int32(text.prefix { $0.isNumber }), pid > 1 else {
            return nil
        }
        var lock = stat()
        guard stat(paths.lock, &lock) == 0, let directory = opendir("/proc/\(pid)/fd") else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var file = stat()
            if stat("/proc/\(pid)/fd/\(name)", &file) == 0, file.st_ino == lock.st_ino, file.st_dev == lock.st_dev {
                return pid
            }
        }
        return nil
    }
}

/// The function; the structure of the same name hides it.
private let lockFile: @Sendable (Int32, Int32) -> Int32 = flock
