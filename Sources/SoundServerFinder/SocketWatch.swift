import CSystemd
import Glibc
import SystemEventLoop

/// Says when one of some paths may have come into being, without asking again and again. Directories on the way need
/// not exist yet.
final class SocketWatch {
    private let descriptor: Int32
    private let paths: [String]
    private let onChange: () -> Void
    private var source: LoopSource?
    /// By the watch of a directory: the directory, and the names in it that matter.
    private var watches: [Int32: (directory: String, names: Set<String>)] = [:]

    /// `nil` where the system lets nobody watch any more.
    init?(loop: SystemEventLoop, paths: [String], onChange: @escaping () -> Void) {
        self.paths = paths
        self.onChange = onChange
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        source = try? loop.addIO(descriptor: descriptor, events: EPOLLIN.rawValue) { [unowned self] _ in
            self.readEvents()
        }
        guard source != nil else { return nil }
        arm()
    }

    deinit {
        source?.cancel()
        close(descriptor)
    }

    private static let mask = UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

    /// Watches, for each path, the nearest directory that exists.
    private func arm() {
        var wanted: [Int32: (directory: String, names: Set<String>)] = [:]
        for path in paths {
            guard let (watch, directory, name) = watchNearest(path) else { continue }
            wanted[watch, default: (directory, [])].names.insert(name)
        }
        for watch in watches.keys where wanted[watch] == nil { inotify_rm_watch(descriptor, watch) }
        watches = wanted
    }

    private func watchNearest(_ path: String) -> (Int32, directory: String, name: String)? {
        // A directory may come or go between looking and watching; each round looks again from the top.
        for _ in 0..<16 {
            var directory = parent(of: path)
            while access(directory, F_OK) != 0, directory != "/" { directory = parent(of: directory) }
            let watch = inotify_add_watch(descriptor, directory, Self.mask)
            guard watch >= 0 else { continue }
            let start = directory == "/" ? 1 : directory.utf8.count + 1
            let name = String(decoding: path.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
            let next = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
            if next == path || access(next, F_OK) != 0 { return (watch, directory, name) }
        }
        return nil
    }

    private func readEvents() {
        var isNews = false
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                isNews = news(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])) || isNews
            }
        }
        guard isNews else { return }
        arm()
        onChange()
    }

    /// Whether some event is about one of the paths, or says that a watch or an event is lost.
    private func news(in events: UnsafeRawBufferPointer) -> Bool {
        let header = MemoryLayout<inotify_event>.size
        var offset = 0
        var isNews = false
        while offset + header <= events.count {
            let event = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = min(events.count, offset + header + Int(event.len))
            let name = String(decoding: events[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
            isNews = isNews || name.isEmpty || watches[event.wd]?.names.contains(name) == true
            offset = end
        }
        return isNews
    }
}

/// `/a` of `/a/b`, `/` of `/a` and of `/`.
package func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
}
