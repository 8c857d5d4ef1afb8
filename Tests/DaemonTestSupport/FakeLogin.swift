import CSystemd
import Foundation
import SystemEventLoop

/// A logind made up for a test, on a bus of the test's own and a thread of its own: one user with one session.
public actor FakeLogin {
    /// What the session is called; its user's display where `hasDisplay`.
    public static let sessionID = "7"

    private nonisolated let loop: SystemEventLoop
    private let state = LoginState()
    private var bus: OpaquePointer?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init() throws {
        loop = try SystemEventLoop()
        let loop = loop
        Thread.detachNewThread { _ = try? loop.run() }
    }

    /// Owns logind's name on the bus when it returns.
    public static func start(
        address: String, isActive: Bool = true, hasDisplay: Bool = true
    ) async throws -> FakeLogin {
        let login = try FakeLogin()
        try await login.begin(address, isActive: isActive, hasDisplay: hasDisplay)
        return login
    }

    private func begin(_ address: String, isActive: Bool, hasDisplay: Bool) throws {
        state.isActive = isActive
        state.hasDisplay = hasDisplay
        var handle: OpaquePointer?
        try check(sd_bus_new(&handle))
        guard let handle else { return }
        bus = handle
        try check(sd_bus_set_address(handle, address))
        try check(sd_bus_set_bus_client(handle, 1))
        try check(sd_bus_start(handle))
        let context = Unmanaged.passUnretained(state).toOpaque()
        for (path, interface, table) in [
            (LoginTables.managerPath, "org.freedesktop.login1.Manager", state.tables.manager),
            (LoginTables.userPath, "org.freedesktop.login1.User", state.tables.user),
            (LoginTables.sessionPath, "org.freedesktop.login1.Session", state.tables.session),
        ] {
            try check(sd_bus_add_object_vtable(handle, nil, path, interface, table, context))
        }
        try check(sd_bus_request_name(handle, "org.freedesktop.login1", 0))
        try check(sd_bus_attach_event(handle, loop.event, Int32(SD_EVENT_PRIORITY_NORMAL)))
    }

    /// The machine is about to sleep, or is awake again.
    public func setSleeping(_ isSleeping: Bool) throws {
        var message: OpaquePointer?
        try check(
            sd_bus_message_new_signal(
                bus, &message, LoginTables.managerPath, "org.freedesktop.login1.Manager", "PrepareForSleep"))
        var value: Int32 = isSleeping ? 1 : 0
        try check(sd_bus_message_append_basic(message, CChar(UInt8(ascii: "b")), &value))
        try check(sd_bus_send(bus, message, nil))
        sd_bus_message_unref(message)
    }

    /// The seat is the session's, or another user's.
    public func setActive(_ isActive: Bool) throws {
        state.isActive = isActive
        try sayChanged(LoginTables.sessionPath, "org.freedesktop.login1.Session", "Active")
    }

    /// The user logs in on a display, or out.
    public func setDisplay(_ hasDisplay: Bool) throws {
        state.hasDisplay = hasDisplay
        try sayChanged(LoginTables.userPath, "org.freedesktop.login1.User", "Display")
    }

    public func end() {
        sd_bus_flush_close_unref(bus)
        bus = nil
        loop.exit()
    }

    private func sayChanged(_ path: String, _ interface: String, _ property: String) throws {
        var names: [UnsafeMutablePointer<CChar>?] = [strdup(property), nil]
        defer { free(names[0]) }
        try check(sd_bus_emit_properties_changed_strv(bus, path, interface, &names))
    }
}

private func check(_ result: Int32) throws {
    guard result >= 0 else { throw TestFailure("the made-up logind: \(String(cString: strerror(-result)))") }
}

private final class LoginState {
    var isActive = true
    var hasDisplay = true
    let tables = LoginTables()
}

/// The rows of the objects; never freed, as sd-bus may look at them to the end.
private struct LoginTables {
    static let managerPath = "/org/freedesktop/login1"
    static let userPath = "/org/freedesktop/login1/user/self"
    static let sessionPath = "/org/freedesktop/login1/session/_37"

    let manager = UnsafeMutablePointer<sd_bus_vtable>.allocate(capacity: 4)
    let user = UnsafeMutablePointer<sd_bus_vtable>.allocate(capacity: 3)
    let session = UnsafeMutablePointer<sd_bus_vtable>.allocate(capacity: 3)

    init() {
        sordino_vtable_start(manager)
        sordino_vtable_method(manager + 1, strdup("GetSession"), strdup("s"), strdup("o"), strdup(""), getSession)
        sordino_vtable_signal(manager + 2, strdup("PrepareForSleep"), strdup("b"), strdup(""))
        sordino_vtable_end(manager + 3)
        sordino_vtable_start(user)
        sordino_vtable_property(user + 1, strdup("Display"), strdup("(so)"), getDisplay)
        sordino_vtable_end(user + 2)
        sordino_vtable_start(session)
        sordino_vtable_property(session + 1, strdup("Active"), strdup("b"), getActive)
        sordino_vtable_end(session + 2)
    }
}

private func state(_ context: UnsafeMutableRawPointer?) -> LoginState? {
    context.map { Unmanaged<LoginState>.fromOpaque($0).takeUnretainedValue() }
}

private func append(_ text: String, _ type: UInt8, to message: OpaquePointer?) -> Int32 {
    text.withCString { sd_bus_message_append_basic(message, CChar(type), $0) }
}

private func getSession(
    _ call: OpaquePointer?, _: UnsafeMutableRawPointer?, _ fault: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    var id: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(call, CChar(UInt8(ascii: "s")), &id) > 0, let id else { return -EINVAL }
    guard String(cString: id) == FakeLogin.sessionID else {
        return sd_bus_error_set(fault, "org.freedesktop.login1.NoSuchSession", "No such session")
    }
    var reply: OpaquePointer?
    sd_bus_message_new_method_return(call, &reply)
    defer { sd_bus_message_unref(reply) }
    _ = append(LoginTables.sessionPath, UInt8(ascii: "o"), to: reply)
    return sd_bus_send(nil, reply, nil)
}

private func getDisplay(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    let hasDisplay = state(context)?.hasDisplay == true
    sd_bus_message_open_container(reply, CChar(UInt8(ascii: "r")), "so")
    _ = append(hasDisplay ? FakeLogin.sessionID : "", UInt8(ascii: "s"), to: reply)
    _ = append(hasDisplay ? LoginTables.sessionPath : "/", UInt8(ascii: "o"), to: reply)
    return sd_bus_message_close_container(reply)
}

private func getActive(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    var value: Int32 = state(context)?.isActive == true ? 1 : 0
    return sd_bus_message_append_basic(reply, CChar(UInt8(ascii: "b")), &value)
}
