/// The event streams of one manager's claims: what happens from the acquisition on is kept until somebody listens.
package struct ClaimEvents {
    private struct Channel {
        var stream: AsyncStream<AudioSessionEvent>?
        var continuation: AsyncStream<AudioSessionEvent>.Continuation

        init() {
            let (stream, continuation) = AsyncStream.makeStream(of: AudioSessionEvent.self)
            self.stream = stream
            self.continuation = continuation
        }
    }

    private var channels: [ClaimID: Channel] = [:]

    package init() {}

    package mutating func open(_ id: ClaimID) { channels[id] = Channel() }

    package func send(_ event: AudioSessionEvent, to id: ClaimID) { channels[id]?.continuation.yield(event) }

    /// Sends to every claim.
    package func send(_ event: AudioSessionEvent) {
        for channel in channels.values { channel.continuation.yield(event) }
    }

    /// The claim's events; ends the stream that was handed out before. Of a claim that is not open: a stream that is over.
    package mutating func listen(to id: ClaimID) -> AsyncStream<AudioSessionEvent> {
        guard var channel = channels[id] else { return AsyncStream { $0.finish() } }
        if channel.stream == nil {
            channel.continuation.finish()
            channel = Channel()
        }
        let stream = channel.stream
        channel.stream = nil
        channels[id] = channel
        return stream ?? AsyncStream { $0.finish() }
    }

    package mutating func close(_ id: ClaimID) { channels.removeValue(forKey: id)?.continuation.finish() }
}
