import AudioPolicy
import AudioSession
import CSystemd
import Glibc

/// The objects of claims, `/org/sordino/AudioSession1/claim/cN`: all of them behind one registration, so that a claim
/// costs the bus nothing.
enum ClaimObject {
    static let rows: [BusTable.Row] = [
        .property("Kind", "s", getKind),
        .property("Output", "s", getOutput),
        .property("Standing", "s", getStanding),
        .property("Activated", "b", getActivated),
        .signal("Subordinated", "", names: ""),
        .signal("Interrupted", "", names: ""),
        .signal("InterruptionEnded", "b", names: "should_resume\0"),
        .signal("OutputRouteChanged", "sa{sv}", names: "reason\0route\0"),
    ]

    /// `context`: the service.
    static func register(_ table: BusTable, on connection: BusConnection, _ context: UnsafeMutableRawPointer) -> Int32 {
        let result = sd_bus_add_fallback_vtable(
            connection.handle, nil, BusContract.claims, BusContract.claimInterface, table.rows, find, context)
        guard result >= 0 else { return result }
        return sd_bus_add_node_enumerator(connection.handle, nil, BusContract.claims, enumerate, context)
    }
}

private func claim(_ path: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?) -> SessionStatus.Claim? {
    guard let path, let context, let id = BusContract.claim(atPath: String(cString: path)) else { return nil }
    return Unmanaged<SessionBusService>.fromOpaque(context).takeUnretainedValue().control.claim(id)
}

private func find(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?,
    _ found: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _: FaultPointer?
) -> Int32 {
    guard claim(path, context) != nil else { return 0 }
    found?.pointee = context
    return 1
}

private func enumerate(
    _: OpaquePointer?, _: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?,
    _ nodes: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?, _: FaultPointer?
) -> Int32 {
    guard let context else { return -EINVAL }
    let service = Unmanaged<SessionBusService>.fromOpaque(context).takeUnretainedValue()
    let paths = service.control.status().claims.map { BusContract.path(ofClaim: $0.id) }
    // sd-bus frees the list and every string of it.
    guard let list = calloc(paths.count + 1, MemoryLayout<UnsafeMutablePointer<CChar>?>.stride) else { return -ENOMEM }
    let strings = list.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self)
    for (index, path) in paths.enumerated() { strings[index] = strdup(path) }
    nodes?.pointee = strings
    return 0
}

// MARK: Properties

private func property(
    _ path: UnsafePointer<CChar>?, _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
    _ body: (SessionStatus.Claim, BusMessage) -> Int32
) -> Int32 {
    guard let reply, let claim = claim(path, context) else { return -ENOENT }
    return body(claim, BusMessage(reply))
}

private func getKind(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(path, reply, context) { $1.append($0.kind) }
}

private func getOutput(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(path, reply, context) { $1.append($0.output) }
}

private func getStanding(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(path, reply, context) { $1.append($0.standing) }
}

private func getActivated(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    property(path, reply, context) { $1.append($0.activated) }
}
