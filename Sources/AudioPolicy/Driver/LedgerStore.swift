/// Where the ledger's lines are kept. Appending hands the text to the system and waits for nothing.
public protocol LedgerStore: AnyObject {
    /// All lines so far, oldest first; empty where there are none.
    func read() -> String
    /// Appends whole lines, each ended by a newline, in one write.
    func append(_ lines: String)
    /// Replaces everything, in one step that a crash leaves either done or undone.
    func replace(with lines: String)
    /// The operations that wait for their lines have been sent: what else is to be done about the lines can be now.
    func operationsSent()
}

extension LedgerStore {
    public func operationsSent() {}
}
