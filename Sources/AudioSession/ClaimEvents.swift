/// The events of every claim that is held: kept from its acquisition on, handed out once at a time.
struct ClaimEvents {
    private struct Entry {
        var stream: AsyncStream<AudioSessionEvent>?
        var continuation: AsyncStream<AudioSessionEvent>.Continuation
    }

    private var entries: [ClaimID: Entry] = [:]

    mutating func begin(_ id: ClaimID) {
        let (stream, continuation) = AsyncStream.makeStream(of: AudioSessionEvent.self, bufferingPolicy: .unbounded)
        entries[id] = Entry(stream: stream, continuation: continuation)
    }

    func send(_ event: AudioSessionEvent, to id: ClaimID) { entries[id]?.continuation.yield(event) }

    mutating func end(_ id: ClaimID) { entries.removeValue(forKey: id)?.continuation.finish() }

    /// The stream with all that was kept; of a claim that is not held, a finished one.
    mutating func stream(of id: ClaimID) -> AsyncStream<AudioSessionEvent> {
        guard let entry = entries[id] else { return AsyncStream { $0.finish() } }
        if let stream = entry.stream {
            entries[id]?.stream = nil
            return stream
        }
        entry.continuation.finish()
        let (stream, continuation) = AsyncStream.makeStream(of: AudioSessionEvent.self, bufferingPolicy: .unbounded)
        entries[id] = Entry(stream: nil, continuation: continuation)
        return stream
    }
}
