public import AudioPolicy
import EventLoop
public import SystemEventLoop

/// Finds the sound server that this session is on, and another when it is gone.
///
/// A PulseAudio that is none in disguise comes first, else PipeWire; sockets are waited for without asking again and
/// again. It connects to what is there and starts nothing. Confined to the loop.
public final class ServerFinder {
    /// The server answered. Its events go to `onEvent` from now on.
    public var onConnected: ((any SoundServer, ServerInfo, ServerGraph) -> Void)?
    /// What a connected server says; never `connected` or `lost`.
    public var onEvent: ((SoundServerEvent) -> Void)?
    /// The connected server is gone; another is looked for already.
    public var onLost: ((ServerFailure) -> Void)?
    /// Nothing answers; said once for each reason. The search goes on, unless `waits` is false.
    public var onNone: ((ServerFailure) -> Void)?
    /// The server that was asked for is not what answers, and the search is over.
    public var onRefused: ((ServerFailure) -> Void)?

    private let loop: SystemEventLoop
    private let kinds: [ServerKind]
    private let places: ServerPlaces
    private let waits: Bool
    private let make: (ServerKind) throws -> any SoundServer

    private enum State {
        case idle
        /// Trying the first of the kinds; the others are still to be tried. The failures are those of the ones before.
        case trying(any SoundServer, rest: ArraySlice<ServerKind>, failures: [ServerFailure], timeout: any LoopTimer)
        case connected(any SoundServer)
        case waiting(retry: (any LoopTimer)?)
    }

    private var state = State.idle
    private var watch: SocketWatch?
    /// How long to wait before the next try where a socket is there and nobody answers.
    private var delay = firstDelay
    private var everConnected = false
    private var saidNone: ServerFailure?

    private static let firstDelay = Duration.milliseconds(10)
    /// A socket that answers nobody is a leftover: its renewal is seen, so the tries in between may be rare.
    private static let longestDelay = Duration.seconds(30)
    /// What cannot be seen to appear has to be tried: a server is to be found within 2 s of its return.
    private static let longestUnseenDelay = Duration.seconds(1)
    /// A server that accepts a connection and says nothing.
    private static let patience = Duration.seconds(5)

    /// - Parameters:
    ///   - waits: whether to go on looking where nothing answers.
    ///   - make: makes a server that is not started yet.
    public init(
        loop: SystemEventLoop, choice: PolicySettings.ServerChoice, places: ServerPlaces, waits: Bool = true,
        make: @escaping (ServerKind) throws -> any SoundServer
    ) {
        self.loop = loop
        self.places = places
        self.waits = waits
        self.make = make
        kinds =
            switch choice {
            case .auto: [.pulseaudio, .pipewire]
            case .pulseaudio: [.pulseaudio]
            case .pipewire: [.pipewire]
            }
    }

    public func start() { search() }

    /// Ends the search and the connection.
    public func stop() {
        watch = nil
        let old = state
        state = .idle
        switch old {
        case .trying(let server, _, _, let timeout):
            timeout.cancel()
            drop(server)
        case .connected(let server): drop(server)
        case .waiting(let retry): retry?.cancel()
        case .idle: break
        }
    }

    // MARK: Searching

    private func search() {
        if waits, watch == nil {
            watch = SocketWatch(loop: loop, paths: places.sockets(of: kinds)) { [unowned self] in
                self.socketsChanged()
            }
        }
        tryNext(of: kinds[...], failures: [])
    }

    private func tryNext(of kinds: ArraySlice<ServerKind>, failures: [ServerFailure]) {
        var rest = kinds
        var failures = failures
        while let kind = rest.popFirst() {
            switch places.presence(of: kind) {
            case .possible: break
            case .absent: continue
            case .forbidden(let path):
                failures.append(ServerFailure(.accessDenied, "\(kind.shownName)'s socket \(path) is not for this user"))
                continue
            }
            // It need not be asked then, nor its library be loaded.
            if kind == .pulseaudio, rest.contains(.pipewire), places.isPulseAudioInDisguise {
                failures.append(ServerFailure(.wrongServer, "PipeWire answers for PulseAudio, and not for itself"))
                continue
            }
            do {
                let server = try make(kind)
                return attempt(server, rest: rest, failures: failures)
            } catch {
                failures.append(ServerFailure(.other, "\(error)"))
            }
        }
        nothingAnswers(failures)
    }

    private func attempt(_ server: any SoundServer, rest: ArraySlice<ServerKind>, failures: [ServerFailure]) {
        let timeout = loop.schedule(after: Self.patience) { [weak self, unowned server] in
            self?.failed(server, ServerFailure(.unavailable, "\(server.kind.shownName) does not answer"))
        }
        state = .trying(server, rest: rest, failures: failures, timeout: timeout)
        server.onEvent = { [weak self, unowned server] event in self?.received(event, from: server) }
        server.start()
    }

    private func received(_ event: SoundServerEvent, from server: any SoundServer) {
        switch (state, event) {
        case (.trying(let current, _, _, let timeout), .connected(let info, let graph)) where current === server:
            timeout.cancel()
            watch = nil
            delay = Self.firstDelay
            everConnected = true
            saidNone = nil
            state = .connected(server)
            onConnected?(server, info, graph)
        case (.trying, .lost(let failure)): failed(server, failure)
        case (.connected(let current), .lost(let failure)) where current === server:
            state = .idle
            drop(server)
            onLost?(failure)
            // Not before what is running has returned: the owner may want to stop.
            if case .idle = state { retry(after: .zero) }
        case (.connected(let current), _) where current === server: onEvent?(event)
        default: break
        }
    }

    private func failed(_ server: any SoundServer, _ failure: ServerFailure) {
        guard case .trying(let current, let rest, let failures, let timeout) = state, current === server else { return }
        timeout.cancel()
        state = .idle
        drop(server)
        if failure.code == .wrongServer, kinds.count == 1, !everConnected {
            watch = nil
            return onRefused?(failure) ?? ()
        }
        tryNext(of: rest, failures: failures + [failure])
    }

    /// Closes a connection. It may be inside of one of its callbacks: the last reference goes later.
    private func drop(_ server: any SoundServer) {
        server.onEvent = nil
        server.stop()
        loop.schedule(after: .zero) { withExtendedLifetime(server) {} }
    }

    // MARK: Waiting

    private func nothingAnswers(_ failures: [ServerFailure]) {
        let failure = worst(failures)
        if saidNone != failure {
            saidNone = failure
            state = .waiting(retry: nil)
            onNone?(failure)
            guard case .waiting = state else { return }
        }
        guard waits else {
            state = .idle
            return
        }
        // Without a socket there is nothing to try until one appears.
        guard kinds.contains(where: { places.presence(of: $0) != .absent }) else {
            state = .waiting(retry: nil)
            return
        }
        retry(after: delay)
        delay = min(delay * 2, places.hasUnseen(kinds) ? Self.longestUnseenDelay : Self.longestDelay)
    }

    private func retry(after delay: Duration) {
        state = .waiting(retry: loop.schedule(after: delay) { [weak self] in self?.search() })
    }

    private func socketsChanged() {
        delay = Self.firstDelay
        guard case .waiting(let retry) = state else { return }
        retry?.cancel()
        search()
    }

    /// The failure to tell of: a server that shuts us out before one that is another kind, before none at all.
    private func worst(_ failures: [ServerFailure]) -> ServerFailure {
        failures.first { $0.code == .accessDenied } ?? failures.first { $0.code == .wrongServer }
            ?? failures.first { $0.code == .other }
            ?? ServerFailure(
                .unavailable,
                kinds.count == 1 ? "\(kinds[0].shownName) does not answer" : "neither PulseAudio nor PipeWire answers")
    }
}
