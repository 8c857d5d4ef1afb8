import AudioPolicy
import AudioSession
import CSystemd
import Glibc

/// The objects of claims, `/org/sordino/AudioSession1/claim/cN`: all of them behind one registration, so that a claim
/// costs the bus nothing.
enum ClaimObject {
    static let rows: [BusTable.Row] = [
        .property("Kind", "s", get),
        .property("Output", "s", get),
        .property("Standing", "s", get),
        .property("Activated", "b", get),
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

/// One getter for all of them: sd-bus says which it wants.
private func get(
    _: OpaquePointer?, _ path: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ property: UnsafePointer<CChar>?,
    _ reply: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?
) -> Int32 {
    guard let reply, let property, let claim = claim(path, context) else { return -ENOENT }
    let message = BusMessage(reply)
    return switch String(cString: property) {
    case "Kind": message.append(claim.kind)
    case "Output": message.append(claim.output)
    case "Standing": message.append(claim.standing)
    case "Activated": message.append(claim.activated)
    default: -ENOENT
    }
}
