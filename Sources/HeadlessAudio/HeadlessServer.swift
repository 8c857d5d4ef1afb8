import Glibc
import Synchronization

/// A private sound server with its bus, null sinks and sources, apart from everything of the machine's own.
///
/// Any number may run at a time, and any thread may call. All of it ends with `stop`, when the value is dropped, and
/// when the process that started it ends in any way.
public final class HeadlessServer: Sendable {
    /// The processes that make up a server.
    public enum Part: String, CaseIterable, Sendable {
        case bus = "dbus-daemon"
        /// PulseAudio or PipeWire itself.
        case server
        /// WirePlumber.
        case sessionManager = "wireplumber"
        /// pipewire-pulse.
        case pulse = "pipewire-pulse"
    }

    public let options: HeadlessOptions
    /// The variables that lead a program to this server and away from the machine's; the same for either kind.
    public let variables: [String: String]
    /// `variables` over those of this process.
    public let environment: [String: String]
    let surroundings: Surroundings
    private let supervisor: Supervisor
    private let state: Mutex<State>

    private struct State {
        var kind: HeadlessServerKind
        var parts: [Part: SupervisedProcess] = [:]
    }

    /// Starts a server and returns when it can be used: its sinks and sources exist, and on PipeWire the session
    /// manager has made the first of each the default.
    public static func start(_ options: HeadlessOptions) throws(HeadlessError) -> HeadlessServer {
        let server = try HeadlessServer(options)
        do {
            try server.begin()
        } catch {
            server.stop()
            throw error
        }
        return server
    }

    private init(_ options: HeadlessOptions) throws(HeadlessError) {
        try options.check()
        self.options = options
        supervisor = try Supervisor(prefix: "sordino-headless")
        surroundings = Surroundings(root: supervisor.directory)
        variables = surroundings.variables(bus: options.bus)
        environment = Surroundings.merged(variables, over: inheritedEnvironment())
        state = Mutex(State(kind: options.server))
    }

    /// Not left to the supervisor's own end: a process that somebody still holds keeps it.
    deinit { stop() }

    /// Ends every process, and removes the directory; returns when that is done.
    public func stop() { supervisor.finish() }

    // MARK: What there is

    /// PulseAudio or PipeWire.
    public var kind: HeadlessServerKind { state.withLock { $0.kind } }
    /// Everything of this server's own is in here.
    public var directory: String { surroundings.root }
    /// `XDG_RUNTIME_DIR`
    public var runtimeDirectory: String { surroundings.runtime }

    /// `nil` if that part was never started.
    public func process(_ part: Part) -> SupervisedProcess? { state.withLock { $0.parts[part] } }
    public func processID(_ part: Part) -> Int32? { process(part)?.id }
    /// The processes of the server that run now.
    public var processIDs: [Int32] {
        state.withLock { state in state.parts.values.filter(\.isRunning).map(\.id) }
    }

    /// What a part has said, the last 4 KiB of it.
    public func log(_ part: Part) -> String { tail(surroundings.log(name(part))) }

    private func name(_ part: Part) -> String { part == .server ? kind.rawValue : part.rawValue }

    // MARK: Programs in it

    /// Starts a program beside the server; it ends with it. Its output goes to the file `log/NAME.log` in the directory
    /// unless descriptors are given.
    public func spawn(
        _ command: [String], environment more: [String: String] = [:], standard: Supervisor.Standard? = nil,
        group: Int32 = 0
    ) throws(HeadlessError) -> SupervisedProcess {
        let merged = more.isEmpty ? environment : environment.merging(more) { $1 }
        if let standard { return try supervisor.spawn(command, environment: merged, standard: standard, group: group) }
        let name = command.first?.split(separator: "/").last.map(String.init) ?? "command"
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let output = open(surroundings.log(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer {
            close(input)
            close(output)
        }
        guard output >= 0 else { throw HeadlessError("\(surroundings.log(name)): \(errorText(errno))") }
        return try supervisor.spawn(
            command, environment: merged, standard: .init(input: input, output: output, error: output), group: group)
    }

    // MARK: Faults

    /// SIGKILL to one part; returns when it is gone.
    public func kill(_ part: Part) { process(part)?.kill() }

    /// SIGKILL to PulseAudio or PipeWire.
    public func killServer() { kill(.server) }
    public func killSessionManager() { kill(.sessionManager) }

    /// Ends what is left of the server and starts it again in the same place, also as the other kind.
    public func restartServer(as kind: HeadlessServerKind? = nil) throws(HeadlessError) {
        endServer()
        if let kind { state.withLock { $0.kind = kind } }
        try startServer(deadline: now() + options.deadline)
    }

    /// Ends PulseAudio, or PipeWire and what belongs to it, in good order.
    public func endServer() {
        for part in [Part.pulse, .sessionManager, .server] { process(part)?.end() }
    }

    /// Starts WirePlumber again and waits for the defaults.
    public func restartSessionManager() throws(HeadlessError) {
        process(.sessionManager)?.end()
        try startSessionManager(deadline: now() + options.deadline)
    }

    // MARK: Starting

    private func begin() throws(HeadlessError) {
        let deadline = now() + options.deadline
        try surroundings.create()
        try writeFile(surroundings.file("client.conf"), PulseAudioConfiguration.client)
        try writeFile(surroundings.file("daemon.conf"), PulseAudioConfiguration(self).daemon)
        if options.bus {
            try writeFile(surroundings.file("bus.conf"), surroundings.busConfiguration)
            try run(.bus, ["dbus-daemon", "--nofork", "--nopidfile", "--config-file=" + surroundings.file("bus.conf")])
        }
        if options.startsServer { try startServer(deadline: deadline) }
        if options.bus { try waitFor(surroundings.busSocket, of: .bus, deadline) }
    }

    private func startServer(deadline: Duration) throws(HeadlessError) {
        switch kind {
        case .pulseaudio: try startPulseAudio(deadline: deadline)
        case .pipewire: try startPipeWire(deadline: deadline)
        }
    }

    private func startPulseAudio(deadline: Duration) throws(HeadlessError) {
        let configuration = PulseAudioConfiguration(self)
        try writeFile(surroundings.file("pulseaudio.pa"), configuration.script)
        try run(.server, configuration.arguments())
        try waitFor(surroundings.pulseSocket, of: .server, deadline)
        // PulseAudio goes on without a module that it cannot load, `.fail` or not.
        if log(.server).contains("] module.c: Failed to") { throw failure(.server, "lacks a module") }
    }

    private func startPipeWire(deadline: Duration) throws(HeadlessError) {
        let configuration = PipeWireConfiguration(self)
        try writeFile(surroundings.file("pipewire.conf"), configuration.server)
        try run(.server, ["pipewire", "-c", surroundings.file("pipewire.conf")])
        try waitFor(surroundings.pipeWireSocket, of: .server, deadline)
        if options.pulse {
            try writeFile(surroundings.file("pipewire-pulse.conf"), configuration.pulse)
            try run(.pulse, ["pipewire-pulse", "-c", surroundings.file("pipewire-pulse.conf")])
        }
        if options.sessionManager { try startSessionManager(deadline: deadline) }
        if options.pulse { try waitFor(surroundings.pulseSocket, of: .pulse, deadline) }
    }

    private func startSessionManager(deadline: Duration) throws(HeadlessError) {
        if options.bus { try waitFor(surroundings.busSocket, of: .bus, deadline) }
        let watch = try DefaultsWatch.start(self)
        let directory = try WirePlumberDirectory(surroundings).prepare()
        try run(.sessionManager, ["wireplumber"], environment: ["WIREPLUMBER_CONFIG_DIR": directory])
        guard let manager = process(.sessionManager) else { return }
        guard watch.wait(sink: options.sinks.first?.name, source: options.sources.first?.name, manager, deadline)
        else { throw failure(.sessionManager, "has set no default") }
    }

    private func run(_ part: Part, _ command: [String], environment: [String: String] = [:]) throws(HeadlessError) {
        let process = try spawn(command, environment: environment)
        state.withLock { $0.parts[part] = process }
    }

    /// Waits until a part's socket accepts.
    private func waitFor(_ socket: String, of part: Part, _ deadline: Duration) throws(HeadlessError) {
        guard let process = process(part) else { return }
        while !accepts(socket) {
            // Nothing tells when a socket begins to listen, so it is tried; the process's end is told at once.
            if process.wait(timeout: .milliseconds(1)) != nil { throw failure(part, "has ended") }
            if now() > deadline { throw failure(part, "does not accept") }
        }
    }

    private func failure(_ part: Part, _ what: String) -> HeadlessError {
        HeadlessError("the private \(name(part)) \(what): \(log(part))")
    }
}

extension PulseAudioConfiguration {
    init(_ server: HeadlessServer) { self.init(options: server.options, surroundings: server.surroundings) }
}

extension PipeWireConfiguration {
    init(_ server: HeadlessServer) { self.init(options: server.options, surroundings: server.surroundings) }
}
