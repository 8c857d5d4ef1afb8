public import AudioPolicy

/// A ledger in memory, which outlives the daemons that write to it.
public final class MemoryLedger {
    public fileprivate(set) var text: String
    /// How many times something was written.
    public fileprivate(set) var writes = 0

    public init(_ text: String = "") { self.text = text }
}

/// One daemon's hold on a ledger.
public final class MemoryLedgerStore: LedgerStore {
    private let ledger: MemoryLedger

    public init(_ ledger: MemoryLedger = MemoryLedger()) { self.ledger = ledger }

    public var text: String { ledger.text }

    public func read() -> String { ledger.text }

    public func append(_ lines: String) {
        ledger.text += lines
        ledger.writes += 1
    }

    public func replace(with lines: String) {
        ledger.text = lines
        ledger.writes += 1
    }
}
