/// What a sandboxed program is shown: everything but who the others are.
enum ConfinedView {
    /// In the place of a name.
    static let name = "another program"
}

extension SessionStatus {
    /// - Parameter isOwn: whether a claim, by its id, is the viewer's own.
    public func confined(_ isOwn: (String) -> Bool) -> SessionStatus {
        var status = self
        status.claims = claims.map { $0.confined(isOwn) }
        status.streams = streams.map { $0.confined(isOwn) }
        return status
    }
}

extension SessionEvent {
    /// - Parameter isOwn: whether a claim, by its id, is the viewer's own.
    public func confined(_ isOwn: (String) -> Bool) -> SessionEvent {
        var event = self
        event.claim = claim?.confined(isOwn)
        event.stream = stream?.confined(isOwn)
        // A sentence on a stream begins with its program's name.
        if let name = stream?.application.shown(), event.stream != stream, let message, message.hasPrefix(name) {
            event.message = ConfinedView.name + message.dropFirst(name.count)
        }
        return event
    }
}

extension SessionStatus.Claim {
    fileprivate func confined(_ isOwn: (String) -> Bool) -> Self {
        var claim = self
        if !isOwn(id) { claim.owner = .init(name: ConfinedView.name, pid: nil, sandbox: nil) }
        return claim
    }
}

extension SessionStatus.Stream {
    fileprivate func confined(_ isOwn: (String) -> Bool) -> Self {
        var stream = self
        if claim.map(isOwn) != true { stream.application = ConfinedView.name }
        return stream
    }
}
