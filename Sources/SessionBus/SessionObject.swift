import AudioPolicy
import CSystemd
import Glibc

/// The methods and properties of `/org/sordino/AudioSession1`.
enum SessionObject {
    static let rows: [BusTable.Row] = [
        .method("Status", takes: "", gives: "s", names: "json\0", status),
        .method("Explain", takes: "s", gives: "s", names: "stream\0explanation\0", explain),
        .method("SetEnabled", takes: "b", gives: "", names: "enabled\0", setEnabled),
        .method("Reload", takes: "", gives: "", names: "", reload),
        .method("Monitor", takes: "", gives: "", names: "", monitor),
        .method("Restore", takes: "", gives: "", names: "", restore),
        .method("Devices", takes: "", gives: "s", names: "json\0", devices),
        .method("SelectDevice", takes: "s", gives: "", names: "device\0", selectDevice),
        .property("Enabled", "b", getEnabled),
        .property("Winner", "o", getWinner),
        .property("Claims", "ao", getClaims),
        .property("State", "s", getState),
        .property("Route", "a{sv}", getRoute),
        .signal("Event", "s", names: "json\0"),
    ]
}

// MARK: Methods

private func status(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerCaller(call, context) { service, caller, _, reply in
        let status = service.control.status()
        reply.append(SessionJSON.encode(caller.isConfined ? status.confined(service.isOwn(caller)) : status))
    }
}

private func explain(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerCaller(call, context) { service, caller, call, reply throws(BusFault) in
        guard let stream = call.readString(), !stream.isEmpty else {
            throw BusFault(.invalidArgument, "which stream? Give its number or a part of its program's name")
        }
        do throws(SessionControlError) {
            reply.append(try service.control.explain(stream, isConfined: caller.isConfined))
        } catch {
            throw BusFault(error)
        }
    }
}

private func monitor(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerCaller(call, context) { service, caller, _, _ in service.addMonitor(caller) }
}

private func setEnabled(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerUser(call, context) { service, call, _ throws(BusFault) in
        guard let enabled = call.readBool() else { throw BusFault(.invalidArgument, "a boolean was expected") }
        guard enabled != service.control.isEnabled else { return }
        service.control.setEnabled(enabled)
        service.sayChanged(["Enabled"])
    }
}

private func reload(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerUser(call, context) { service, _, _ throws(BusFault) in
        do throws(SessionControlError) {
            try service.control.reload()
        } catch {
            throw BusFault(error)
        }
    }
}

private func restore(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerUser(call, context) { service, _, _ in service.control.restore() }
}

private func devices(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answer(call, context) { service, _, reply in
        reply.append(SessionJSON.encode(service.control.status().devices))
    }
}

private func selectDevice(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerUser(call, context) { service, call, _ throws(BusFault) in
        guard let device = call.readString(), !device.isEmpty else {
            throw BusFault(.invalidArgument, "which device? Give its id in Devices, or automatic")
        }
        do throws(SessionControlError) {
            try service.control.selectDevice(device == BusContract.automatic ? nil : device)
        } catch {
            throw BusFault(error)
        }
    }
}

// MARK: Properties

private func property(
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ body: (any SessionControl, BusMessage) -> Int32
) -> Int32 {
    guard let reply, let context else { return -EINVAL }
    let service = Unmanaged<SessionBusService>.fromOpaque(context).takeUnretainedValue()
    return body(service.control, BusMessage(reply))
}

private func getEnabled(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(reply, context) { $1.append($0.isEnabled) }
}

private func getWinner(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(reply, context) { control, reply in
        reply.append(control.status().session.winner.map(BusContract.path(ofClaim:)) ?? "/", as: BusType.objectPath)
    }
}

private func getClaims(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(reply, context) { $1.append(paths: $0.status().claims.map { BusContract.path(ofClaim: $0.id) }) }
}

private func getState(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(reply, context) { $1.append($0.status().session.state) }
}

private func getRoute(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(reply, context) { $1.append($0.route()) }
}
