import AudioSession
import SoundRig
import Synchronization
import Testing

/// What a claim's holder has heard.
final class Heard: Sendable {
    private struct State {
        var events: [AudioSessionEvent] = []
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Listens from now on.
    init(_ manager: any AudioSessionManagerProtocol, _ claim: AudioSessionClaim) async {
        let stream = await manager.events(for: claim)
        Task { [self] in
            for await event in stream { state.withLock { $0.events.append(event) } }
            state.withLock { $0.isFinished = true }
        }
    }

    var events: [AudioSessionEvent] { state.withLock { $0.events } }
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Waits until it has heard exactly this.
    func hears(
        _ events: AudioSessionEvent..., sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let came = await eventually(every: .milliseconds(2)) { self.events == events }
        #expect(came, "heard \(self.events) instead of \(events)", sourceLocation: sourceLocation)
    }

    func finishes(sourceLocation: SourceLocation = #_sourceLocation) async {
        let came = await eventually(every: .milliseconds(2)) { isFinished }
        #expect(came, "the events do not finish", sourceLocation: sourceLocation)
    }
}
