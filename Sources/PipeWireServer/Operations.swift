public import AudioPolicy
import CPipeWire
import EventLoop
import SystemEventLoop

extension PipeWireServer {
    @discardableResult
    public func perform(_ operations: [ServerOperation]) -> UInt64 {
        let batch = outbox.nextBatch()
        if resumption != nil { resumption?.operations += operations }
        guard isConnected, let connection else { return batch }
        for operation in operations {
            do throws(ServerFailure) {
                try perform(operation, batch: batch)
            } catch {
                report(.failed(operation, error))
            }
        }
        expectAnswer(connection, batch, operations.compactMap { $0.stream })
        return batch
    }

    private func expectAnswer(_ connection: PipeWireConnection, _ batch: UInt64, _ streams: [StreamID]) {
        outbox.expects(answer: connection.sync(), batch: batch, streams: streams, now: loop.now)
        watchForAnswers()
    }

    private func perform(_ operation: ServerOperation, batch: UInt64) throws(ServerFailure) {
        guard operation.isPipeWire, let id = operation.stream else {
            throw ServerFailure(.other, "not an operation on PipeWire")
        }
        guard let mirror, let node = mirror.stream(id) else { throw ServerFailure(.noEntity, "stream \(id) is gone") }
        if node.proxy == nil { mirror.bindNew() }
        if operation.needsProgram, mirror.isSilent(node) {
            throw ServerFailure(.other, "the stream's program does not answer")
        }
        switch operation {
        case .setSoftGain(_, let gain): try setSoftGain(node, gain, operation, batch)
        case .clearSoftGain: try clearSoftGain(node, operation, batch)
        case .pause: try pause(node, operation, batch)
        case .resume: try resume(node, operation, batch)
        case .move(_, let device): _ = try move(node, to: device, operation, batch)
        case .route(_, let device, let back):
            let metadata = try move(node, to: device, operation, batch)
            let own = back.flatMap { mirror.globalID(of: $0) }
            for result in metadata.setStoredTarget(of: node.id, own) { try track(result, operation, batch) }
        case .setHiddenGain(_, let gain): try send(operation, batch, to: node) { NodeProps.setGain($0, Float(gain)) }
        default: break
        }
    }

    private func send(
        _ operation: ServerOperation, _ batch: UInt64, to node: NodeObject, _ call: (OpaquePointer) -> Int32
    ) throws(ServerFailure) {
        guard let proxy = node.proxy else { throw ServerFailure(.other, "the node could not be bound") }
        try track(call(proxy.pointer), operation, batch)
    }

    /// Remembers which operation an error with the call's number would be about.
    private func track(_ result: Int32, _ operation: ServerOperation, _ batch: UInt64) throws(ServerFailure) {
        guard result >= 0 else { throw ServerFailure(errorNumber: -result, message: errorText(-result)) }
        if cpw_is_async(result) { outbox.sent(operation, sequence: cpw_async_seq(result), batch: batch) }
    }

    // MARK: Gain

    private func setSoftGain(
        _ node: NodeObject, _ gain: SoftGain, _ operation: ServerOperation, _ batch: UInt64
    ) throws(ServerFailure) {
        guard node.hasVolume else { throw ServerFailure(.other, "the stream has no volume") }
        node.waiting = nil
        let channels = node.soft.last?.volumes.count ?? 0
        guard channels > 0 else {
            // The session manager writes a stored volume at a node's birth, which would cancel ours.
            node.waiting = (operation, gain, batch)
            return
        }
        let values = node.soft.willSet(gain, channels: channels, batch: batch)
        try send(operation, batch, to: node) { NodeProps.setSoft($0, volumes: values, isMuted: gain.isMuted) }
    }

    /// Sends what was asked of a stream before its volumes were known.
    func flushWaiting(_ node: NodeObject) {
        guard let connection, let (operation, gain, batch) = node.waiting else { return }
        do throws(ServerFailure) {
            try setSoftGain(node, gain, operation, batch)
        } catch {
            report(.failed(operation, error))
        }
        expectAnswer(connection, batch, [operation.stream].compactMap { $0 })
    }

    /// The mute alone gives the stream back to its user and, unlike the volumes, overwrites nothing that he may be
    /// changing in the same moment.
    private func clearSoftGain(
        _ node: NodeObject, _ operation: ServerOperation, _ batch: UInt64
    ) throws(ServerFailure) {
        node.waiting = nil
        guard let isMuted = node.soft.willClear(batch: batch) else { return }
        try send(operation, batch, to: node) { NodeProps.setMute($0, isMuted) }
    }

    // MARK: Pause and place

    private func pause(_ node: NodeObject, _ operation: ServerOperation, _ batch: UInt64) throws(ServerFailure) {
        node.isPauseWanted = true
        if node.isRunning { try send(operation, batch, to: node) { cpw_node_pause($0) } }
    }

    /// A stream that its program has stopped meanwhile starts when its program says so, not here.
    private func resume(_ node: NodeObject, _ operation: ServerOperation, _ batch: UInt64) throws(ServerFailure) {
        node.isPauseWanted = false
        if node.isRunning { try send(operation, batch, to: node) { cpw_node_start($0) } }
    }

    private func move(
        _ node: NodeObject, to device: DeviceID?, _ operation: ServerOperation, _ batch: UInt64
    ) throws(ServerFailure) -> MetadataObject {
        guard let metadata = mirror?.metadata else { throw ServerFailure(.other, "no session manager is running") }
        // Session managers of 0.5 would link such a stream to both devices.
        guard node["node.dont-reconnect"] != "true" else { throw ServerFailure(.other, "the stream may not be moved") }
        if let device, mirror?.holds(device) != true { throw ServerFailure(.noEntity, "device \(device) is gone") }
        for result in metadata.setTarget(of: node.id, serial: device?.serial) { try track(result, operation, batch) }
        return metadata
    }

    // MARK: Answers

    /// The server has answered a batch. What a stream's own program has to say of it is there already as a rule; on 1.4
    /// it can come a little later while a stream is being made.
    func settle(sequence: Int32) {
        guard let (batch, streams) = outbox.answered(sequence), let mirror else { return }
        mirror.answeredBatch = max(mirror.answeredBatch, batch)
        for case let node? in streams.map({ mirror.stream($0) }) {
            mirror.changed(node)
            guard let oldest = node.soft.oldestPendingBatch, oldest <= batch else { continue }
            loop.schedule(after: .milliseconds(100)) { [weak self, weak node] in
                guard let self, let node else { return }
                node.soft.giveUp(batch: batch)
                self.mirror?.changed(node)
                self.reportChanges()
            }
        }
    }

    func fail(sequence: Int32, code: Int32, message: String) {
        guard let operation = outbox.takeOperation(cpw_async_seq(sequence)) else { return }
        report(.failed(operation, ServerFailure(errorNumber: code, message: message)))
    }
}

extension ServerOperation {
    /// Whether the server waits for the stream's program to carry it out.
    var needsProgram: Bool {
        switch self {
        case .setSoftGain, .clearSoftGain, .setHiddenGain: true
        default: false
        }
    }

    var isPipeWire: Bool {
        switch self {
        case .setSoftGain, .clearSoftGain, .pause, .resume, .move, .route, .setHiddenGain: true
        case .setVolume, .setMute, .setCorkedRoles, .writeRestoreEntry, .deleteRestoreEntry, .unloadPolicy, .loadPolicy:
            false
        }
    }
}
