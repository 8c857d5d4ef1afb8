internal import Glibc

/// Whole files as text; bytes that are not UTF-8 become U+FFFD.
enum FileText {
    struct ReadError: Error {
        /// A sentence, without the file's name.
        var message: String
    }

    static func read(_ path: String, upTo limit: Int) -> Result<String, ReadError> {
        let descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(lastError()) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failure(lastError()) }
            guard count > 0 else { return .success(String(decoding: bytes, as: UTF8.self)) }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { return .failure(ReadError(message: "it is larger than \(limit) bytes")) }
        }
    }

    private static func lastError() -> ReadError {
        ReadError(message: "it cannot be read: " + String(cString: strerror(errno)))
    }
}
