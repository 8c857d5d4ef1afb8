/// What was sent for one property of a stream, by batch, from the last value that a read has shown on.
///
/// A server's events name no originator. But a read says which batches it includes, and so there is exactly one value
/// that it must show if nobody else has written.
struct WriteHistory<Value> {
    private var entries: [(batch: UInt64, value: Value)]

    init(_ value: Value) { entries = [(0, value)] }

    /// What the server will have once everything sent has arrived.
    var last: Value { entries[entries.count - 1].value }

    /// What the last read has shown.
    var first: Value { entries[0].value }

    mutating func sent(_ value: Value, in batch: UInt64) { entries.append((batch, value)) }

    /// What a read that includes this batch must show.
    mutating func expected(including batch: UInt64) -> Value {
        while entries.count > 1, entries[1].batch <= batch { entries.removeFirst() }
        return entries[0].value
    }

    /// Takes what a read shows as what was there at that point. Writes that are still under way come after it, and have
    /// overwritten it by now.
    mutating func read(_ value: Value, including batch: UInt64) {
        entries = [(batch, value)] + entries.filter { $0.batch > batch }
    }

    /// A write that the server turned down.
    mutating func dropLast(where matches: (Value) -> Bool) {
        if let index = entries.indices.dropFirst().last(where: { matches(entries[$0].value) }) {
            entries.remove(at: index)
        }
    }

    /// Whether a read has shown the last value. A server says nothing of a write that changes nothing.
    func isConfirmed(_ same: (Value, Value) -> Bool) -> Bool {
        entries.dropFirst().allSatisfy { same($0.value, entries[0].value) }
    }
}
