/// One thing that is new, different or gone on the server.
public enum GraphChange: Equatable, Sendable {
    case stream(ServerStream)
    case streamRemoved(StreamID)
    case device(ServerDevice)
    case deviceRemoved(DeviceID)
    case card(ServerCard)
    case cardRemoved(UInt64)
    case client(ServerClient)
    case clientRemoved(UInt64)
    case defaults(output: DeviceID?, input: DeviceID?)
    case restoreEntry(RestoreEntry)
    case restoreEntryRemoved(String)
    case foreignPolicies([ForeignPolicy])
}

extension ServerGraph {
    public mutating func apply(_ change: GraphChange) {
        switch change {
        case .stream(let stream): streams[stream.id] = stream
        case .streamRemoved(let id): streams[id] = nil
        case .device(let device): devices[device.id] = device
        case .deviceRemoved(let id): devices[id] = nil
        case .card(let card): cards[card.id] = card
        case .cardRemoved(let id): cards[id] = nil
        case .client(let client): clients[client.id] = client
        case .clientRemoved(let id): clients[id] = nil
        case .defaults(let output, let input):
            defaultOutput = output
            defaultInput = input
        case .restoreEntry(let entry): restoreEntries[entry.key] = entry
        case .restoreEntryRemoved(let key): restoreEntries[key] = nil
        case .foreignPolicies(let policies): foreignPolicies = policies
        }
    }
}

extension GraphChange {
    /// Whether it may be about where sound comes out.
    var touchesDevices: Bool {
        switch self {
        case .device, .deviceRemoved, .card, .cardRemoved, .defaults: true
        default: false
        }
    }
}
