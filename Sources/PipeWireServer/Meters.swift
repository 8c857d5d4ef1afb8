public import AudioPolicy
import SystemEventLoop

extension PipeWireServer {
    /// Later: to make or end a meter takes milliseconds, in which operations of the same turn would wait to be sent.
    public func setMeters(_ streams: Set<StreamID>) {
        if resumption != nil { resumption?.meters = streams }
        let isDue = wantedMeters != nil
        wantedMeters = streams
        guard !isDue else { return }
        loop.defer { [weak self] in self?.settleMeters() }
    }

    private func settleMeters() {
        // What is still in the buffer goes first.
        if !isTurning { runTurns() }
        guard let streams = wantedMeters else { return }
        wantedMeters = nil
        for (id, meter) in meters where !streams.contains(id) {
            meter.close()
            meters[id] = nil
        }
        guard isConnected, let connection else { return }
        for id in streams where meters[id] == nil && mirror?.stream(id) != nil {
            connection.loadStreamModules()
            // Unowned: a meter is closed before its server goes.
            meters[id] = StreamMeter(of: id, core: connection.core, loop: loop) { [unowned self] peak in
                self.report(.level(id, peak: peak))
            }
        }
    }

    /// A meter whose stream went before it was linked is given another node by some session managers, a microphone
    /// perhaps: it must not stay there.
    func checkMeter(node: UInt32, peer: UInt32) {
        guard let id = meters.first(where: { $0.value.node == node })?.key else { return }
        if mirror?.stream(id)?.id != peer { doomedMeters.insert(id) }
    }

    func closeDoomedMeters() {
        for id in doomedMeters { meters.removeValue(forKey: id)?.close() }
        doomedMeters = []
    }
}
