import AudioPolicy
import EventLoop

/// What has been sent and not been answered yet.
struct Outbox {
    struct Sync {
        let sequence: Int32
        let batch: UInt64
        /// The streams that something was sent to, in that order.
        let streams: [StreamID]
        let sent: LoopInstant
    }

    /// The number of the last batch.
    private(set) var batch: UInt64 = 0
    private var syncs: [Sync] = []
    /// By the sequence number that an error would name.
    private var operations: [Int32: (operation: ServerOperation, batch: UInt64)] = [:]

    mutating func nextBatch() -> UInt64 {
        batch += 1
        return batch
    }

    mutating func sent(_ operation: ServerOperation, sequence: Int32, batch: UInt64) {
        operations[sequence] = (operation, batch)
    }

    mutating func expects(answer sequence: Int32, batch: UInt64, streams: [StreamID], now: LoopInstant) {
        syncs.append(Sync(sequence: sequence, batch: batch, streams: streams, sent: now))
    }

    var oldest: Sync? { syncs.first }

    /// Forgets everything that has not been answered, and returns what it was.
    mutating func abandon() -> [ServerOperation] {
        defer {
            syncs = []
            operations = [:]
        }
        return operations.sorted { $0.key < $1.key }.map(\.value.operation)
    }

    /// The batch, and the streams concerned, that the server has answered; answers come in order.
    mutating func answered(_ sequence: Int32) -> (batch: UInt64, streams: [StreamID])? {
        guard let index = syncs.firstIndex(where: { $0.sequence == sequence }) else { return nil }
        let streams = syncs[...index].flatMap(\.streams)
        let batch = syncs[index].batch
        syncs.removeSubrange(...index)
        if syncs.isEmpty {
            operations.removeAll(keepingCapacity: true)
        } else {
            operations = operations.filter { $0.value.batch > batch }
        }
        return (batch, streams)
    }

    mutating func takeOperation(_ sequence: Int32) -> ServerOperation? {
        operations.removeValue(forKey: sequence)?.operation
    }
}
