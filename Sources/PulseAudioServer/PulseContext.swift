import AudioPolicy
import CPulse
import EventLoop
import Glibc
import SystemEventLoop

/// One connection to a PulseAudio server: libpulse's context with its callbacks.
///
/// Owns the context; its callbacks are unretained and taken away in `close`, which `deinit` makes sure of.
final class PulseContext {
    let mainloop: PulseMainloop
    /// The `pa_context`; `nil` once closed.
    private(set) var handle: OpaquePointer?
    var requests: [ObjectIdentifier: PulseRequest] = [:]

    /// The connection stands.
    var onReady: () -> Void = {}
    /// It could not be made, or is gone.
    var onLost: (ServerFailure) -> Void = { _ in }
    /// Something appeared, changed or went on the server.
    var onSubscription: (PulseEvent) -> Void = { _ in }
    /// Something changed in the volume store.
    var onRestoreStore: () -> Void = {}

    init(loop: SystemEventLoop) throws(SystemEventLoopError) {
        mainloop = try PulseMainloop(loop: loop)
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "Sordino")
        pa_proplist_sets(properties, PA_PROP_APPLICATION_ID, "org.sordino.Sordino")
        pa_proplist_sets(properties, ownStreamProperty, "1")
        handle = pa_context_new_with_proplist(mainloop.api, "Sordino", properties)
        let userdata = Unmanaged.passUnretained(self).toOpaque()
        pa_context_set_state_callback(handle, contextState, userdata)
        pa_context_set_subscribe_callback(handle, subscriptionEvent, userdata)
        pa_ext_stream_restore_set_subscribe_cb(handle, restoreStoreEvent, userdata)
    }

    deinit { close() }

    /// What the server, or libpulse, last said was wrong.
    var failure: ServerFailure {
        ServerFailure(pulse: handle.map { pa_context_errno($0) } ?? Int32(PA_ERR_BADSTATE.rawValue))
    }

    var isReady: Bool { handle.map { pa_context_get_state($0) == PA_CONTEXT_READY } ?? false }

    /// Our index among the server's clients: whose streams are our own.
    var clientIndex: UInt32 { handle.map { pa_context_get_index($0) } ?? noIndex }

    /// Never starts a server. `server` `nil`: where libpulse looks by itself.
    func connect(to server: String?) {
        guard let handle else { return }
        if pa_context_connect(handle, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 { lose() }
    }

    func subscribe(_ mask: pa_subscription_mask_t) {
        acknowledged({ pa_context_subscribe($0, mask, $1, $2) }, then: { _ in })
    }

    /// Waits, not longer than `limit`, until the server has answered everything sent: it drops what it has not read yet
    /// when it finds the other end closed while it answers. Not from one of libpulse's callbacks.
    func settle(limit: Duration) {
        guard let handle, isReady else { return }
        mainloop.pump(until: mainloop.loop.now + limit) { pa_context_is_pending(handle) == 0 }
    }

    /// No callback comes after this.
    func close() {
        guard let handle else { return }
        self.handle = nil
        onReady = {}
        onLost = { _ in }
        onSubscription = { _ in }
        onRestoreStore = {}
        pa_context_set_state_callback(handle, nil, nil)
        pa_context_set_subscribe_callback(handle, nil, nil)
        pa_ext_stream_restore_set_subscribe_cb(handle, nil, nil)
        abandonRequests()
        pa_context_disconnect(handle)
        pa_context_unref(handle)
    }

    fileprivate func stateChanged() {
        guard let handle else { return }
        switch pa_context_get_state(handle) {
        case PA_CONTEXT_READY: onReady()
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: lose()
        default: break
        }
    }

    private func lose() {
        let report = onLost
        onLost = { _ in }
        report(failure)
    }
}

/// PulseAudio's `PA_INVALID_INDEX`.
let noIndex = UInt32.max

/// Set on our connection and on every stream of ours.
let ownStreamProperty = "sordino.internal"

/// What the server says of one of its objects: that something happened, not what.
struct PulseEvent {
    enum Change { case new, change, remove }

    let facility: pa_subscription_event_type_t
    let change: Change
    let index: UInt32

    fileprivate init(_ type: pa_subscription_event_type_t, _ index: UInt32) {
        facility = pa_subscription_event_type_t(rawValue: type.rawValue & PA_SUBSCRIPTION_EVENT_FACILITY_MASK.rawValue)
        switch type.rawValue & PA_SUBSCRIPTION_EVENT_TYPE_MASK.rawValue {
        case PA_SUBSCRIPTION_EVENT_NEW.rawValue: change = .new
        case PA_SUBSCRIPTION_EVENT_REMOVE.rawValue: change = .remove
        default: change = .change
        }
        self.index = index
    }
}

extension ServerFailure {
    /// From one of libpulse's `PA_ERR_*`.
    init(pulse code: Int32) {
        let text = pa_strerror(code).map { String(cString: $0) } ?? "error \(code)"
        switch UInt32(bitPattern: code) {
        case PA_ERR_ACCESS.rawValue, PA_ERR_AUTHKEY.rawValue: self.init(.accessDenied, text)
        case PA_ERR_NOENTITY.rawValue, PA_ERR_KILLED.rawValue: self.init(.noEntity, text)
        case PA_ERR_CONNECTIONREFUSED.rawValue, PA_ERR_INVALIDSERVER.rawValue, PA_ERR_CONNECTIONTERMINATED.rawValue,
            PA_ERR_TIMEOUT.rawValue, PA_ERR_BADSTATE.rawValue:
            self.init(.unavailable, text)
        default: self.init(.other, text)
        }
    }
}

// MARK: - libpulse's callbacks

/// A reference is held while it is told: what it tells may drop it.
private func told(_ userdata: UnsafeMutableRawPointer?, _ body: (PulseContext) -> Void) {
    guard let userdata else { return }
    let context = Unmanaged<PulseContext>.fromOpaque(userdata).takeUnretainedValue()
    withExtendedLifetime(context) { body(context) }
}

private func contextState(_: OpaquePointer?, _ userdata: UnsafeMutableRawPointer?) {
    told(userdata) { $0.stateChanged() }
}

private func subscriptionEvent(
    _: OpaquePointer?, _ type: pa_subscription_event_type_t, _ index: UInt32, _ userdata: UnsafeMutableRawPointer?
) {
    told(userdata) { $0.onSubscription(PulseEvent(type, index)) }
}

private func restoreStoreEvent(_: OpaquePointer?, _ userdata: UnsafeMutableRawPointer?) {
    told(userdata) { $0.onRestoreStore() }
}
