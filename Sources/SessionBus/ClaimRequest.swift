import AudioPolicy
import AudioSession

/// What a program asks for with `Acquire`, checked word by word: nothing unknown is passed over.
struct ClaimRequest: Equatable {
    /// In bytes of UTF-8.
    static let longestName = 256
    /// More than there are options.
    static let mostOptions = 16

    var kind: AudioSessionClientKind
    var output: AudioSessionOutput
    /// The program's own name for itself; `nil`: its executable's.
    var name: String?
    /// The claim ends when it is not used for so long; `nil`: only with its connection.
    var lease: Duration?
    var options = ClaimOptions()

    init(kind: String, output: String, options entries: [(key: String, value: BusValue)]) throws(BusFault) {
        self.kind = try Self.kind(kind)
        self.output = try Self.output(output)
        var seen: Set<String> = []
        for (key, value) in entries {
            try set(key, value)
            guard seen.insert(key).inserted else {
                throw BusFault(.invalidArgument, "the option \(key.shown()) is given twice")
            }
        }
    }

    private mutating func set(_ key: String, _ value: BusValue) throws(BusFault) {
        switch (key, value) {
        case ("name", .string(let text)):
            guard !text.isEmpty else { throw BusFault(.invalidArgument, "the name is empty") }
            guard text.utf8.count <= Self.longestName else {
                throw BusFault(.limitExceeded, "the name has more than \(Self.longestName) bytes")
            }
            name = text
        case ("lease-ms", .uint32(let milliseconds)):
            guard milliseconds > 0 else { throw BusFault(.invalidArgument, "a lease of 0 ms is none") }
            lease = .milliseconds(Int64(milliseconds))
        case ("interrupting", .bool(let isInterrupting)): options.isInterrupting = isInterrupting
        case ("ducking-level", .string(let level)): options.ducking.level = try Self.level(level)
        case ("ducking-advanced", .bool(let isAdvanced)): options.ducking.isAdvanced = isAdvanced
        default: throw Self.wrongOption(key)
        }
    }

    private static let types = [
        "name": "a string", "lease-ms": "an unsigned 32-bit number", "interrupting": "a boolean",
        "ducking-level": "a string", "ducking-advanced": "a boolean",
    ]

    private static func wrongOption(_ key: String) -> BusFault {
        if let type = types[key] { return BusFault(.invalidArgument, "the option \(key) takes \(type)") }
        return BusFault(
            .invalidArgument, "there is no option \(key.shown())" + NearestName.hint(key, among: types.keys.sorted()))
    }

    // MARK: Words

    static func kind(_ word: String) throws(BusFault) -> AudioSessionClientKind {
        try one(of: "kind", word, fault: .unknownKind)
    }

    static func output(_ word: String) throws(BusFault) -> AudioSessionOutput { try one(of: "output", word) }

    static func level(_ word: String) throws(BusFault) -> AudioSessionDucking.Level {
        try one(of: "ducking level", word)
    }

    private static func one<Word: RawRepresentable<String> & CaseIterable>(
        of what: String, _ word: String, fault: BusFault.Name = .invalidArgument
    ) throws(BusFault) -> Word {
        if let found = Word(rawValue: word) { return found }
        let words = Word.allCases.map(\.rawValue)
        let near = NearestName.hint(word, among: words)
        throw BusFault(
            fault,
            "there is no \(what) \(word.shown())"
                + (near.isEmpty ? "; there are \(words.joined(separator: ", "))" : near))
    }
}
