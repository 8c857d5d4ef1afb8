import AudioSession
import AudioSessionTestHelper
import EventLoop
import Glibc

@testable import AudioPolicy

/// A long random life of a desktop, lived twice: once with Sordino, and once without. What users and programs do is done
/// to both; what they find at the end must be the same.
final class RandomRun {
    let seed: UInt64
    let kind: ServerKind
    private(set) var faults: [String] = []

    private var random: SplitMix
    private let session: SimulatedSession
    /// The same desktop without Sordino.
    private let shadow: SimulatedServer
    private var real: SimulatedServer { session.server }
    private var outputs: [DeviceID] = []
    private var microphone: DeviceID
    private var pids: [String: Int32] = [:]
    private var claims: [ClaimID] = []
    /// The processes of claims whose holders have any, and the claims with advanced ducking.
    private var owners: [ClaimID: Int32] = [:]
    private var advanced: Set<ClaimID> = []
    private var isOff = false
    private var daemonReturns: LoopInstant?
    private var connectedSince: LoopInstant?
    /// Streams that somebody has just touched: what was under way may still arrive.
    private var grace: [StreamID: LoopInstant] = [:]
    /// Keys of the store for which more than one value can be said to be its user's.
    private var contested: Set<String> = []
    /// Values that users and programs have chosen, by key, and the last of them.
    private var chosen: [String: [[Double]]] = [:]
    private var lastMute: [String: Bool] = [:]
    /// What a stream had before its user did something that nobody has seen yet.
    private var volumesBefore: [StreamID: [Double]] = [:]
    private var mutesBefore: [StreamID: Bool] = [:]
    private var actions = 0
    /// What was done, to which stream if to one.
    private var keys: [StreamID: String] = [:]
    private var trail: [(at: LoopInstant, text: String, stream: StreamID?)] = []

    init(_ kind: ServerKind, seed: UInt64) {
        self.kind = kind
        self.seed = seed
        random = SplitMix(seed)
        session = SimulatedSession(kind)
        shadow = SimulatedServer(kind, loop: session.loop)
        microphone = DeviceID(.input, 0)
        let latencies = SplitMixBox(seed &+ 1)
        session.server.latency = { .microseconds(Int.random(in: 100...6000, using: &latencies.generator)) }
        if kind == .pipewire, Bool.random(using: &random) {
            session.server.operationDelay = { .microseconds(Int.random(in: 0...9000, using: &latencies.generator)) }
        }
        session.settings = settings()
        session.server.onOvertaken = { [unowned self] id, what in overtaken(id, what) }
        build()
        session.startDaemon()
    }

    private func settings() -> PolicySettings {
        var settings: PolicySettings
        switch Int.random(in: 0..<4, using: &random) {
        case 0: settings = .pausing
        case 1: settings = .muting
        default: settings = PolicySettings()
        }
        if Int.random(in: 0..<3, using: &random) == 0 { settings.scope = .everywhere }
        if Int.random(in: 0..<3, using: &random) == 0 { settings.observedRecordingRefusal = .mute }
        if Int.random(in: 0..<4, using: &random) == 0 {
            settings.timing.attack = .zero
            settings.timing.hold = .zero
            settings.timing.fadeDown = .zero
        }
        settings.timing.silence = [
            .voice: .seconds(3), .speech: .seconds(1), .alarm: .seconds(2), .advanced: .milliseconds(700),
        ]
        return settings
    }

    private func build() {
        outputs = []
        for server in [real, shadow] {
            let a = server.addDevice("spk", properties: ["device.form_factor": "speaker"])
            let b = server.addDevice("hs", properties: ["device.form_factor": "headphone"])
            microphone = server.addDevice("mic", .input)
            outputs = [a, b]
        }
    }

    /// Lives so many steps, lets everything end, and looks.
    func live(_ steps: Int) {
        for _ in 0..<steps where faults.isEmpty {
            act()
            passSomeTime()
        }
        if faults.isEmpty { end() }
    }

    // MARK: Steps

    private func act() {
        actions += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: startSomething()
        case 22..<36: withStream { stop($0) }
        case 36..<50: withStream { setVolume($0) }
        case 50..<60: withStream { toggleMute($0) }
        case 60..<70: withStream { toggleCork($0) }
        case 70..<76: withStream { move($0) }
        case 76..<84: withStream { setLoudness($0) }
        case 84..<86: changeDefault()
        case 86..<90: acquire()
        case 90..<93: release()
        case 93: setDucking()
        case 94: switchOnOrOff()
        case 95..<97: killDaemon()
        case 97: if Int.random(in: 0..<4, using: &random) == 0 { restartServer() }
        default: withStream { touch($0) }
        }
    }

    private func note(_ text: String, _ stream: StreamID? = nil) { trail.append((session.loop.now, text, stream)) }

    private func withStream(_ body: (StreamID) -> Void) {
        if let id = real.streams.keys.sorted().randomElement(using: &random) { body(id) }
    }

    private func passSomeTime() {
        let spans = [0, 1, 3, 10, 25, 60, 150, 400, 800, 2500]
        var left = spans.randomElement(using: &random) ?? 0
        while left > 0 {
            let slice = min(left, 20)
            session.pass(.milliseconds(slice))
            left -= slice
            if let returns = daemonReturns, returns <= session.loop.now {
                daemonReturns = nil
                note("the daemon starts")
                session.startDaemon()
            }
            check()
        }
    }

    private func startSomething() {
        let roles = ["music", "music", "video", "game", "event", "a11y", "phone", "phone", nil, nil]
        let role = roles.randomElement(using: &random) ?? nil
        let isInput = role != "a11y" && Int.random(in: 0..<6, using: &random) == 0
        let name = "\(role ?? "player")\(Int.random(in: 0..<3, using: &random))"
        guard real.streams.count < 12 else { return }
        let pid = pids[name] ?? session.processes.start(name)
        pids[name] = pid
        let key = real.restoreKey(name, role, isInput ? .input : .output)
        let stored = real.store[key]
        // A store whose user's value is disputed gives no baseline that could be compared.
        let isAnybodys = (chosen[key] ?? []).contains { isSame($0, stored?.volume ?? []) } || contested.contains(key)
        let isDisputed = isAnybodys && !isSame(stored, shadow.store[key])
        var volume: [Double]? = Bool.random(using: &random) ? randomVolume() : nil
        if isDisputed { volume = randomVolume() }
        if let volume { chosen[key, default: []].append(real.quantised(volume)) }
        let device = isInput ? microphone : outputs.randomElement(using: &random)
        let isCorked = Int.random(in: 0..<5, using: &random) == 0
        let isPassthrough = Int.random(in: 0..<15, using: &random) == 0
        let obeys = Bool.random(using: &random)
        var ids: [StreamID] = []
        for server in [real, shadow] {
            ids.append(
                server.start(
                    name, role: role, pid: pid, direction: isInput ? .input : .output, on: device, volume: volume,
                    isMuted: isDisputed ? false : nil, isCorked: isCorked
                ) {
                    if isPassthrough { $0.setPassthrough() }
                    $0.obeysCorkRequests = obeys
                })
        }
        note(
            "starts: \(name), \(key), volume \(real[ids[0]]?.volume ?? []) on \(device?.serial ?? 0) corked \(isCorked)",
            ids[0])
        keys[ids[0]] = key
        if ids[0] != ids[1] { fault("the two desktops have come apart: \(ids)") }
        chosen[key, default: []].append(shadow[ids[1]]?.volume ?? [])
        touched(ids[0])
    }

    private func randomVolume() -> [Double] {
        (0..<2).map { _ in Double(Int.random(in: 3_000...65_536, using: &random)) / 65_536 }.map { $0 * $0 * $0 }
    }

    private func stop(_ id: StreamID) {
        note("stops", id)
        for server in [real, shadow] { server.stop(id) }
    }

    private func setVolume(_ id: StreamID) {
        let volume = randomVolume()
        note("user sets \(volume)", id)
        if real.streams[id]?.hasUnseenVolume == false { volumesBefore[id] = shadow[id]?.volume }
        for server in [real, shadow] { server.setVolume(id, volume) }
        if let key = real[id]?.restoreKey {
            chosen[key, default: []].append(real.quantised(volume))
            if !isWatched { contested.insert(key) }
        }
        touched(id)
    }

    private func toggleMute(_ id: StreamID) {
        guard let isMuted = real[id]?.isMuted else { return }
        // Whether a mute is ours or its user's once more, nobody can tell who was not there.
        if !isMuted, !isWatched { return }
        // Nor of an unmute that was taken back before anybody looked.
        if real.streams[id]?.hasUnseenMute == true { return }
        note("user sets mute \(!isMuted)", id)
        if real.streams[id]?.hasUnseenMute == false { mutesBefore[id] = shadow[id]?.isMuted }
        for server in [real, shadow] { server.setMute(id, !isMuted) }
        if let key = real[id]?.restoreKey {
            lastMute[key] = !isMuted
            if !isWatched { contested.insert(key) }
        }
        touched(id)
    }

    private func toggleCork(_ id: StreamID) {
        guard let isCorked = real[id]?.isCorked else { return }
        note("program corks \(!isCorked)", id)
        for server in [real, shadow] { server.cork(id, !isCorked) }
        touched(id)
    }

    private func move(_ id: StreamID) {
        // The server's module forgets a stream that moves, and what that leaves cannot be undone from outside.
        guard id.direction == .output, !real.askedToPause.contains(id),
            let device = outputs.randomElement(using: &random)
        else { return }
        note("user moves it to \(device.serial)", id)
        for server in [real, shadow] { server.move(id, to: device) }
        touched(id)
    }

    private func setLoudness(_ id: StreamID) {
        let loudness = Bool.random(using: &random) ? 0.7 : 0
        note(id.direction == .output ? "plays at \(loudness)" : "there is \(loudness) in the microphone", id)
        for server in [real, shadow] {
            if id.direction == .output {
                server.setLoudness(id, loudness)
            } else {
                server.setSound(in: microphone, loudness)
            }
        }
    }

    /// An event of the stream that is about nothing that matters.
    private func touch(_ id: StreamID) {
        for server in [real, shadow] { server.setProperty(id, "media.title", "\(actions)") }
    }

    private func changeDefault() {
        guard real.askedToPause.isEmpty, let device = outputs.randomElement(using: &random) else { return }
        note("the default is \(device.serial)")
        for server in [real, shadow] { server.setDefault(device) }
    }

    private func acquire() {
        let kinds: [AudioSessionClientKind] = [.call, .groupCall, .recording, .speech, .alarm, .playback]
        guard let policy = session.policy, let kind = kinds.randomElement(using: &random) else { return }
        let program = Bool.random(using: &random) ? pids.sorted { $0.key < $1.key }.randomElement(using: &random) : nil
        let owner = ClaimOwner(name: program?.key ?? "holder", pid: program?.value)
        let ducking = AudioSessionDucking(isAdvanced: Bool.random(using: &random))
        note("\(owner.name) acquires \(kind), advanced \(ducking.isAdvanced)")
        guard let id = try? policy.core.acquire(kind, owner: owner, options: ClaimOptions(ducking: ducking)) else {
            return
        }
        claims.append(id)
        owners[id] = program?.value
        if ducking.isAdvanced { advanced.insert(id) }
    }

    private func setDucking() {
        guard let id = claims.randomElement(using: &random) else { return }
        let isAdvanced = Bool.random(using: &random)
        note("\(id) is advanced \(isAdvanced)")
        session.policy?.core.setDucking(id, AudioSessionDucking(isAdvanced: isAdvanced))
        if isAdvanced { advanced.insert(id) } else { advanced.remove(id) }
    }

    private func release() {
        guard let index = claims.indices.randomElement(using: &random) else { return }
        note("a program releases \(claims[index])")
        session.policy?.core.release(claims.remove(at: index))
    }

    private func switchOnOrOff() {
        isOff.toggle()
        note(isOff ? "off" : "on")
        session.policy?.setEnabled(!isOff)
    }

    private func killDaemon() {
        guard session.policy != nil else { return }
        note("the daemon is killed")
        // Which streams the server goes on storing is known to nobody any more, but for those not put back yet.
        contested.formUnion(keys.values)
        session.killDaemon()
        claims = []
        advanced = []
        isOff = false
        connectedSince = nil
        daemonReturns = session.loop.now + .milliseconds(Int.random(in: 0...3000, using: &random))
    }

    private func restartServer() {
        note("the server restarts")
        connectedSince = nil
        outputs = []
        for server in [real, shadow] {
            server.restart { server in
                let a = server.addDevice("spk", properties: ["device.form_factor": "speaker"])
                let b = server.addDevice("hs", properties: ["device.form_factor": "headphone"])
                microphone = server.addDevice("mic", .input)
                outputs = [a, b]
            }
        }
        grace = [:]
    }

    // MARK: What may be said

    /// Whether the daemon sees what happens.
    private var isWatched: Bool { connectedSince.map { $0 + .milliseconds(150) <= session.loop.now } ?? false }

    private func touched(_ id: StreamID) {
        grace[id] = session.loop.now + .milliseconds(80)
    }

    /// A write of Sordino's replaced a user's that nobody could have seen: without it the stream would be as before.
    private func overtaken(_ id: StreamID, _ what: SimulatedServer.Overtaken) {
        if what != .stored { note("what its user did was overtaken", id) }
        switch what {
        case .volume: shadow.revert(id, volume: volumesBefore[id])
        case .mute: shadow.revert(id, isMuted: mutesBefore[id])
        case .stored: break
        }
        if let key = real[id]?.restoreKey { contested.insert(key) }
    }

    private func isSame(_ a: RestoreEntry?, _ b: RestoreEntry?) -> Bool {
        isSame(a?.volume ?? [], b?.volume ?? []) && a?.isMuted ?? false == b?.isMuted ?? false
    }

    private func isSame(_ a: [Double], _ b: [Double]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { abs($0 - $1) < 1e-4 }
    }

    private var driver: SoundServerDriver? { session.policy?.driver }

    // MARK: Invariants

    private func check() {
        if session.policy?.driver.isConnected == true {
            if connectedSince == nil { connectedSince = session.loop.now }
        } else {
            connectedSince = nil
        }
        if let stray = real.strayOperations.first { fault("an operation on a stream known to be gone: \(stray)") }
        guard isWatched else { return }
        checkMicrophoneMeters()
        for (id, state) in real.streams where (grace[id] ?? LoopInstant(nanoseconds: 0)) < session.loop.now {
            guard let own = shadow.streams[id] else { continue }
            let isLouder = zip(state.heard, own.heard).contains { $0 > $1 * 1.0001 + 1e-6 }
            if isLouder { fault("\(id) is louder than its user left it: \(state.heard) over \(own.heard)", id) }
            if own.info.isMuted, !state.heard.allSatisfy({ $0 == 0 }) {
                fault("\(id) is muted by its user, and audible", id)
            }
            if kind == .pulseaudio, driver?.reconciler?.isOverridden(id) == true,
                !isSame(state.info.volume, own.info.volume),
                (grace[id] ?? LoopInstant(nanoseconds: 0)) + .milliseconds(700) < session.loop.now
            {
                fault("\(id) is overridden at \(state.info.volume) and its user left it at \(own.info.volume)", id)
            }
        }
    }

    /// A microphone is listened to for those who hold a claim with advanced ducking, and while they use it.
    private func checkMicrophoneMeters() {
        let listeners = Set(claims.filter(advanced.contains).compactMap { owners[$0] }.map(String.init))
        for id in session.connection?.meters ?? [] where id.direction == .input {
            guard (grace[id] ?? LoopInstant(nanoseconds: 0)) < session.loop.now else { continue }
            let stream = real[id]
            let isUsed = stream?.isCorked == false && stream?.isMuted == false
            let isHolders = listeners.contains(stream?.properties["application.process.id"] ?? "")
            if stream != nil, !isUsed || !isHolders || isOff { fault("\(id) is metered for nobody", id) }
        }
    }

    private func end() {
        if session.policy == nil {
            note("the daemon starts")
            session.startDaemon()
        }
        daemonReturns = nil
        session.policy?.setEnabled(true)
        for id in claims { session.policy?.core.release(id) }
        note("everything that counts ends")
        for (id, state) in real.streams.sorted(by: { $0.key < $1.key }) {
            let role = state.info.properties["media.role"]
            if role == "phone" || role == "a11y" || id.direction == .input { stop(id) }
        }
        session.pass(.seconds(6))
        compare("at the end")
        // The server stores what it is told of each stream at its next event, whatever that is about.
        for id in real.streams.keys.sorted() { touch(id) }
        session.pass(.seconds(2))
        compare("after one more event of each stream")
        checkWrites()
    }

    private func compare(_ when: String) {
        for (id, state) in real.streams.sorted(by: { $0.key < $1.key }) {
            guard let own = shadow.streams[id]?.info else { continue }
            if !isSame(state.info.volume, own.volume) {
                fault("\(when) \(id) has \(state.info.volume) and its user left it at \(own.volume)", id)
            }
            if state.info.isMuted != own.isMuted { fault("\(when) \(id): mute is \(state.info.isMuted)", id) }
            if state.info.isCorked != own.isCorked { fault("\(when) \(id): corked is \(state.info.isCorked)", id) }
            if state.info.softGain != nil { fault("\(when) \(id) has a soft gain", id) }
            if !isSame(state.heard, shadow.heard(id)) { fault("\(when) \(id) is heard at \(state.heard)", id) }
        }
        for key in Set(real.store.keys).union(shadow.store.keys).sorted() { compareStored(key, when) }
        if !session.ledger.text.isEmpty { fault("\(when) the ledger has\n\(session.ledger.text)") }
    }

    private func compareStored(_ key: String, _ when: String) {
        let found = real.store[key]
        let own = shadow.store[key]
        if isSame(found, own) { return }
        // Who has set several streams of one key has said several things.
        let values = chosen[key] ?? []
        let isVolumeChosen =
            isSame(found?.volume ?? [], own?.volume ?? [])
            || (contested.contains(key)
                ? found?.volume.isEmpty ?? true || values.contains { isSame($0, found?.volume ?? []) } : false)
            || values.last.map { isSame($0, found?.volume ?? []) } ?? false
        let isMuteChosen =
            found?.isMuted ?? false == own?.isMuted ?? false || contested.contains(key)
            || lastMute[key] == found?.isMuted
        if !isVolumeChosen {
            fault("\(when) \(key) has \(found?.volume ?? []) in the store, and not \(own?.volume ?? [])", key: key)
        }
        if !isMuteChosen { fault("\(when) \(key) has mute \(found?.isMuted ?? false) in the store", key: key) }
    }

    private func checkWrites() {
        var perSecond: [String: Int] = [:]
        for (time, operation) in real.log {
            guard let id = operation.stream else { continue }
            perSecond["\(id.direction)\(id.serial)@\(time.nanoseconds / 1_000_000_000)", default: 0] += 1
        }
        if let worst = perSecond.max(by: { $0.value < $1.value }), worst.value > 90 {
            fault("\(worst.value) operations in one second: \(worst.key)")
        }
    }

    private static let operationsShown = getenv("SORDINO_SEED") == nil ? 40 : 4000

    private func fault(_ text: String, _ id: StreamID? = nil, key: String? = nil) {
        guard faults.count < 5 else { return }
        let key = key ?? id.flatMap { real[$0]?.restoreKey }
        var lines = Array(
            trail.filter { $0.stream == nil || $0.stream == id || key == keys[$0.stream ?? .init(.output, 0)] }
                .map { ($0.at, "\($0.stream.map { "\($0.direction) \($0)" } ?? ""): \($0.text)") }.suffix(80))
        lines += real.log.filter { operation in
            if let stream = operation.operation.stream { return stream == id || key == keys[stream] }
            if case .writeRestoreEntry(let entry) = operation.operation { return entry.key == key }
            if case .deleteRestoreEntry(let deleted) = operation.operation { return deleted == key }
            if case .setCorkedRoles = operation.operation { return true }
            return false
        }.map { ($0.at, "    \($0.operation)") }.suffix(Self.operationsShown)
        let story = lines.sorted { $0.0 < $1.0 }.map { "\($0.0.nanoseconds / 1000) µs \($0.1)" }
        faults.append("\(text)\n  seed \(seed) \(kind) step \(actions)\n  " + story.joined(separator: "\n  "))
    }
}

final class SplitMixBox {
    var generator: SplitMix
    init(_ seed: UInt64) { generator = SplitMix(seed) }
}
