import AudioPolicy
import CPipeWire
import Glibc
import SystemEventLoop

/// What a connection tells its owner. All but `connectionIsReady` comes from within libpipewire: nothing of the
/// connection may be closed there.
protocol PipeWireConnectionDelegate: AnyObject {
    func coreInfo(version: String, cookie: UInt32)
    func coreDone(sequence: Int32)
    func coreError(id: UInt32, sequence: Int32, code: Int32, message: String)
    func globalAdded(id: UInt32, type: UnsafePointer<CChar>, properties: UnsafePointer<spa_dict>?)
    func globalRemoved(id: UInt32)
    /// libpipewire's loop has work; the owner calls `turn` until it returns false.
    func connectionIsReady()
}

/// libpipewire's loop as one source of the session's, and the core of one connection on it.
final class PipeWireConnection {
    private let loop: UnsafeMutablePointer<pw_loop>
    private let context: OpaquePointer
    let core: OpaquePointer
    let registry: OpaquePointer
    private let coreHook: UnsafeMutablePointer<spa_hook>
    private let registryHook: UnsafeMutablePointer<spa_hook>
    private var source: LoopSource?
    private unowned let delegate: any PipeWireConnectionDelegate
    private var isOpen = true
    private var hasStreamModules = false

    /// Connects to a remote: a name below the runtime directory or a socket's path; `nil`: the environment's.
    init(remote: String?, delegate: any PipeWireConnectionDelegate) throws(ServerFailure) {
        pw_init(nil, nil)
        // Only errors: a context without a configuration file is worth a warning to libpipewire.
        if getenv("PIPEWIRE_DEBUG") == nil { pw_log_set_level(SPA_LOG_LEVEL_ERROR) }
        self.delegate = delegate
        guard let loop = pw_loop_new(nil) else { throw ServerFailure(.other, "no loop: \(errorText(errno))") }
        self.loop = loop
        // No configuration file: a client's would load modules that ask for real-time priority over D-Bus.
        let settings = newProperties(["config.name": "null", "mem.allow-mlock": "false"])
        guard let context = pw_context_new(loop, settings, 0) else {
            let code = errno
            pw_loop_destroy(loop)
            throw ServerFailure(.other, "no context: \(errorText(code))")
        }
        self.context = context
        pw_context_add_spa_lib(context, "support.*", "support/libspa-support")
        pw_context_load_module(context, "libpipewire-module-protocol-native", nil, nil)
        pw_context_load_module(context, "libpipewire-module-metadata", nil, nil)
        var identity = [
            "application.name": "Sordino", "application.id": "org.sordino.AudioSession1", "media.category": "Manager",
        ]
        identity["remote.name"] = remote
        guard let core = pw_context_connect(context, newProperties(identity), 0),
            let registry = pw_core_get_registry(core, UInt32(PW_VERSION_REGISTRY), 0)
        else {
            let code = errno
            pw_context_destroy(context)
            pw_loop_destroy(loop)
            throw ServerFailure(connectionError: code, message: errorText(code))
        }
        self.core = core
        self.registry = registry
        coreHook = .allocate(capacity: 1)
        coreHook.initialize(to: spa_hook())
        registryHook = .allocate(capacity: 1)
        registryHook.initialize(to: spa_hook())
        // Unretained: `close` removes both hooks, and the owner calls it before it lets go of the connection.
        let data = Unmanaged.passUnretained(self).toOpaque()
        cpw_core_add_listener(core, coreHook, coreEvents.pointer, data)
        cpw_registry_add_listener(registry, registryHook, registryEvents.pointer, data)
        cpw_loop_enter(loop)
    }

    deinit {
        precondition(!isOpen, "a connection was dropped without being closed")
        coreHook.deallocate()
        registryHook.deallocate()
    }

    /// Lets the session's loop say when there is something to do here.
    func attach(to session: SystemEventLoop) throws(SystemEventLoopError) {
        source = try session.addIO(descriptor: cpw_loop_get_fd(loop), events: EPOLLIN.rawValue) { [unowned self] _ in
            self.delegate.connectionIsReady()
        }
    }

    /// Handles what is ready without waiting. Returns whether there was anything.
    func turn() -> Bool { isOpen && cpw_loop_iterate(loop, 0) > 0 }

    /// All proxies must have been closed before.
    func close() {
        guard isOpen else { return }
        isOpen = false
        source?.cancel()
        spa_hook_remove(registryHook)
        spa_hook_remove(coreHook)
        pw_proxy_destroy(registry)
        pw_core_disconnect(core)
        cpw_loop_leave(loop)
        pw_context_destroy(context)
        pw_loop_destroy(loop)
    }

    /// The global id of our own client object.
    var ownClient: UInt32? {
        guard let client = pw_core_get_client(core) else { return nil }
        return pw_proxy_get_bound_id(client)
    }

    /// Asks for an answer to everything sent so far, and returns the number that `coreDone` will carry.
    func sync() -> Int32 { cpw_core_sync(core, 0, 0) }

    func bind(_ id: UInt32, type: UnsafePointer<CChar>, version: Int32) -> OpaquePointer? {
        pw_registry_bind(registry, id, type, UInt32(version), 0).map { OpaquePointer($0) }
    }

    /// What streams of our own need; left out until the first meter, since it is memory for nothing until then.
    func loadStreamModules() {
        guard !hasStreamModules else { return }
        hasStreamModules = true
        pw_context_add_spa_lib(context, "audio.convert.*", "audioconvert/libspa-audioconvert")
        pw_context_load_module(context, "libpipewire-module-client-node", nil, nil)
        pw_context_load_module(context, "libpipewire-module-adapter", nil, nil)
    }

    fileprivate func info(_ info: UnsafePointer<pw_core_info>?) {
        guard let info, let version = info.pointee.version else { return }
        delegate.coreInfo(version: String(cString: version), cookie: info.pointee.cookie)
    }

    fileprivate func done(_ id: UInt32, _ sequence: Int32) {
        if id == 0 { delegate.coreDone(sequence: sequence) }
    }

    fileprivate func error(_ id: UInt32, _ sequence: Int32, _ result: Int32, _ message: UnsafePointer<CChar>?) {
        let text = message.map { String(cString: $0) } ?? errorText(-result)
        delegate.coreError(id: id, sequence: sequence, code: -result, message: text)
    }

    fileprivate func global(_ id: UInt32, _ type: UnsafePointer<CChar>?, _ properties: UnsafePointer<spa_dict>?) {
        if let type { delegate.globalAdded(id: id, type: type, properties: properties) }
    }

    fileprivate func globalRemoved(_ id: UInt32) { delegate.globalRemoved(id: id) }
}

private let coreEvents = EventTable(
    {
        var events = pw_core_events()
        events.version = UInt32(PW_VERSION_CORE_EVENTS)
        events.info = coreInfoCallback
        events.done = coreDoneCallback
        events.error = coreErrorCallback
        return events
    }())

private let registryEvents = EventTable(
    {
        var events = pw_registry_events()
        events.version = UInt32(PW_VERSION_REGISTRY_EVENTS)
        events.global = globalCallback
        events.global_remove = globalRemoveCallback
        return events
    }())

private func coreInfoCallback(_ data: UnsafeMutableRawPointer?, _ info: UnsafePointer<pw_core_info>?) {
    object(data, as: PipeWireConnection.self)?.info(info)
}
private func coreDoneCallback(_ data: UnsafeMutableRawPointer?, _ id: UInt32, _ sequence: Int32) {
    object(data, as: PipeWireConnection.self)?.done(id, sequence)
}
private func coreErrorCallback(
    _ data: UnsafeMutableRawPointer?, _ id: UInt32, _ sequence: Int32, _ result: Int32, _ message: UnsafePointer<CChar>?
) {
    object(data, as: PipeWireConnection.self)?.error(id, sequence, result, message)
}
private func globalCallback(
    _ data: UnsafeMutableRawPointer?, _ id: UInt32, _: UInt32, _ type: UnsafePointer<CChar>?, _: UInt32,
    _ properties: UnsafePointer<spa_dict>?
) {
    object(data, as: PipeWireConnection.self)?.global(id, type, properties)
}
private func globalRemoveCallback(_ data: UnsafeMutableRawPointer?, _ id: UInt32) {
    object(data, as: PipeWireConnection.self)?.globalRemoved(id)
}
