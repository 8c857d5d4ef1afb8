import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import EventLoop
import Glibc
import Testing

/// A simulated desktop with two outputs and a microphone, and the daemon running.
struct Desk {
    let session: SimulatedSession
    let speakers: DeviceID
    let headset: DeviceID
    let microphone: DeviceID

    var server: SimulatedServer { session.server }
    var loop: ManualEventLoop { session.loop }

    init(
        _ kind: ServerKind, isFlat: Bool = false, daemon: Bool = true,
        configure: (SimulatedSession) -> Void = { _ in }
    ) {
        session = SimulatedSession(kind)
        (speakers, headset, microphone) = Self.build(session.server, isFlat: isFlat)
        configure(session)
        if daemon {
            session.startDaemon()
            session.pass(.milliseconds(50))
        }
    }

    @discardableResult
    static func build(_ server: SimulatedServer, isFlat: Bool = false) -> (DeviceID, DeviceID, DeviceID) {
        let speakers = server.addDevice("spk", properties: ["device.form_factor": "speaker"], isFlat: isFlat)
        let headset = server.addDevice("hs", properties: ["device.form_factor": "headphone"], isFlat: isFlat)
        let microphone = server.addDevice("mic", .input)
        return (speakers, headset, microphone)
    }

    /// A program of its own plays.
    func play(
        _ role: String?, _ name: String? = nil, on device: DeviceID? = nil, volume: [Double]? = nil,
        isCorked: Bool = false, configure: (inout SimulatedStream) -> Void = { _ in }
    ) -> StreamID {
        let name = name ?? role ?? "player"
        return server.start(
            name, role: role, pid: session.processes.start(name), on: device ?? speakers, volume: volume,
            isCorked: isCorked, configure: configure)
    }

    func record(_ role: String?, _ name: String, on device: DeviceID? = nil) -> StreamID {
        server.start(
            name, role: role, pid: session.processes.start(name), direction: .input, on: device ?? microphone)
    }

    /// A program without a stream that holds a claim, and its process.
    func hold(
        _ kind: AudioSessionClientKind, name: String = "holder", options: ClaimOptions = ClaimOptions()
    ) throws -> (claim: ClaimID, pid: Int32) {
        let pid = session.processes.start(name)
        let owner = ClaimOwner(name: name, pid: pid, connection: ":1.\(pid)")
        let policy = try #require(session.policy)
        return (try policy.core.acquire(kind, output: .system, owner: owner, options: options), pid)
    }

    func settle() { session.settle() }

    /// In decibels relative to what its program plays; −∞ where nothing is heard.
    func heard(_ id: StreamID) -> [Double] { server.heard(id).map { 20 * log10($0) } }

    func isHeard(_ id: StreamID, at decibels: Double) -> Bool {
        heard(id).allSatisfy { abs($0 - decibels) < 0.05 }
    }

    func isSilent(_ id: StreamID) -> Bool { server.heard(id).allSatisfy { $0 == 0 } }

    /// What the operations so far did to one stream.
    func operations(on id: StreamID) -> [ServerOperation] {
        server.operations().filter { operation in
            switch operation {
            case .setVolume(id, _), .setMute(id, _), .setSoftGain(id, _), .clearSoftGain(id), .pause(id), .resume(id),
                .move(id, _), .route(id, _, _), .setHiddenGain(id, _):
                true
            default: false
            }
        }
    }

    /// Nothing is left of Sordino: no line in the ledger, and no soft gain anywhere.
    func expectNoTrace(_ location: SourceLocation = #_sourceLocation) {
        #expect(session.ledger.text.isEmpty, sourceLocation: location)
        #expect(session.status()?.ledger.entries == 0, sourceLocation: location)
        #expect(server.streams.values.allSatisfy { $0.info.softGain == nil }, sourceLocation: location)
        #expect(server.strayOperations.isEmpty, sourceLocation: location)
    }
}

let bothKinds: [ServerKind] = [.pulseaudio, .pipewire]

/// Every effect on this victim is replaced for these holders.
func rule(_ property: String, _ value: String, _ actions: (inout RuleActions) -> Void) -> Rule {
    var chosen = RuleActions()
    actions(&chosen)
    let condition = Rule.Condition(property: property, pattern: value) { $0 == value }
    return Rule(name: "test:1", matches: [[condition]], actions: chosen)
}

extension PolicySettings {
    /// A call pauses music and film.
    static var pausing: PolicySettings {
        var settings = PolicySettings()
        settings.effects.cells[.call]?[.mediaPlayback] = .pause
        return settings
    }

    /// A call mutes music and film.
    static var muting: PolicySettings {
        var settings = PolicySettings()
        settings.effects.cells[.call]?[.mediaPlayback] = .mute
        return settings
    }
}
