/// The properties of a stream, with those of its client standing in. All of it is what programs say of themselves.
struct StreamProperties: Equatable {
    var stream: [String: String]
    var client: [String: String]

    /// No value longer than this is looked at any further.
    static let longestValue = 4096

    /// `nil` where neither has it, or only an empty one.
    subscript(name: String) -> String? { own(name) ?? Self.cut(client[name]) }

    /// The stream's own, without its client's standing in.
    func own(_ name: String) -> String? { Self.cut(stream[name]) }

    func isTrue(_ name: String) -> Bool {
        let value = stream[name]
        return value == "true" || value == "1"
    }

    /// A process id, if the text is nothing else.
    func processID(_ name: String) -> Int32? {
        guard let text = self[name], text.utf8.count <= 10, text.utf8.allSatisfy({ (48...57).contains($0) }),
            let pid = Int32(text), pid > 0
        else { return nil }
        return pid
    }

    private static func cut(_ value: String?) -> String? {
        guard let value, !value.isEmpty else { return nil }
        guard value.utf8.count > longestValue else { return value }
        return String(decoding: value.utf8.prefix(longestValue), as: UTF8.self)
    }
}
