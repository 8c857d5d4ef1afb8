import AudioPolicy
import Glibc
import SoundServerFinder

public struct SystemError: Error, Equatable, Sendable {
    /// An `errno` value.
    public let code: Int32
}

/// A file as text, invalid UTF-8 replaced; what is beyond `limit` bytes, more than any file of ours can have, is left out.
func readFile(_ path: String, limit: Int = 16 << 20) throws(SystemError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw SystemError(code: errno) }
        bytes += buffer[..<count]
        if count == 0 || bytes.count >= limit { return String(decoding: bytes, as: UTF8.self) }
    }
}

/// Writes everything, in one call where the system takes it so.
public func writeAll(_ text: String, to descriptor: Int32) throws(SystemError) {
    var text = text
    let failure: Int32? = text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno != EINTR { return errno }
            rest = rest.dropFirst(max(0, count))
        }
        return nil
    }
    if let failure { throw SystemError(code: failure) }
}

/// Puts a file in place of another in one step. `durable`: it is on the disk when this returns.
func replaceFile(_ path: String, with text: String, durable: Bool) throws(SystemError) {
    let temporary = path + ".new"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    do throws(SystemError) {
        try writeAll(text, to: descriptor)
        if durable, fsync(descriptor) != 0 { throw SystemError(code: errno) }
    } catch {
        close(descriptor)
        unlink(temporary)
        throw error
    }
    close(descriptor)
    guard rename(temporary, path) == 0 else { throw SystemError(code: errno) }
    if durable { syncDirectory(of: path) }
}

/// Writes a file of the user's in one step, with the directories on the way.
public func writeUserFile(_ path: String, _ text: String) throws(CommandFailure) {
    do throws(SystemError) {
        try makeDirectories(parent(of: path))
        try replaceFile(path, with: text, durable: true)
    } catch {
        throw CommandFailure(
            ExitCode.cannotCreate, "cannot write \(path.shown(limit: 400)): \(errnoText(error.code))")
    }
}

/// Makes a removal or a new name in the file's directory last.
func syncDirectory(of path: String) {
    let directory = open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
}

/// Makes a directory and those above it.
func makeDirectories(_ path: String) throws(SystemError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, path != "/" else { throw SystemError(code: errno) }
    try makeDirectories(parent(of: path))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError(code: errno) }
}
