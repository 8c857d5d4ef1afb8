import AudioPolicy
import CPulse
import EventLoop
import SystemEventLoop

extension PulseAudioServer {
    /// Sends one operation; the server turns down what it cannot do in its reply.
    func perform(_ operation: ServerOperation) {
        guard let connection, connection.context.isReady else {
            return fail(operation, ServerFailure(.unavailable, "not connected"))
        }
        switch operation {
        case .setVolume(let id, let volume): setVolume(operation, id, volume)
        case .setMute(let id, let isMuted):
            send(operation, id) { context, index, acknowledge, request in
                id.direction == .output
                    ? pa_context_set_sink_input_mute(context, index, isMuted ? 1 : 0, acknowledge, request)
                    : pa_context_set_source_output_mute(context, index, isMuted ? 1 : 0, acknowledge, request)
            }
        case .move(let id, let device): move(operation, id, to: device)
        case .setCorkedRoles(let roles): connection.cork.set(roles)
        case .writeRestoreEntry(let entry): connection.store.write(entry, then: reporter(operation))
        case .deleteRestoreEntry(let key): connection.store.delete(key, then: reporter(operation))
        case .unloadPolicy(let policy): unload(operation, policy)
        case .loadPolicy(let policy):
            connection.context.loadModule(policy.name, policy.arguments) { [weak self] result in
                if case .failure(let failure) = result { self?.onEvent?(.failed(operation, failure)) }
            }
        case .setSoftGain, .clearSoftGain, .pause, .resume, .setHiddenGain, .route:
            fail(operation, ServerFailure(.other, "PulseAudio has no such thing"))
        }
    }

    private func setVolume(_ operation: ServerOperation, _ id: StreamID, _ volume: [Double]) {
        guard var native = PulseVolume.native(volume), native.channels > 0 else {
            return fail(operation, ServerFailure(.other, "no volume with \(volume.count) channels"))
        }
        send(operation, id) { context, index, acknowledge, request in
            id.direction == .output
                ? pa_context_set_sink_input_volume(context, index, &native, acknowledge, request)
                : pa_context_set_source_output_volume(context, index, &native, acknowledge, request)
        }
    }

    /// The default is named, not looked up: the server resolves it when it moves the stream, and forgets the preference
    /// that it has stored for it.
    private func move(_ operation: ServerOperation, _ id: StreamID, to device: DeviceID?) {
        let target = device.flatMap { UInt32(exactly: $0.serial) }
        guard device == nil || (target != nil && device?.direction == id.direction) else {
            return fail(operation, ServerFailure(.noEntity, "no such device for this stream"))
        }
        send(operation, id) { context, index, acknowledge, request in
            switch (id.direction, target) {
            case (.output, let target?):
                pa_context_move_sink_input_by_index(context, index, target, acknowledge, request)
            case (.output, nil):
                pa_context_move_sink_input_by_name(context, index, "@DEFAULT_SINK@", acknowledge, request)
            case (.input, let target?):
                pa_context_move_source_output_by_index(context, index, target, acknowledge, request)
            case (.input, nil):
                pa_context_move_source_output_by_name(context, index, "@DEFAULT_SOURCE@", acknowledge, request)
            }
        }
    }

    private func unload(_ operation: ServerOperation, _ policy: ForeignPolicy) {
        guard let module = policy.module.flatMap({ UInt32(exactly: $0) }) else {
            return fail(operation, ServerFailure(.noEntity, "\(policy.name) is no module that can be unloaded"))
        }
        connection?.context.acknowledged(
            { pa_context_unload_module($0, module, $1, $2) }, then: reporter(operation))
    }

    private func send(
        _ operation: ServerOperation, _ id: StreamID,
        _ start: (OpaquePointer, UInt32, pa_context_success_cb_t?, UnsafeMutableRawPointer) -> OpaquePointer?
    ) {
        guard let index = UInt32(exactly: id.serial) else {
            return fail(operation, ServerFailure(.noEntity, "no such stream"))
        }
        connection?.context.acknowledged({ start($0, index, $1, $2) }, then: reporter(operation))
    }

    private func reporter(_ operation: ServerOperation) -> (ServerFailure?) -> Void {
        { [weak self] failure in
            if let failure { self?.onEvent?(.failed(operation, failure)) }
        }
    }

    /// Later, as the server would: whoever performs has no batch number yet.
    func fail(_ operation: ServerOperation, _ failure: ServerFailure) {
        loop.defer { [weak self] in self?.onEvent?(.failed(operation, failure)) }
    }
}
