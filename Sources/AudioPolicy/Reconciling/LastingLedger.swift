/// What of a ledger's text has to be undone even after a restart of the machine: values that a server stored, with what
/// tells them from a user's. Empty where nothing is.
public func lastingPart(ofLedger text: String) -> String {
    guard !Ledger(reading: text).stored.isEmpty else { return "" }
    return text.split(separator: "\n").filter { line in
        switch LedgerRecord(line: line) {
        // Soft gains, pauses, players and unloaded modules end with the machine.
        case .soft, .pause, .route, .routeDone, .unloaded, .loaded, .playerPaused, .playerDone, nil: false
        default: true
        }
    }.map { $0 + "\n" }.joined()
}
