import Glibc

func errorText(_ code: Int32) -> String { String(cString: strerror(code)) }

/// Short, since the path of a socket has 107 bytes.
func temporaryDirectory() -> String {
    guard let variable = getenv("TMPDIR") else { return "/tmp" }
    let directory = String(cString: variable)
    return directory.hasPrefix("/") && directory.utf8.count <= 48 && access(directory, W_OK) == 0 ? directory : "/tmp"
}

func executable(_ name: String, path: String?) -> String? {
    if name.contains("/") { return name }
    return (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        .map { "\($0)/\(name)" }
        .first { access($0, X_OK) == 0 }
}

/// The environment of this process.
func inheritedEnvironment() -> [String: String] {
    var result: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
        let text = String(cString: entry)
        if let equals = text.firstIndex(of: "=") {
            result[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        next += 1
    }
    return result
}

/// An array of C strings that ends in NULL, for the time of the call.
func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var copies = strings.map { strdup($0) }
    copies.append(nil)
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("an array with a NULL in it is not empty") }
        return body(base)
    }
}

func now() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension Duration {
    /// Rounded up, so that a wait is never cut to a spin.
    var milliseconds: Int32 {
        Int32(
            clamping: components.seconds * 1000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        )
    }
}

/// Waits until one of the descriptors can be read or has ended, at most `timeout` (`nil`: for ever); returns those.
func waitReadable(_ descriptors: [Int32], timeout: Duration?) -> [Int32] {
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let deadline = timeout.map { now() + $0 }
    while true {
        let left = deadline.map { max($0 - now(), .zero).milliseconds } ?? -1
        let count = poll(&entries, nfds_t(entries.count), left)
        if count < 0 && errno == EINTR { continue }
        return entries.filter { $0.revents != 0 }.map(\.fd)
    }
}

func writeFile(_ path: String, _ text: String) throws(HeadlessError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw HeadlessError("\(path): \(errorText(errno))") }
    defer { close(descriptor) }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw HeadlessError("\(path): \(errorText(errno))") }
        rest = rest.dropFirst(count)
    }
}

/// The end of a file, at most `limit` bytes of it.
func tail(_ path: String, limit: Int = 4096) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    let size = lseek(descriptor, 0, SEEK_END)
    lseek(descriptor, max(0, size - limit), SEEK_SET)
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        count = max(0, read(descriptor, buffer.baseAddress, limit))
    }
    return String(decoding: bytes, as: UTF8.self)
}

func directoryEntries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { names.append(name) }
    }
    return names
}

/// Whether somebody listens on a socket.
func accepts(_ path: String) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
    }
}

/// A pair of connected descriptors that no other child inherits. A socket, since Swift sees no `pipe2`.
public func makeChannel() throws(HeadlessError) -> (own: Int32, other: Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw HeadlessError("a channel: \(errorText(errno))")
    }
    return (ends[0], ends[1])
}
