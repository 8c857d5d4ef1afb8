import Glibc
public import HeadlessAudio
import Synchronization

/// Runs a body with a private server, which ends with it. At most so many run at a time in this process as the machine
/// bears; the others wait without holding a thread.
public func withServer<Result>(
    _ options: HeadlessOptions, _ body: (HeadlessServer) async throws -> Result
) async throws -> Result {
    let slot = await ServerSlot.take()
    defer { withExtendedLifetime(slot) {} }
    let server = try await onThread { try HeadlessServer.start(options) }
    defer { server.stop() }
    return try await body(server)
}

/// Of a kind, with the usual devices.
public func withServer<Result>(
    _ kind: HeadlessServerKind, _ body: (HeadlessServer) async throws -> Result
) async throws -> Result {
    try await withServer(HeadlessOptions(server: kind), body)
}

/// A place for one private server among those that the machine bears at a time; given back when it is dropped.
public final class ServerSlot: Sendable {
    private init() {}

    /// Waits for a free place without holding a thread.
    public static func take() async -> ServerSlot {
        await slots.take()
        return ServerSlot()
    }

    deinit { slots.give() }
}

/// Four, or two for each processor.
private let slots = Slots(max(4, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

private final class Slots: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
