import AudioSession
import CSystemd
import EventLoop

/// What a program writes to the daemon and reads of its messages.
extension BusMessage {
    /// The options of `Acquire`.
    func append(_ options: DaemonLink.Options) {
        var entries: [(key: String, value: BusValue)] = []
        if let name = options.name { entries.append(("name", .string(name))) }
        if let lease = options.lease {
            entries.append(("lease-ms", .uint32(UInt32(clamping: lease.nanoseconds / 1_000_000))))
        }
        if options.claim.isInterrupting { entries.append(("interrupting", .bool(true))) }
        if options.claim.ducking.level != .standard {
            entries.append(("ducking-level", .string(options.claim.ducking.level.rawValue)))
        }
        if options.claim.ducking.isAdvanced { entries.append(("ducking-advanced", .bool(true))) }
        append(entries)
    }

    /// The answer of `Acquire`.
    func readClaim() -> Result<String, BusError> {
        readObjectPath().map { .success($0) } ?? .failure(BusError(.other, "the Sordino daemon names no claim"))
    }

    /// The event that a signal of a claim's object tells of; `nil` for one that is not known.
    func readEvent(_ member: String) -> AudioSessionEvent? {
        switch member {
        case "Subordinated": return .subordinated
        case "Interrupted": return .interrupted
        case "InterruptionEnded": return readBool().map { .interruptionEnded(shouldResume: $0) }
        case "OutputRouteChanged":
            guard let reason = readString(), let route = readRoute() else { return nil }
            return .outputRouteChanged(reason: AudioRouteChangeReason(rawValue: reason) ?? .unknown, route: route)
        default: return nil
        }
    }
}
