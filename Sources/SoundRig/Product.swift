import Glibc

/// A program of this package, which lies in the directory of the running one or above it.
public func product(_ name: String) throws(SoundRigError) -> String {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0 else { throw SoundRigError("the running program's path is not known") }
    let own = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var directory = own[...]
    while let slash = directory.lastIndex(of: "/") {
        directory = directory[..<slash]
        let path = "\(directory)/\(name)"
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 { return path }
    }
    throw SoundRigError("\(name) has not been built: swift build --product \(name)")
}
