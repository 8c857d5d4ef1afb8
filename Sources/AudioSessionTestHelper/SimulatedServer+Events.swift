import AudioPolicy
import EventLoop
import func Glibc.cbrt

/// One subscription event: what it is about, and nothing of who did it.
struct SimulatedEvent: Equatable {
    enum Object: Hashable {
        case stream(StreamID)
        case device(DeviceID)
        case defaults
        case policies
    }

    enum Change { case new, change, remove }

    var object: Object
    var change: Change
}

extension SimulatedServer {
    /// PulseAudio: a change coalesces with what is queued about its object, and a removal drops it. PipeWire: each event
    /// carries its object's state.
    func post(_ object: SimulatedEvent.Object, _ change: SimulatedEvent.Change) {
        guard isPulseAudio else {
            connection?.pushed(object, change)
            return
        }
        switch change {
        case .change: if queue.contains(where: { $0.object == object && $0.change != .remove }) { return }
        case .remove: queue.removeAll { $0.object == object }
        case .new: break
        }
        queue.append(SimulatedEvent(object: object, change: change))
        guard !isFlushing else { return }
        isFlushing = true
        loop.schedule(after: .microseconds(50)) { [weak self] in self?.flush() }
    }

    private func flush() {
        isFlushing = false
        let events = queue
        queue = []
        for event in events {
            // The store's module is told first.
            if case .stream(let id) = event.object, event.change != .remove { storeOnPulseAudio(id) }
            connection?.received(event)
        }
    }
}

func cubeRoot(_ value: Double) -> Double { cbrt(value) }
