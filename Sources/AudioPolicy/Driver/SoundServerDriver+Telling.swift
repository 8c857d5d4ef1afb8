import AudioSession
import EventLoop

/// What people are told, once the operations of the turn have been sent.
extension SoundServerDriver {
    func warn(_ message: String) {
        guard !warnings.contains(message) else { return }
        warnings.append(message)
        announce(.init(time: loop.wallClock, event: .warning, message: message))
    }

    func announceEffect(of id: StreamID) {
        if onSessionEvent != nil { pendingEvents.append(.effect(id)) }
    }

    /// Tells it once the operations of the present turn have been sent, which never wait for a listener.
    func announce(_ event: SessionEvent) {
        guard let onSessionEvent else { return }
        if depth > 0 { pendingEvents.append(.event(event)) } else { onSessionEvent(event) }
    }

    /// Does what others have to do once the operations of the present turn, if there is one, have been sent.
    func whenSent(_ body: @escaping () -> Void) {
        if depth > 0 { pendingEvents.append(.others(body)) } else { body() }
    }

    func tellPending() {
        let pending = pendingEvents
        pendingEvents.removeAll()
        for item in pending {
            switch item {
            case .event(let event): onSessionEvent?(event)
            case .others(let body): body()
            case .effect(let id):
                guard let stream = streamStatus(id) else { continue }
                onSessionEvent?(.init(time: loop.wallClock, event: .effectChanged, stream: stream))
            }
        }
    }
}
