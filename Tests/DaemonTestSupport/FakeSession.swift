public import AudioPolicy
public import AudioSession
public import AudioSessionTestHelper

/// A session that says what it is told to say and records what it is asked.
public final class FakeSession: SessionControl {
    public var current: SessionStatus
    public var isEnabled = true
    public var onEvent: ((SessionEvent) -> Void)?
    /// What `reload` throws.
    public var reloadFailure: SessionControlError?
    public private(set) var asked: [String] = []

    public init(_ status: SessionStatus = .everything) {
        current = status
        core.onChange = { [unowned self] state in announce(state) }
    }

    /// What it is told to say, and the claims that it holds itself.
    public func status() -> SessionStatus {
        var status = current
        status.enabled = isEnabled
        status.claims += core.arbiter.entries.map(claim)
        status.session.winner = core.arbiter.winner?.description ?? status.session.winner
        return status
    }

    private func announce(_ state: SessionState) {
        for entry in state.changed {
            onEvent?(SessionEvent(time: 0, event: .standingChanged, claim: claim(entry)))
        }
        for id in state.released { onEvent?(SessionEvent(time: 0, event: .claimReleased, message: id.description)) }
    }

    public func explain(_ stream: String, isConfined: Bool) throws(SessionControlError) -> String {
        asked.append("explain \(stream)" + (isConfined ? " to a sandbox" : ""))
        guard let found = current.streams.first(where: { $0.id == stream }) else {
            throw .unknownStream(stream, known: current.streams.map(\.id))
        }
        return "\(found.application.shown()) is music."
    }

    public func setEnabled(_ enabled: Bool) {
        asked.append("setEnabled \(enabled)")
        isEnabled = enabled
    }

    public func reload() throws(SessionControlError) {
        asked.append("reload")
        if let reloadFailure { throw reloadFailure }
    }

    public func restore() { asked.append("restore") }

    // MARK: Claims

    /// The real arbiter, over a driver that does nothing.
    public let driver = MockAudioSessionDriver()
    public private(set) lazy var core = AudioSessionCore(driver: driver)

    public func claim(_ id: ClaimID) -> SessionStatus.Claim? { core.arbiter[id].map(claim) }

    private func claim(_ entry: SessionState.Entry) -> SessionStatus.Claim {
        .init(
            id: entry.claim.id.description, kind: entry.claim.kind.rawValue, origin: entry.claim.origin.rawValue,
            owner: .init(name: entry.claim.owner.name, pid: entry.claim.owner.pid, sandbox: entry.claim.owner.sandbox),
            output: entry.claim.output.rawValue, standing: entry.standing.rawValue, activated: entry.claim.isActivated,
            counts: entry.claim.counts, streams: [])
    }

    public func route() -> AudioRoute { driver.route() }

    public func selectDevice(_ name: String?) throws(SessionControlError) {
        asked.append("select \(name ?? "automatic")")
        let known = current.devices.map(\.id)
        if let name, !known.contains(name) { throw .unknownDevice(name, known: known) }
    }
}

extension SessionStatus {
    /// A name that would turn a terminal over: colours, a new line, a direction mark, a tab, a NUL, a backslash.
    public static let hostileName = "\u{1B}[31mevil\n\u{202E}gpj.exe\t\u{0}\\n"

    /// A status with something in every field.
    public static let everything = SessionStatus(
        server: Server(kind: "pulseaudio", version: "16.1", connected: true), enabled: true,
        session: Session(state: "active", winner: "c3"),
        claims: [
            Claim(
                id: "c3", kind: "call", origin: "observed", owner: Owner(name: "linphone", pid: 4242, sandbox: nil),
                output: "system", standing: "winner", activated: true, counts: true, streams: ["73"]),
            Claim(
                id: "c4", kind: "groupCall", origin: "explicit",
                owner: Owner(name: hostileName, pid: nil, sandbox: "org.example.Chat"), output: "speaker",
                standing: "unranked", activated: false, counts: false, streams: []),
        ],
        streams: [
            Stream(
                id: "73", direction: "output", application: "linphone", role: "phone", kind: "call",
                classifiedBy: "role",
                plumbing: false, claim: "c3", device: "spk", corked: false, muted: false, baseline: [1],
                overridden: false, effect: nil),
            Stream(
                id: "74", direction: "output", application: "mpv", role: "video", kind: "mediaPlayback",
                classifiedBy: "role", plumbing: false, claim: nil, device: "spk", corked: false, muted: false,
                baseline: [0.064, 1], overridden: false,
                effect: StreamEffect(action: "duck", decibels: -20, because: ["c3"])),
            Stream(
                id: "75", direction: "output", application: hostileName, role: nil, kind: "playback",
                classifiedBy: "rule", plumbing: false, claim: nil, device: nil, corked: true, muted: true,
                baseline: [0.125, 0.125], overridden: true, effect: nil),
            Stream(
                id: "76", direction: "input", application: "", role: nil, kind: nil, classifiedBy: "server",
                plumbing: true, claim: nil, device: "mic", corked: false, muted: false, baseline: [], overridden: false,
                effect: nil),
        ],
        devices: [
            Device(id: "spk", name: "Speakers", type: "speaker", direction: "output", available: true, current: true),
            Device(
                id: "hs", name: "会議 Headset", type: "bluetooth", direction: "output", available: false, current: false),
        ],
        ledger: LedgerSize(entries: 1), warnings: ["module-role-cork is loaded too"])
}
