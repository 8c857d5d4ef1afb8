/// What was sent for one property of a stream, by batch, from the last value that a read has shown on.
///
/// A server's events name no originator. But a read says which batches it includes, and so there is exactly one value
/// that it must show if nobody else has written.
struct WriteHistory<Value> {
    /// What the last read has shown.
    private(set) var first: Value
    private var later: [(batch: UInt64, value: Value)] = []

    init(_ value: Value) { first = value }

    /// What the server will have once everything sent has arrived.
    var last: Value { later.last?.value ?? first }

    mutating func sent(_ value: Value, in batch: UInt64) { later.append((batch, value)) }

    /// What a read that includes this batch must show.
    mutating func expected(including batch: UInt64) -> Value {
        while let next = later.first, next.batch <= batch {
            first = next.value
            later.removeFirst()
        }
        return first
    }

    /// Takes what a read shows as what was there at that point. Writes that are still under way come after it, and have
    /// overwritten it by now.
    mutating func read(_ value: Value, including batch: UInt64) {
        first = value
        later.removeAll { $0.batch <= batch }
    }

    /// A write that the server turned down.
    mutating func dropLast(where matches: (Value) -> Bool) {
        if let index = later.lastIndex(where: { matches($0.value) }) { later.remove(at: index) }
    }

    /// Whether a read has shown the last value. A server says nothing of a write that changes nothing.
    func isConfirmed(_ same: (Value, Value) -> Bool) -> Bool { later.allSatisfy { same($0.value, first) } }
}
