public import AudioPolicy
import SystemEventLoop

extension PipeWireServer {
    /// Later: to make or end a meter takes milliseconds, in which operations of the same turn would wait to be sent.
    public func setMeters(_ streams: Set<StreamID>) {
        wantedMeters = streams
        settleMetersLater()
    }

    func settleMetersLater() {
        guard !isSettlingMeters else { return }
        isSettlingMeters = true
        loop.defer { [weak self] in self?.settleMeters() }
    }

    private func settleMeters() {
        // What is still in the buffer goes first.
        if !isTurning { runTurns() }
        isSettlingMeters = false
        for (id, meter) in meters where !wantedMeters.contains(id) || meter.target != mirror?.heardNode(of: id)?.serial
        {
            meter.close()
            meters[id] = nil
        }
        guard isConnected, let connection else { return }
        for id in wantedMeters where meters[id] == nil {
            guard let target = mirror?.heardNode(of: id)?.serial else { continue }
            connection.loadStreamModules()
            // Unowned: a meter is closed before its server goes.
            meters[id] = StreamMeter(of: target, core: connection.core, loop: loop) { [unowned self] peak in
                self.report(.level(id, peak: peak))
            }
        }
    }

    /// A capture stream that is wanted may listen to another source now, or to one again.
    func followMeters(_ changes: [GraphChange]) {
        for case .stream(let stream) in changes where stream.id.direction == .input && wantedMeters.contains(stream.id)
        {
            if meters[stream.id]?.target != mirror?.heardNode(of: stream.id)?.serial { settleMetersLater() }
        }
    }

    /// A meter whose stream went before it was linked is given another node by some session managers, a microphone
    /// perhaps: it must not stay there.
    func checkMeter(node: UInt32, peer: UInt32) {
        guard let id = meters.first(where: { $0.value.node == node })?.key else { return }
        if mirror?.heardNode(of: id)?.id != peer { doomedMeters.insert(id) }
    }

    func closeDoomedMeters() {
        for id in doomedMeters { meters.removeValue(forKey: id)?.close() }
        doomedMeters = []
    }
}
