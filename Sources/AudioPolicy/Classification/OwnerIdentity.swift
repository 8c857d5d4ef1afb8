/// All that is known and believed of whose a stream (or a claim) is.
struct OwnerIdentity: Equatable {
    /// By the sound server or the system, never by the program.
    var sandbox: ProcessFacts.Sandbox?
    /// The application's own cgroup leaf.
    var applicationUnit: String?
    var process: ProcessFacts?
    /// Every ancestor of the process, nearest first.
    var ancestors: [Int32] = []
    /// Those among them that may be the same program's: not beyond a terminal, desktop, service manager or the shell that
    /// leads a session.
    var family: [Int32] = []
    /// The topmost process of the same executable.
    var root: Int32?
    /// File names of the process and its ancestors, nearest first, up to whatever starts all kinds of programs.
    var lineage: String?
    /// What the processes of a sound tool share that one program has started as its voice: parent, tool, and a name that
    /// is not the tool's own; for streams without a role.
    var siblings: String?

    static let unknown = OwnerIdentity()

    /// Whose it is, where that can be said without knowing who else is there; `nil`: by the process tree, or unknown.
    var certainKey: String? {
        if let sandbox {
            return sandbox.instance.isEmpty
                ? "sandbox:\(sandbox.application)" : "sandbox:\(sandbox.application)/\(sandbox.instance)"
        }
        return applicationUnit.map { "unit:\($0)" }
    }

    /// Whether both belong to one program, by the first that is known on both sides: sandbox, application unit, process
    /// tree.
    func isSameOwner(as other: OwnerIdentity) -> Bool {
        if sandbox != nil, other.sandbox != nil { return certainKey == other.certainKey }
        if sandbox == nil, other.sandbox == nil, let a = applicationUnit, let b = other.applicationUnit {
            return a == b
        }
        guard let root, let process, let otherRoot = other.root, let otherProcess = other.process else { return false }
        if process.pid == otherProcess.pid || root == otherRoot { return true }
        return other.family.contains(root) || family.contains(otherRoot)
    }

    /// Whether a claim held by this process covers `other`: it is the same owner's, or a descendant of the holder, through
    /// whatever shells.
    func covers(_ other: OwnerIdentity) -> Bool {
        if let process, other.process?.pid == process.pid || other.ancestors.contains(process.pid) { return true }
        return isSameOwner(as: other)
    }
}

/// Climbs process trees, and remembers what it found for as long as the process at the bottom stays the same.
final class OwnerResolver {
    private let processes: any ProcessInspector
    private var known: [Int32: OwnerIdentity] = [:]
    private static let mostKnown = 512
    private static let greatestDepth = 64
    /// Clocks of processes are counted in ticks; a process that starts and connects at once is not taken for younger.
    private static let tickTolerance = 0.1

    init(_ processes: any ProcessInspector) { self.processes = processes }

    var now: Double { processes.now }

    /// Believes `pid` only where the system confirms it: a process of ours, older than the stream, running the executable
    /// that the stream names. `binary`: `nil` where the server itself vouches for the pid.
    func process(_ pid: Int32, binary: String?, before firstSeen: Double) -> ProcessFacts? {
        if let facts = processes.facts(of: pid), isBelievable(facts, binary, firstSeen) { return facts }
        guard let binary, let facts = processes.process(namespaced: pid, executable: binary),
            isBelievable(facts, binary, firstSeen)
        else { return nil }
        return facts
    }

    private func isBelievable(_ facts: ProcessFacts, _ binary: String?, _ firstSeen: Double) -> Bool {
        guard facts.userID == processes.userID, facts.started <= firstSeen + Self.tickTolerance else { return false }
        guard let binary else { return true }
        // The kernel keeps 15 bytes of a short name.
        return facts.executable.isEmpty
            ? String(decoding: binary.utf8.prefix(15), as: UTF8.self) == facts.name
            : ProcessFamily.fileName(of: facts) == binary
    }

    /// The identity of a process that is believed.
    func identity(of process: ProcessFacts, sandbox: ProcessFacts.Sandbox? = nil) -> OwnerIdentity {
        var identity: OwnerIdentity
        if let earlier = known[process.pid], earlier.process == process {
            identity = earlier
        } else {
            identity = climb(from: process)
            if known.count >= Self.mostKnown { known.removeAll() }
            known[process.pid] = identity
        }
        identity.sandbox = sandbox ?? process.sandbox
        return identity
    }

    private func climb(from process: ProcessFacts) -> OwnerIdentity {
        var identity = OwnerIdentity(process: process, root: process.pid)
        identity.applicationUnit = process.applicationUnit
        let climbs = !ProcessFamily.isInterpreter(process) && !process.executable.isEmpty
        var isFamily = true
        var lineage = [ProcessFamily.programName(of: process)]
        for ancestor in ancestors(of: process) {
            identity.ancestors.append(ancestor.pid)
            let runsAnother = ProcessFamily.runsAnother(ancestor)
            if isBoundary(ancestor, runsAnother, of: process) {
                isFamily = false
                // A terminal's unit is shared by all that was started in it by hand.
                if sharesUnit(ancestor, identity) { identity.applicationUnit = nil }
            }
            if isFamily { lineage.append(ProcessFamily.programName(of: ancestor)) }
            guard isFamily, !runsAnother else { continue }
            identity.family.append(ancestor.pid)
            let leadsSession = ancestor.sessionID == ancestor.pid
            if climbs, !leadsSession, ancestor.executable == process.executable { identity.root = ancestor.pid }
        }
        identity.lineage = lineage.joined(separator: " ")
        return identity
    }

    private func ancestors(of process: ProcessFacts) -> [ProcessFacts] {
        var found: [ProcessFacts] = []
        var next = process.parent
        while next > 1, found.count < Self.greatestDepth, let ancestor = processes.facts(of: next) {
            found.append(ancestor)
            next = ancestor.parent
        }
        return found
    }

    /// Whether what is above is other programs'.
    private func isBoundary(_ ancestor: ProcessFacts, _ runsAnother: Bool, of process: ProcessFacts) -> Bool {
        if ancestor.userID != process.userID || ProcessFamily.startsOthers(ancestor) { return true }
        return runsAnother && ancestor.sessionID == ancestor.pid
    }

    /// Whether a terminal (or its session's shell, below another process of the unit) is in the same unit. The shell of a
    /// service's own start script is the unit's first process.
    private func sharesUnit(_ ancestor: ProcessFacts, _ identity: OwnerIdentity) -> Bool {
        guard let unit = identity.applicationUnit, ancestor.applicationUnit == unit else { return false }
        return !ProcessFamily.runsAnother(ancestor) || processes.facts(of: ancestor.parent)?.applicationUnit == unit
    }

    /// The identity of a claim's holder, whose pid the bus vouches for.
    func identity(ofHolder pid: Int32?, sandbox: ProcessFacts.Sandbox?) -> OwnerIdentity {
        guard let pid, let facts = processes.facts(of: pid) else { return OwnerIdentity(sandbox: sandbox) }
        return identity(of: facts, sandbox: sandbox)
    }

    /// Finds out about a client before it has a stream, so that its first stream waits for less.
    func prepare(for client: [String: String], kind: ServerKind) {
        _ = identity(of: StreamProperties(stream: [:], client: client), kind: kind, firstSeen: now)
    }

    /// What a stream and its client say of their process, as far as it may be believed on this kind of server.
    func identity(of properties: StreamProperties, kind: ServerKind, firstSeen: Double) -> OwnerIdentity {
        let sandbox = Self.sandbox(properties, kind)
        guard let process = process(of: properties, kind: kind, firstSeen: firstSeen) else {
            return OwnerIdentity(sandbox: sandbox)
        }
        var identity = identity(of: process, sandbox: sandbox)
        identity.siblings = Self.siblings(process, properties)
        return identity
    }

    private static func siblings(_ process: ProcessFacts, _ properties: StreamProperties) -> String? {
        let tool = ProcessFamily.fileName(of: process)
        guard process.parent > 1, ProcessFamily.soundTools.contains(tool), properties.own("media.role") == nil,
            let name = properties["application.name"], name != process.name, name != tool
        else { return nil }
        return "siblings:\(process.parent)/\(tool)/\(name)"
    }

    private func process(of properties: StreamProperties, kind: ServerKind, firstSeen: Double) -> ProcessFacts? {
        if kind == .pipewire, properties["client.api"] != "pipewire-pulse",
            let pid = StreamProperties(stream: [:], client: properties.client).processID("pipewire.sec.pid")
        {
            return process(pid, binary: nil, before: firstSeen)
        }
        // The server's own pid of a Pulse client on PipeWire is pipewire-pulse's, and a pid from another machine is none.
        if let peer = properties["native-protocol.peer"], !peer.hasPrefix("UNIX") { return nil }
        guard let pid = properties.processID("application.process.id"),
            let binary = properties["application.process.binary"]
        else { return nil }
        return process(pid, binary: binary, before: firstSeen)
    }

    /// Keys that PipeWire and its portal set and that no client can: their names begin with `pipewire.`.
    private static func sandbox(_ properties: StreamProperties, _ kind: ServerKind) -> ProcessFacts.Sandbox? {
        guard kind == .pipewire else { return nil }
        func first(_ names: String...) -> String? {
            for name in names { if let value = properties.client[name], !value.isEmpty { return value } }
            return nil
        }
        guard let application = first("pipewire.sec.app-id", "pipewire.access.portal.app_id") else { return nil }
        return ProcessFacts.Sandbox(
            application: application,
            instance: first("pipewire.sec.instance-id", "pipewire.access.portal.instance_id") ?? "")
    }
}
