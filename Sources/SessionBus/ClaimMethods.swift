import AudioPolicy
import AudioSession
import CSystemd

/// The methods by which programs hold claims, on the session's object.
enum ClaimMethods {
    static let rows: [BusTable.Row] = [
        .method("Acquire", takes: "ssa{sv}", gives: "o", names: "kind\0output\0options\0claim\0", acquire),
        .method("Update", takes: "os", gives: "", names: "claim\0output\0", update),
        .method("Release", takes: "o", gives: "", names: "claim\0", release),
        .method("Activate", takes: "o", gives: "", names: "claim\0", activate),
        .method("Deactivate", takes: "o", gives: "", names: "claim\0", deactivate),
        .method("SetDucking", takes: "osb", gives: "", names: "claim\0level\0advanced\0", setDucking),
    ]
}

private func acquire(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answerCaller(call, context) { service, caller, call, reply throws(BusFault) in
        guard let kind = call.readString(), let output = call.readString(),
            let options = call.readDictionary(limit: ClaimRequest.mostOptions)
        else { throw BusFault(.invalidArgument, "a kind, an output and a few options were expected") }
        let request = try ClaimRequest(kind: kind, output: output, options: options)
        let id = try service.claims.acquire(request, by: caller)
        reply.append(BusContract.path(ofClaim: id.description), as: BusType.objectPath)
    }
}

private func update(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    use(call, context) { service, id, call throws(BusFault) in
        let output = try ClaimRequest.output(call.readString() ?? "")
        service.control.core.update(id, output: output)
    }
}

private func release(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    answer(call, context) { service, call, _ throws(BusFault) in
        let (id, sender) = try claim(of: call)
        try service.claims.release(id, by: sender)
    }
}

private func activate(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    use(call, context) { service, id, _ in service.control.core.setActivated(id, true) }
}

private func deactivate(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    use(call, context) { service, id, _ in service.control.core.setActivated(id, false) }
}

private func setDucking(_ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: FaultPointer?) -> Int32 {
    use(call, context) { service, id, call throws(BusFault) in
        let level = try ClaimRequest.level(call.readString() ?? "")
        service.control.core.setDucking(id, AudioSessionDucking(level: level, isAdvanced: call.readBool() ?? false))
    }
}

/// Answers a call on a claim of the caller's own.
private func use(
    _ call: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
    _ body: (SessionBusService, ClaimID, BusMessage) throws(BusFault) -> Void
) -> Int32 {
    answer(call, context) { service, call, _ throws(BusFault) in
        let (id, sender) = try claim(of: call)
        try service.claims.use(id, by: sender)
        let before = service.control.claim(id)
        try body(service, id, call)
        let after = service.control.claim(id)
        if before?.output != after?.output { service.sayChanged(id, "Output") }
        if before?.activated != after?.activated { service.sayChanged(id, "Activated") }
    }
}

/// The claim that a call names first, and who calls.
private func claim(of call: BusMessage) throws(BusFault) -> (ClaimID, sender: String) {
    guard let path = call.readObjectPath(), let id = BusContract.claim(atPath: path), let sender = call.sender else {
        throw BusFault(
            .invalidArgument, "the path of a claim was expected, \(BusContract.path(ofClaim: "c1")) or the like")
    }
    return (id, sender)
}
