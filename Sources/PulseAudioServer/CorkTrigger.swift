import AudioPolicy
import CPulse
import EventLoop
import SystemEventLoop

/// Cork requests, which only a module of the server can send: `module-role-cork` under a role of our own, set off by a
/// silent record stream with that role. When we go, whatever way, the stream goes too and the server uncorks.
final class CorkTrigger {
    /// No program's streams have it.
    static let role = "sordino-cork"
    /// Where the server stores the trigger's volume, which nobody needs.
    static let restoreKey = "source-output-by-media-role:\(role)"

    /// Whether this is the module as we load it.
    static func isOurs(_ arguments: String) -> Bool { arguments.contains("trigger_roles=\(role)") }

    /// How long a player may take to follow a request.
    private static let answerTime = Duration.milliseconds(200)

    private enum State {
        case idle
        /// A request to load or unload it is under way, or players are; what comes next is decided after that.
        case busy
        case loaded(module: UInt32, roles: Set<String>, stream: RecordStream?)
    }

    private let context: PulseContext
    private let store: RestoreStore
    private let tracker: GraphTracker
    private let report: (ServerOperation, ServerFailure) -> Void
    private var state = State.idle
    private var wanted: Set<String> = []

    init(
        context: PulseContext, store: RestoreStore, tracker: GraphTracker,
        report: @escaping (ServerOperation, ServerFailure) -> Void
    ) {
        self.context = context
        self.store = store
        self.tracker = tracker
        self.report = report
    }

    /// Roles as the module knows them: `no_role` and `any_role` have its meaning.
    func set(_ roles: Set<String>) {
        guard roles.allSatisfy(isPlain) else {
            report(
                .setCorkedRoles(roles), ServerFailure(.other, "a role has characters that no module argument can have"))
            return
        }
        wanted = roles
        step()
    }

    /// Takes everything away, as far as it has been made.
    func remove() {
        wanted = []
        step()
    }

    /// Takes away what an earlier connection left.
    func clear(_ modules: [UInt32]) {
        guard let module = modules.first else { return }
        state = .busy
        store.delete(Self.restoreKey) { _ in }
        unload(module) { [unowned self] in
            state = .idle
            clear(Array(modules.dropFirst()))
            step()
        }
    }

    private func step() {
        switch state {
        case .busy: break
        case .idle: if !wanted.isEmpty { load(wanted) }
        case .loaded(let module, let roles, let stream): if roles != wanted { unload(module, stream) }
        }
    }

    private func load(_ roles: Set<String>) {
        state = .busy
        let arguments =
            "trigger_roles=\(Self.role) cork_roles=\(roles.sorted().joined(separator: ","))"
            + " global=true use_source_trigger=true"
        context.loadModule("module-role-cork", arguments) { [unowned self] result in
            switch result {
            case .success(let module):
                state = .loaded(module: module, roles: roles, stream: nil)
                if roles == wanted { open(module, roles) }
                step()
            case .failure(let failure):
                // Most often there is one already: the server takes only one.
                state = .idle
                let failed = wanted
                wanted = []
                report(.setCorkedRoles(failed), failure)
            }
        }
    }

    /// The stream comes after the module, which does not look at what is there already.
    private func open(_ module: UInt32, _ roles: Set<String>) {
        // One peak in an hour: it exists, and carries nothing.
        let stream = tracker.quietMonitor.flatMap {
            RecordStream(
                context: context, name: "Pause request", role: Self.role, place: .source($0), rate: 1, fragment: 3600)
        }
        guard let stream else {
            wanted = []
            report(.setCorkedRoles(roles), ServerFailure(.other, "no monitor source to hold the trigger on"))
            return
        }
        stream.onReady = { [unowned self] index in tracker.isOurs(index) }
        stream.onEnded = { [unowned self, unowned stream] failure in
            ended(module, roles, wasReady: stream.isReady, failure)
        }
        state = .loaded(module: module, roles: roles, stream: stream)
    }

    /// Its sink is gone, or it could not be made.
    private func ended(_ module: UInt32, _ roles: Set<String>, wasReady: Bool, _ failure: ServerFailure) {
        state = .loaded(module: module, roles: roles, stream: nil)
        guard context.isReady else { return }
        if wasReady {
            pause { [weak self] in
                self?.state = .loaded(module: module, roles: roles, stream: nil)
                if roles == self?.wanted { self?.open(module, roles) }
            }
        } else {
            wanted = []
            report(.setCorkedRoles(roles), failure)
            step()
        }
    }

    /// The module passes over streams that are still corked, so the players get the time to go on first.
    private func pause(then body: @escaping () -> Void) {
        state = .busy
        context.mainloop.loop.schedule(after: Self.answerTime) { [weak self] in
            body()
            self?.step()
        }
    }

    private func unload(_ module: UInt32, _ stream: RecordStream?) {
        state = .busy
        stream?.close()
        store.delete(Self.restoreKey) { _ in }
        unload(module) { [unowned self] in
            if stream?.isReady == true && !wanted.isEmpty {
                pause { [weak self] in self?.state = .idle }
            } else {
                state = .idle
                step()
            }
        }
    }

    private func unload(_ module: UInt32, then body: @escaping () -> Void) {
        context.acknowledged(
            { pa_context_unload_module($0, module, $1, $2) },
            then: { [unowned self] _ in waitUntilGone(module, then: body) })
    }

    /// The server answers before it unloads, and takes no other module of the same name until then.
    private func waitUntilGone(_ module: UInt32, then body: @escaping () -> Void) {
        var isThere = false
        context.modules(
            module, { _ in isThere = true },
            end: { [unowned self] _ in if isThere { waitUntilGone(module, then: body) } else { body() } })
    }
}

private func isPlain(_ role: String) -> Bool {
    !role.isEmpty && role.utf8.allSatisfy { $0 == 0x2D || $0 == 0x5F || $0 == 0x2E || isAlphanumeric($0) }
}

private func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
}
