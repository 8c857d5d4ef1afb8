/// Where the sound of each device comes out, found by following plumbing (remap, combine, filters, echo cancel) down to
/// hardware. A combine sink is on all its outputs.
struct OutputTopology {
    private struct Leg: Equatable {
        var group: String
        var device: DeviceID?
    }

    /// Plumbing playback streams, and the same by the link group that joins them to their device.
    private var legs: [StreamID: Leg] = [:]
    private var streams: [String: Set<StreamID>] = [:]
    private var groups: [DeviceID: String?] = [:]
    private var cache: [DeviceID: Set<DeviceID>] = [:]

    /// Takes a stream as it is now. Returns whether somebody's outputs may be others than before.
    mutating func setStream(_ stream: ServerStream, isPlumbing: Bool) -> Bool {
        guard stream.id.direction == .output, isPlumbing, let group = stream.linkGroup else {
            return removeStream(stream.id)
        }
        let leg = Leg(group: group, device: stream.device)
        guard legs[stream.id] != leg else { return false }
        _ = removeStream(stream.id)
        legs[stream.id] = leg
        streams[group, default: []].insert(stream.id)
        return true
    }

    mutating func removeStream(_ id: StreamID) -> Bool {
        guard let leg = legs.removeValue(forKey: id) else { return false }
        streams[leg.group]?.remove(id)
        if streams[leg.group]?.isEmpty == true { streams[leg.group] = nil }
        cache.removeAll(keepingCapacity: true)
        return true
    }

    mutating func setDevice(_ device: ServerDevice) -> Bool {
        guard groups[device.id] != .some(device.linkGroup) else { return false }
        groups[device.id] = .some(device.linkGroup)
        cache.removeAll(keepingCapacity: true)
        return true
    }

    mutating func removeDevice(_ id: DeviceID) -> Bool {
        guard groups.removeValue(forKey: id) != nil else { return false }
        cache.removeAll(keepingCapacity: true)
        return true
    }

    /// The physical outputs of a device; itself where nothing leads on from it.
    mutating func outputs(of device: DeviceID) -> Set<DeviceID> {
        if let known = cache[device] { return known }
        var seen: Set<DeviceID> = []
        let found = follow(device, seen: &seen)
        cache[device] = found
        return found
    }

    private func follow(_ device: DeviceID, seen: inout Set<DeviceID>) -> Set<DeviceID> {
        guard seen.insert(device).inserted else { return [] }
        guard case .some(.some(let group)) = groups[device], let legsOfGroup = streams[group] else { return [device] }
        var found: Set<DeviceID> = []
        for id in legsOfGroup {
            guard let next = legs[id]?.device, next != device else { continue }
            found.formUnion(follow(next, seen: &seen))
        }
        return found.isEmpty ? [device] : found
    }
}

extension ServerGraph {
    /// Where a playback stream is heard, or where it will be once it is connected: where it asks to go, else the default.
    func destination(of stream: ServerStream) -> DeviceID? {
        if let device = stream.device { return device }
        guard let wish = stream.properties["target.object"] ?? stream.properties["node.target"] else {
            return defaultOutput
        }
        if let serial = UInt64(wish), devices[DeviceID(.output, serial)] != nil { return DeviceID(.output, serial) }
        return devices.values.first { $0.name == wish && $0.id.direction == .output }?.id ?? defaultOutput
    }
}
