import CPulse

/// The properties of one of the server's objects. Anybody can write anything there.
struct PropertyReader {
    /// Longer values are cut here: nothing reads further, and the graph stays small whatever a program sends.
    static let longestValue = 4096

    private let list: OpaquePointer?

    init(_ list: OpaquePointer?) { self.list = list }

    static func mayBeCut(_ value: String) -> Bool { value.utf8.count >= longestValue - 3 }

    /// The whole value, if it is text.
    subscript(key: String) -> String? { pa_proplist_gets(list, key).map { String(cString: $0) } }

    /// Everything, repaired where it is not UTF-8 and cut to `longestValue` bytes.
    var all: [String: String] {
        guard let list else { return [:] }
        var properties: [String: String] = [:]
        properties.reserveCapacity(Int(pa_proplist_size(list)))
        var state: UnsafeMutableRawPointer?
        while let key = pa_proplist_iterate(list, &state) {
            var data: UnsafeRawPointer?
            var count = 0
            guard pa_proplist_get(list, key, &data, &count) == 0, let data else { continue }
            properties[String(cString: key)] = Self.text(UnsafeRawBufferPointer(start: data, count: count))
        }
        return properties
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        var bytes = bytes[...]
        if bytes.last == 0 { bytes = bytes.dropLast() }
        if bytes.count > longestValue {
            // Not in the middle of a character, which has three continuation bytes at most.
            let end = (longestValue - 3...longestValue).last { bytes[$0] & 0xC0 != 0x80 }
            bytes = bytes.prefix(end ?? longestValue)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
