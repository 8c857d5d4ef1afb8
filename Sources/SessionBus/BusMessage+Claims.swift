import AudioSession
import CSystemd

/// What a program reads of the daemon's messages.
extension BusMessage {
    /// The answer of `Acquire`.
    func readClaim() -> Result<String, BusError> {
        readObjectPath().map { .success($0) } ?? .failure(BusError(.other, "the Sordino daemon names no claim"))
    }

    /// The answer of `Get`, read by `body`; `nil` where the property is of another type.
    func readProperty<Value>(_ type: String, _ body: (BusMessage) -> Value?) -> Value? {
        guard sd_bus_message_enter_container(handle, BusType.variant, type) > 0 else { return nil }
        return body(self)
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
