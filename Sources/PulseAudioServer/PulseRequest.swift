import AudioPolicy
import CPulse
import SystemEventLoop

/// What waits for one reply of the server. The connection holds it until the reply has come, or until it has taken
/// libpulse's callback away.
class PulseRequest {
    /// Set while it waits. The connection outlives that.
    fileprivate unowned var context: PulseContext?
    fileprivate var operation: OpaquePointer?

    fileprivate var userdata: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The request could not be sent at all, or was turned down.
    func fail(_ failure: ServerFailure) {}

    /// No callback comes after this.
    fileprivate func abandon() {
        guard let operation else { return }
        self.operation = nil
        pa_operation_cancel(operation)
        pa_operation_unref(operation)
    }

    fileprivate func finish() {
        context?.requests[ObjectIdentifier(self)] = nil
        if let operation { pa_operation_unref(operation) }
        operation = nil
    }
}

/// Answered with done or not done.
final class AcknowledgedRequest: PulseRequest {
    private let body: (ServerFailure?) -> Void

    init(_ body: @escaping (ServerFailure?) -> Void) { self.body = body }

    override func fail(_ failure: ServerFailure) { body(failure) }

    fileprivate func received(_ success: Int32) {
        let failure = success == 0 ? context?.failure : nil
        finish()
        body(failure)
    }
}

/// Answered with the index of what it made.
final class IndexRequest: PulseRequest {
    private let body: (Result<UInt32, ServerFailure>) -> Void

    init(_ body: @escaping (Result<UInt32, ServerFailure>) -> Void) { self.body = body }

    override func fail(_ failure: ServerFailure) { body(.failure(failure)) }

    fileprivate func received(_ index: UInt32) {
        let failure = context?.failure ?? ServerFailure(.other, "no reply")
        finish()
        body(index == noIndex ? .failure(failure) : .success(index))
    }
}

/// Answered with any number of objects, all in one reply.
final class InfoRequest<Info>: PulseRequest {
    private let each: (UnsafePointer<Info>) -> Void
    private let end: (ServerFailure?) -> Void

    init(each: @escaping (UnsafePointer<Info>) -> Void, end: @escaping (ServerFailure?) -> Void) {
        self.each = each
        self.end = end
    }

    override func fail(_ failure: ServerFailure) { end(failure) }

    fileprivate func received(_ info: UnsafePointer<Info>?, _ endOfList: Int32) {
        if endOfList == 0 {
            if let info { each(info) }
            return
        }
        let failure = endOfList < 0 ? context?.failure : nil
        finish()
        end(failure)
    }
}

// MARK: - Sending

extension PulseContext {
    private func send(_ request: PulseRequest, _ start: (OpaquePointer, UnsafeMutableRawPointer) -> OpaquePointer?) {
        guard let handle, let operation = start(handle, request.userdata) else {
            let failure = self.handle == nil ? ServerFailure(.unavailable, "the connection is closed") : failure
            // Later, as a reply would be: the sender may still be in the middle of something.
            mainloop.loop.defer { request.fail(failure) }
            return
        }
        request.context = self
        request.operation = operation
        requests[ObjectIdentifier(request)] = request
    }

    func abandonRequests() {
        for request in requests.values { request.abandon() }
        requests = [:]
    }

    /// For operations that are answered with done or not done; `start` gets the context, the callback and its argument.
    func acknowledged(
        _ start: (OpaquePointer, pa_context_success_cb_t?, UnsafeMutableRawPointer) -> OpaquePointer?,
        then body: @escaping (ServerFailure?) -> Void
    ) {
        send(AcknowledgedRequest(body)) { start($0, acknowledgement, $1) }
    }

    func loadModule(
        _ name: String, _ arguments: String, then body: @escaping (Result<UInt32, ServerFailure>) -> Void
    ) {
        send(IndexRequest(body)) { pa_context_load_module($0, name, arguments, newIndex, $1) }
    }

    func serverInfo(_ each: @escaping (UnsafePointer<pa_server_info>) -> Void, end: @escaping (ServerFailure?) -> Void)
    {
        send(InfoRequest(each: each, end: end)) { pa_context_get_server_info($0, serverReply, $1) }
    }

    /// `index` `nil`: all of them; here and below.
    func sinks(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_sink_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_sink_info_list(context, sinkReply, request) }
            return pa_context_get_sink_info_by_index(context, index, sinkReply, request)
        }
    }

    func sources(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_source_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_source_info_list(context, sourceReply, request) }
            return pa_context_get_source_info_by_index(context, index, sourceReply, request)
        }
    }

    func sinkInputs(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_sink_input_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_sink_input_info_list(context, sinkInputReply, request) }
            return pa_context_get_sink_input_info(context, index, sinkInputReply, request)
        }
    }

    func sourceOutputs(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_source_output_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_source_output_info_list(context, sourceOutputReply, request) }
            return pa_context_get_source_output_info(context, index, sourceOutputReply, request)
        }
    }

    func cards(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_card_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_card_info_list(context, cardReply, request) }
            return pa_context_get_card_info_by_index(context, index, cardReply, request)
        }
    }

    func clients(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_client_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_client_info_list(context, clientReply, request) }
            return pa_context_get_client_info(context, index, clientReply, request)
        }
    }

    func modules(
        _ index: UInt32?, _ each: @escaping (UnsafePointer<pa_module_info>) -> Void,
        end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { context, request in
            guard let index else { return pa_context_get_module_info_list(context, moduleReply, request) }
            return pa_context_get_module_info(context, index, moduleReply, request)
        }
    }

    func restoreEntries(
        _ each: @escaping (UnsafePointer<pa_ext_stream_restore_info>) -> Void, end: @escaping (ServerFailure?) -> Void
    ) {
        send(InfoRequest(each: each, end: end)) { pa_ext_stream_restore_read($0, restoreReply, $1) }
    }
}

// MARK: - libpulse's callbacks

/// A reference is held while it is answered: the answer may close the connection, which drops the request.
private func request<T: PulseRequest>(_ userdata: UnsafeMutableRawPointer?, _ body: (T) -> Void) {
    guard let userdata else { return }
    let request = Unmanaged<T>.fromOpaque(userdata).takeUnretainedValue()
    withExtendedLifetime(request) { body(request) }
}

private func acknowledgement(_: OpaquePointer?, _ success: Int32, _ userdata: UnsafeMutableRawPointer?) {
    request(userdata) { (request: AcknowledgedRequest) in request.received(success) }
}

private func newIndex(_: OpaquePointer?, _ index: UInt32, _ userdata: UnsafeMutableRawPointer?) {
    request(userdata) { (request: IndexRequest) in request.received(index) }
}

/// The server's own information comes once, without an end of the list.
private func serverReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_server_info>?, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_server_info>) in
        if info != nil { request.received(info, 0) }
        request.received(nil, info == nil ? -1 : 1)
    }
}

private func sinkReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_sink_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_sink_info>) in request.received(info, end) }
}

private func sourceReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_source_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_source_info>) in request.received(info, end) }
}

private func sinkInputReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_sink_input_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_sink_input_info>) in request.received(info, end) }
}

private func sourceOutputReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_source_output_info>?, _ end: Int32,
    _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_source_output_info>) in request.received(info, end) }
}

private func cardReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_card_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_card_info>) in request.received(info, end) }
}

private func clientReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_client_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_client_info>) in request.received(info, end) }
}

private func moduleReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_module_info>?, _ end: Int32, _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_module_info>) in request.received(info, end) }
}

private func restoreReply(
    _: OpaquePointer?, _ info: UnsafePointer<pa_ext_stream_restore_info>?, _ end: Int32,
    _ userdata: UnsafeMutableRawPointer?
) {
    request(userdata) { (request: InfoRequest<pa_ext_stream_restore_info>) in request.received(info, end) }
}
