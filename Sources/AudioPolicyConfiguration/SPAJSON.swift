internal import CSPAJSON

/// One value of a relaxed JSON text, with the line that it begins on.
struct SPANode {
    enum Value {
        /// In the order written; a key may come twice.
        case object([Member])
        case array([SPANode])
        case scalar(String, isQuoted: Bool)
    }

    struct Member {
        var key: String
        var line: Int
        var node: SPANode
    }

    var line: Int
    var value: Value

    /// The last member of this name.
    subscript(key: String) -> SPANode? {
        guard case .object(let members) = value else { return nil }
        return members.last { $0.key == key }?.node
    }

    var text: String? {
        if case .scalar(let text, _) = value { return text }
        return nil
    }

    var elements: [SPANode] {
        if case .array(let elements) = value { return elements }
        return []
    }

    var members: [Member] {
        if case .object(let members) = value { return members }
        return []
    }

    /// A bare `null`.
    var isNull: Bool {
        if case .scalar("null", isQuoted: false) = value { return true }
        return false
    }

    /// For messages: what kind of thing was written.
    var noun: String {
        switch value {
        case .object: "{ … }"
        case .array: "[ … ]"
        case .scalar(let text, let isQuoted): isQuoted ? "\"\(Escaping.shown(text))\"" : Escaping.shown(text)
        }
    }
}

struct SPASyntaxError: Error {
    var line: Int
    var message: String
}

/// Reads PipeWire's relaxed JSON (of which JSON is a part) by libspa's tokenizer, and checks what that lets pass.
struct SPAReader {
    private static let greatestDepth = 64
    private let start: UnsafePointer<CChar>
    /// Offsets of the newlines.
    private let newlines: [Int]

    /// The members of a whole file: with braces around them or, as configuration is written, without.
    static func members(of text: String) throws(SPASyntaxError) -> [SPANode.Member] {
        switch try reading(text, { reader, iterator throws(SPASyntaxError) in try reader.file(iterator) }) {
        case .object(let members): return members
        default: throw SPASyntaxError(line: 1, message: "key = value is expected, not a list")
        }
    }

    /// The one value of a JSON text.
    static func value(of text: String) throws(SPASyntaxError) -> SPANode {
        try reading(text) { reader, iterator throws(SPASyntaxError) in
            guard let token = try reader.token(iterator) else {
                throw SPASyntaxError(line: 1, message: "there is nothing in it")
            }
            return try reader.node(token, iterator, depth: 0)
        }
    }

    private static func reading<Result>(
        _ text: String, _ body: (SPAReader, UnsafeMutablePointer<spa_json>) throws(SPASyntaxError) -> Result
    ) throws(SPASyntaxError) -> Result {
        let bytes = Array(text.utf8)
        var newlines: [Int] = []
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { newlines.append(offset) }
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        defer { buffer.deallocate() }
        for (offset, byte) in bytes.enumerated() { buffer[offset] = CChar(bitPattern: byte) }
        buffer[bytes.count] = 0
        let iterator = UnsafeMutablePointer<spa_json>.allocate(capacity: 1)
        defer { iterator.deallocate() }
        iterator.initialize(to: spa_json())
        spa_json_init(iterator, buffer, bytes.count)
        return try body(SPAReader(start: buffer, newlines: newlines), iterator)
    }

    private struct Token {
        var text: UnsafePointer<CChar>
        var length: Int
    }

    private func line(_ position: UnsafePointer<CChar>) -> Int {
        let offset = position - start
        var low = 0
        var high = newlines.count
        while low < high {
            let middle = (low + high) / 2
            if newlines[middle] < offset { low = middle + 1 } else { high = middle }
        }
        return low + 1
    }

    /// `nil` at the end of the container.
    private func token(_ iterator: UnsafeMutablePointer<spa_json>) throws(SPASyntaxError) -> Token? {
        var text: UnsafePointer<CChar>?
        let length = Int(spa_json_next(iterator, &text))
        guard length != 0, let text else { return nil }
        guard length > 0 else {
            throw SPASyntaxError(
                line: line(iterator.pointee.cur ?? text),
                message: "a string with a control character or a wrong escape, or a bracket that is never closed")
        }
        if text.pointee == CChar(UInt8(ascii: "\"")), length < 2 || text[length - 1] != CChar(UInt8(ascii: "\"")) {
            throw SPASyntaxError(line: line(text), message: "the string that begins here never ends")
        }
        return Token(text: text, length: length)
    }

    private func file(_ iterator: UnsafeMutablePointer<spa_json>) throws(SPASyntaxError) -> SPANode.Value {
        guard let first = try token(iterator) else {
            try checkEnd(iterator)
            return .object([])
        }
        if spa_json_is_container(first.text, Int32(first.length)) != 0 {
            let node = try node(first, iterator, depth: 0)
            if let more = try token(iterator) {
                throw SPASyntaxError(line: line(more.text), message: "nothing may follow the closing bracket")
            }
            try checkEnd(iterator)
            return node.value
        }
        let members = try members(iterator, first: first, depth: 0)
        try checkEnd(iterator)
        return .object(members)
    }

    /// A closing bracket too many ends libspa's reading silently.
    private func checkEnd(_ iterator: UnsafeMutablePointer<spa_json>) throws(SPASyntaxError) {
        guard let position = iterator.pointee.cur, let end = iterator.pointee.end, position < end else { return }
        throw SPASyntaxError(line: line(position), message: "a closing bracket too many")
    }

    private func members(
        _ iterator: UnsafeMutablePointer<spa_json>, first: Token?, depth: Int
    ) throws(SPASyntaxError) -> [SPANode.Member] {
        var members: [SPANode.Member] = []
        var key = first
        if key == nil { key = try token(iterator) }
        while let name = key {
            guard spa_json_is_container(name.text, Int32(name.length)) == 0 else {
                throw SPASyntaxError(line: line(name.text), message: "a key is expected, not a bracket")
            }
            let text = string(name)
            guard let value = try token(iterator) else {
                throw SPASyntaxError(line: line(name.text), message: "\(Escaping.shown(text)) has no value")
            }
            members.append(
                SPANode.Member(key: text, line: line(name.text), node: try node(value, iterator, depth: depth)))
            key = try token(iterator)
        }
        return members
    }

    private func node(
        _ token: Token, _ iterator: UnsafeMutablePointer<spa_json>, depth: Int
    ) throws(SPASyntaxError) -> SPANode {
        let line = line(token.text)
        guard spa_json_is_container(token.text, Int32(token.length)) != 0 else {
            let isQuoted = token.text.pointee == CChar(UInt8(ascii: "\""))
            return SPANode(line: line, value: .scalar(string(token), isQuoted: isQuoted))
        }
        guard depth < Self.greatestDepth else {
            throw SPASyntaxError(line: line, message: "brackets are nested too deeply")
        }
        let sub = UnsafeMutablePointer<spa_json>.allocate(capacity: 1)
        defer { sub.deallocate() }
        sub.initialize(to: spa_json())
        spa_json_enter(iterator, sub)
        let isObject = token.text.pointee == CChar(UInt8(ascii: "{"))
        let value: SPANode.Value
        if isObject {
            value = .object(try members(sub, first: nil, depth: depth + 1))
        } else {
            var elements: [SPANode] = []
            while let element = try self.token(sub) { elements.append(try node(element, sub, depth: depth + 1)) }
            value = .array(elements)
        }
        try checkClosed(sub, by: isObject ? "}" : "]", openedOn: line)
        return SPANode(line: line, value: value)
    }

    private func checkClosed(
        _ iterator: UnsafeMutablePointer<spa_json>, by bracket: Character, openedOn line: Int
    ) throws(SPASyntaxError) {
        let open: Character = bracket == "}" ? "{" : "["
        guard let position = iterator.pointee.cur, let end = iterator.pointee.end, position < end else {
            throw SPASyntaxError(line: line, message: "the \(open) that begins here is never closed")
        }
        guard position.pointee == CChar(bracket.asciiValue ?? 0) else {
            throw SPASyntaxError(
                line: self.line(position), message: "\(bracket) is expected here, for the \(open) of line \(line)")
        }
    }

    private func string(_ token: Token) -> String {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: token.length + 1)
        defer { buffer.deallocate() }
        buffer.initialize(repeating: 0, count: token.length + 1)
        spa_json_parse_stringn(token.text, Int32(token.length), buffer, Int32(token.length + 1))
        return String(cString: buffer)
    }
}
