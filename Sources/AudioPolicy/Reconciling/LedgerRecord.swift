/// One line of the ledger: something that was about to be done, or that is done with.
///
/// Lines are words separated by blanks; text within them is percent-encoded. What cannot be read is skipped, since the
/// last line of a crash may be half a line.
enum LedgerRecord: Equatable, Sendable {
    /// The server that the following lines are about: its kind and what tells this run of it from any other.
    case server(ServerKind, instance: String)
    /// A stream's own volume and mute, before the first change of it.
    case baseline(StreamID, volume: [Double], isMuted: Bool, restoreKey: String?)
    case volume(StreamID, [Double])
    case mute(StreamID, Bool)
    case soft(StreamID)
    case pause(StreamID)
    /// The stream is as it should be, or gone, or somebody else's.
    case done(StreamID)
    /// What the server stored under a key before our first change; `entry` is `nil` where it stored nothing.
    case stored(key: String, entry: RestoreEntry?)
    /// What we have made a stream of the key have, whose own lines are gone.
    case storedVolume(key: String, [Double])
    /// What a stream of the key had of its own.
    case storedBaseline(key: String, [Double])
    case storedMute(key: String, Bool)
    /// A device that the store prefers for streams of the key because of us; `nil`: none.
    case storedDevice(key: String, String?)
    /// The store is as it should be.
    case storedDone(key: String)
    /// The newest stream so far: later ones may have begun at a level of ours that was in the store.
    case seen(StreamID)
    case unloaded(ForeignPolicy)
    case loaded(name: String)
    /// The stream is on a device of a claim's wish; `back`: its own one, `nil`: the default.
    case route(StreamID, back: DeviceID?, restoreKey: String?)
    case routeDone(StreamID)
    /// A media player that was told to pause, with one of its names on the bus.
    case playerPaused(PlayerID, name: String)
    /// It plays again, or is somebody else's, or gone.
    case playerDone(PlayerID)

    var line: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// Appends the line. A duck of many streams waits for as many lines, so nothing is made that is not kept.
    func write(to text: inout String) {
        switch self {
        case .server(let kind, let instance): text += "I \(kind.rawValue) \(encoded(instance))"
        case .baseline(let id, let volume, let isMuted, let key):
            begin("B ", id, &text)
            text += isMuted ? " 1 " : " 0 "
            add(volume, to: &text)
            text += " "
            if let key { add(key, to: &text) } else { text += "-" }
        case .volume(let id, let volume):
            begin("W ", id, &text)
            text += " "
            add(volume, to: &text)
        case .mute(let id, let isMuted):
            begin("M ", id, &text)
            text += isMuted ? " 1" : " 0"
        case .soft(let id): begin("G ", id, &text)
        case .pause(let id): begin("P ", id, &text)
        case .seen(let id): begin("X ", id, &text)
        case .done(let id): begin("D ", id, &text)
        case .route(let id, let back, let key):
            begin("T ", id, &text)
            text += " \(back.map { String($0.serial) } ?? "-") \(key.map(encoded) ?? "-")"
        case .routeDone(let id): begin("O ", id, &text)
        default: writeStored(to: &text)
        }
        text += "\n"
    }

    private func writeStored(to text: inout String) {
        switch self {
        case .stored(let key, .none): text += "S \(encoded(key))"
        case .stored(let key, .some(let entry)):
            text += "S \(encoded(key)) \(entry.isMuted ? 1 : 0) "
            add(entry.volume, to: &text)
            text += " \(encoded(entry.channelMap)) \(entry.device.map(encoded) ?? "-")"
        case .storedVolume(let key, let volume):
            text += "V \(encoded(key)) "
            add(volume, to: &text)
        case .storedBaseline(let key, let volume):
            text += "R \(encoded(key)) "
            add(volume, to: &text)
        case .storedMute(let key, let isMuted): text += "N \(encoded(key)) \(isMuted ? 1 : 0)"
        case .storedDevice(let key, let device): text += "Z \(encoded(key)) \(device.map(encoded) ?? "-")"
        case .storedDone(let key): text += "F \(encoded(key))"
        case .unloaded(let policy): text += "U \(encoded(policy.name)) \(encoded(policy.arguments))"
        case .loaded(let name): text += "L \(encoded(name))"
        case .playerPaused(let id, let name): text += "K \(encoded(id.uniqueName)) \(encoded(name))"
        case .playerDone(let id): text += "E \(encoded(id.uniqueName))"
        default: break
        }
    }

    init?(line: some StringProtocol) {
        let words = line.split(separator: " " as Character, omittingEmptySubsequences: false).map { String($0) }
        guard let record = Self.read(words) else { return nil }
        self = record
    }

    private static func read(_ words: [String]) -> LedgerRecord? {
        guard words.count >= 2 else { return nil }
        switch (words[0], words.count) {
        case ("I", 3): return ServerKind(rawValue: words[1]).map { .server($0, instance: decode(words[2])) }
        case ("S", 2): return .stored(key: decode(words[1]), entry: nil)
        case ("S", 6):
            guard let volume = volumes(words[3]), let isMuted = flag(words[2]) else { return nil }
            let entry = RestoreEntry(
                key: decode(words[1]), volume: volume, channelMap: decode(words[4]), isMuted: isMuted,
                device: words[5] == "-" ? nil : decode(words[5]))
            return .stored(key: entry.key, entry: entry)
        case ("V", 3): return volumes(words[2]).map { .storedVolume(key: decode(words[1]), $0) }
        case ("R", 3): return volumes(words[2]).map { .storedBaseline(key: decode(words[1]), $0) }
        case ("N", 3): return flag(words[2]).map { .storedMute(key: decode(words[1]), $0) }
        case ("Z", 3): return .storedDevice(key: decode(words[1]), words[2] == "-" ? nil : decode(words[2]))
        case ("F", 2): return .storedDone(key: decode(words[1]))
        case ("U", 3): return .unloaded(ForeignPolicy(name: decode(words[1]), arguments: decode(words[2])))
        case ("L", 2): return .loaded(name: decode(words[1]))
        case ("K", 3): return .playerPaused(PlayerID(decode(words[1])), name: decode(words[2]))
        case ("E", 2): return .playerDone(PlayerID(decode(words[1])))
        default: return readStream(words)
        }
    }

    private static func readStream(_ words: [String]) -> LedgerRecord? {
        guard words.count >= 3, let direction = AudioDirection(rawValue: words[1]), let serial = UInt64(words[2]) else {
            return nil
        }
        let id = StreamID(direction, serial)
        switch (words[0], words.count) {
        case ("B", 6):
            guard let volume = volumes(words[4]), let isMuted = flag(words[3]) else { return nil }
            return .baseline(
                id, volume: volume, isMuted: isMuted, restoreKey: words[5] == "-" ? nil : decode(words[5]))
        case ("W", 4): return volumes(words[3]).map { .volume(id, $0) }
        case ("M", 4): return flag(words[3]).map { .mute(id, $0) }
        case ("G", 3): return .soft(id)
        case ("P", 3): return .pause(id)
        case ("D", 3): return .done(id)
        case ("T", 5):
            let back = UInt64(words[3]).map { DeviceID(direction, $0) }
            guard back != nil || words[3] == "-" else { return nil }
            return .route(id, back: back, restoreKey: words[4] == "-" ? nil : decode(words[4]))
        case ("O", 3): return .routeDone(id)
        case ("X", 3): return .seen(id)
        default: return nil
        }
    }

    private static func volumes(_ text: String) -> [Double]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: !text.contains(",")).map { Double($0) }
        let values = parts.compactMap { $0 }
        let isPlausible = values.count <= 64 && values.allSatisfy { $0 >= 0 && $0 <= Self.loudest }
        return values.count == parts.count && isPlausible ? values : nil
    }

    /// 60 dB above what any mixer calls full: more is garbage, and not to be sent to anybody's ears.
    private static let loudest = 1000.0

    private static func flag(_ text: String) -> Bool? { ["0": false, "1": true][text] }
}

private func begin(_ word: String, _ id: StreamID, _ text: inout String) {
    text += word
    text += id.direction.rawValue
    text += " "
    text += String(id.serial)
}

/// Swift prints the shortest text that reads back as the same number, to the bit.
private func add(_ volume: [Double], to text: inout String) {
    for (index, value) in volume.enumerated() {
        if index > 0 { text += "," }
        text += value.description
    }
}

private func encoded(_ text: String) -> String {
    var result = ""
    add(text, to: &result)
    return result
}

/// One word, that is neither empty nor the dash that stands for none.
private func add(_ text: String, to result: inout String) {
    if text.isEmpty {
        result += "%"
    } else if text == "-" {
        result += "%2D"
    } else if text.utf8.allSatisfy(isPlain) {
        result += text
    } else {
        for byte in text.utf8 {
            if isPlain(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = Array("0123456789ABCDEF")
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}

private func isPlain(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != 0x25 }

private func decode(_ text: String) -> String {
    guard text != "%" else { return "" }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        if byte == 0x25, rest.count >= 2,
            let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
