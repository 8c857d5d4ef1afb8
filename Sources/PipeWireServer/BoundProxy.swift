import CPipeWire

/// An object of the server that we have bound, with the hook of our one listener on it.
///
/// Its owner closes it before the connection goes, since the connection frees all proxies that are left.
final class BoundProxy {
    let pointer: OpaquePointer
    private let hook: UnsafeMutablePointer<spa_hook>
    private var isOpen = true

    /// `listen` adds the listener with the hook; what it gives as the listener's data must outlive `close`.
    init(_ pointer: OpaquePointer, listen: (OpaquePointer, UnsafeMutablePointer<spa_hook>) -> Void) {
        self.pointer = pointer
        hook = .allocate(capacity: 1)
        hook.initialize(to: spa_hook())
        listen(pointer, hook)
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        spa_hook_remove(hook)
        pw_proxy_destroy(pointer)
    }

    deinit {
        precondition(!isOpen, "a proxy was dropped without being closed")
        hook.deallocate()
    }
}

/// A table of callbacks for C: made once, never changed and never freed.
struct EventTable<Events>: @unchecked Sendable {  // immutable after `init`
    let pointer: UnsafePointer<Events>

    init(_ events: Events) {
        let pointer = UnsafeMutablePointer<Events>.allocate(capacity: 1)
        pointer.initialize(to: events)
        self.pointer = UnsafePointer(pointer)
    }
}

/// The object that was given to C, unretained, as a listener's data.
func object<T: AnyObject>(_ data: UnsafeMutableRawPointer?, as _: T.Type = T.self) -> T? {
    data.map { Unmanaged<T>.fromOpaque($0).takeUnretainedValue() }
}
