import Testing

@testable import AudioSession

private let nobody = ClaimOwner(name: "test")

private func observed(
    _ owner: String, _ kind: AudioSessionClientKind, counts: Bool = true
) -> ObservedClaim {
    ObservedClaim(key: .init(owner: owner, kind: kind), owner: ClaimOwner(name: owner), counts: counts)
}

extension Arbiter {
    fileprivate mutating func grant(
        _ kind: AudioSessionClientKind, output: AudioSessionOutput = .system
    ) throws -> (id: ClaimID, outcome: Outcome) {
        let (id, outcome) = try acquire(kind, output: output, owner: nobody)
        return (id, outcome)
    }

    fileprivate func standing(_ id: ClaimID) -> ClaimStanding? { self[id]?.standing }
}

struct ArbiterTests {
    @Test func `with no claims the session is passive`() throws {
        var arbiter = Arbiter()
        #expect(arbiter.winner == nil && arbiter.isEmpty)
        let claim = try arbiter.grant(.playback)
        let outcome = arbiter.release(claim.id)
        #expect(outcome.state == SessionState(winner: nil, changed: [], released: [claim.id]))
        #expect(arbiter.isEmpty)
    }

    @Test(arguments: [
        (AudioSessionClientKind.ambient, AudioSessionClientKind.playback), (.playback, .recording),
        (.mediaPlayback, .recording), (.speech, .recording), (.game, .recording), (.recording, .call),
        (.recording, .groupCall), (.ambient, .call),
    ])
    func `a higher rank wins whichever came first`(low: AudioSessionClientKind, high: AudioSessionClientKind) throws {
        var arbiter = Arbiter()
        let first = try arbiter.grant(low)
        let second = try arbiter.grant(high)
        #expect(arbiter.winner == second.id && arbiter.standing(first.id) == .subordinate)
        var other = Arbiter()
        let newer = try other.grant(high)
        if low != .recording {
            let older = try other.grant(low)
            #expect(other.winner == newer.id && other.standing(older.id) == .subordinate)
        }
    }

    @Test func `among the playback kinds the most recent claim wins, and the former one again when it is released`()
        throws
    {
        let kinds: [AudioSessionClientKind] = [.playback, .mediaPlayback, .game, .speech]
        var arbiter = Arbiter()
        var ids: [ClaimID] = []
        for kind in kinds {
            ids.append(try arbiter.grant(kind).id)
            #expect(arbiter.winner == ids.last)
        }
        while let id = ids.popLast() {
            _ = arbiter.release(id)
            #expect(arbiter.winner == ids.last)
        }
    }

    @Test(arguments: [AudioSessionClientKind.call, .groupCall])
    func `recording is refused while a call holds a claim, and only then`(call: AudioSessionClientKind) throws {
        var arbiter = Arbiter()
        let holder = try arbiter.grant(call)
        #expect(throws: AudioSessionError.busyWithCall) { try arbiter.acquire(.recording, owner: nobody) }
        #expect(arbiter.entries.count == 1)
        _ = arbiter.release(holder.id)
        let recording = try arbiter.grant(.recording)
        #expect(arbiter.winner == recording.id)
    }

    @Test(arguments: AudioSessionClientKind.allCases.filter { $0 != .recording })
    func `every other kind is granted during a call`(kind: AudioSessionClientKind) throws {
        var arbiter = Arbiter()
        _ = try arbiter.grant(.call)
        let claim = try arbiter.grant(kind)
        #expect(arbiter[claim.id] != nil)
    }

    @Test func `a recording that is held when a call begins keeps its claim as a subordinate`() throws {
        var arbiter = Arbiter()
        let recording = try arbiter.grant(.recording)
        let call = try arbiter.grant(.call)
        #expect(arbiter.standing(recording.id) == .subordinate)
        #expect(call.outcome.events == [.init(claim: recording.id, event: .subordinated)])
    }

    @Test func `subordinated goes to the one claim that was the winner and is still held`() throws {
        var arbiter = Arbiter()
        let first = try arbiter.grant(.playback)
        #expect(first.outcome.events.isEmpty)
        let second = try arbiter.grant(.mediaPlayback)
        #expect(second.outcome.events == [.init(claim: first.id, event: .subordinated)])
        // A newcomer that does not win subordinates nobody.
        #expect(try arbiter.grant(.ambient).outcome.events.isEmpty)
        // Nor does the end of the winner: it is held no more.
        #expect(arbiter.release(second.id).events.isEmpty)
        #expect(arbiter.winner == first.id)
    }

    @Test func `an output named at acquire costs one apply, and no change costs none`() throws {
        var arbiter = Arbiter()
        let call = try arbiter.grant(.call, output: .speaker)
        let entry = try #require(call.outcome.state?.changed.first)
        #expect(call.outcome.state?.changed.count == 1 && entry.claim.output == .speaker)
        #expect(arbiter.update(call.id, output: .speaker).state == nil)
        #expect(arbiter.update(call.id, output: .receiver).state?.changed.first?.claim.output == .receiver)
        #expect(arbiter.setActivated(call.id, false).state == nil)
        #expect(arbiter.setActivated(call.id, true).state?.changed.first?.claim.isActivated == true)
    }

    @Test func `an update of a subordinate is recorded and takes effect when it becomes the winner`() throws {
        var arbiter = Arbiter()
        let music = try arbiter.grant(.mediaPlayback)
        let call = try arbiter.grant(.call)
        #expect(arbiter.update(music.id, output: .receiver).state == nil)
        let outcome = arbiter.release(call.id)
        #expect(outcome.state?.changed.first { $0.claim.id == music.id }?.claim.output == .receiver)
        #expect(outcome.state?.winner == music.id)
    }

    @Test func `releasing what is unknown or released already does nothing`() throws {
        var arbiter = Arbiter()
        let claim = try arbiter.grant(.speech)
        _ = arbiter.release(claim.id)
        #expect(arbiter.release(claim.id) == .init(state: nil, events: []))
        #expect(arbiter.release(ClaimID(number: 99)) == .init(state: nil, events: []))
        #expect(arbiter.update(claim.id, output: .speaker) == .init(state: nil, events: []))
        #expect(try arbiter.grant(.speech).id != claim.id)
    }

    @Test func `a one to one call is held without being active, every other kind activates by itself`() throws {
        var arbiter = Arbiter()
        for kind in AudioSessionClientKind.allCases where kind != .recording {
            let claim = try arbiter.grant(kind)
            #expect(arbiter[claim.id]?.claim.isActivated == (kind != .call))
        }
    }

    @Test func `an alarm takes no part in the contest`() throws {
        var arbiter = Arbiter()
        let alarm = try arbiter.grant(.alarm)
        #expect(arbiter.winner == nil && arbiter.standing(alarm.id) == .unranked)
        let ambient = try arbiter.grant(.ambient)
        #expect(ambient.outcome.events.isEmpty && arbiter.winner == ambient.id)
        let second = try arbiter.grant(.alarm)
        #expect(second.outcome.events.isEmpty && arbiter.winner == ambient.id)
        #expect(try arbiter.grant(.recording).id == arbiter.winner)
    }

    // MARK: Observed claims

    @Test func `an observed claim outranks an explicit one only by a higher rank, never by being newer`() throws {
        var arbiter = Arbiter()
        let playback = try arbiter.grant(.playback)
        let beep = arbiter.observe(changed: [observed("browser", .mediaPlayback)], gone: [])
        #expect(arbiter.winner == playback.id && beep.events.isEmpty)
        let call = arbiter.observe(changed: [observed("mumble", .groupCall)], gone: [])
        #expect(arbiter.winner != playback.id)
        #expect(call.events == [.init(claim: playback.id, event: .subordinated)])
    }

    @Test func `an explicit claim takes the place of an observed one of its rank, however new that is`() throws {
        var arbiter = Arbiter()
        _ = arbiter.observe(changed: [observed("a", .call)], gone: [])
        let explicit = try arbiter.grant(.groupCall)
        _ = arbiter.observe(changed: [observed("b", .call)], gone: [])
        #expect(arbiter.winner == explicit.id)
    }

    @Test func `an observed claim that does not count outranks, refuses and subordinates nobody`() throws {
        var arbiter = Arbiter()
        let playback = try arbiter.grant(.playback)
        _ = arbiter.observe(changed: [observed("mumble", .groupCall, counts: false)], gone: [])
        let id = try #require(arbiter.entries.last?.claim.id)
        #expect(arbiter.winner == playback.id && arbiter.standing(id) == .unranked)
        let recording = try arbiter.grant(.recording)
        let heard = arbiter.observe(changed: [observed("mumble", .groupCall)], gone: [])
        #expect(arbiter.winner == id && heard.events == [.init(claim: recording.id, event: .subordinated)])
        #expect(throws: AudioSessionError.busyWithCall) { try arbiter.acquire(.recording, owner: nobody) }
        _ = arbiter.observe(changed: [observed("mumble", .groupCall, counts: false)], gone: [])
        #expect(arbiter.winner == recording.id)
        _ = arbiter.observe(changed: [], gone: [.init(owner: "mumble", kind: .groupCall)])
        #expect(arbiter[id] == nil)
    }

    @Test func `an observed claim that has not changed is told to nobody`() {
        var arbiter = Arbiter()
        #expect(arbiter.observe(changed: [observed("a", .call)], gone: []).state != nil)
        #expect(arbiter.observe(changed: [observed("a", .call)], gone: []).state == nil)
        #expect(arbiter.observe(changed: [], gone: [.init(owner: "b", kind: .call)]).state == nil)
    }

    // MARK: The whole

    @Test func `random requests agree with a plain model`() throws {
        var random = SystemRandomNumberGenerator()
        let seed = random.next()
        var generator = SplitMix(seed)
        var arbiter = Arbiter()
        var model: [(claim: Claim, observed: ObservedClaim.Key?)] = []
        func expected() -> ClaimID? {
            model.filter { $0.claim.counts && $0.claim.kind.traits.rank != nil }.max { a, b in
                let x = (a.claim.kind.traits.rank ?? 0, a.claim.origin == .explicit ? 1 : 0, a.claim.id.number)
                return x < (b.claim.kind.traits.rank ?? 0, b.claim.origin == .explicit ? 1 : 0, b.claim.id.number)
            }?.claim.id
        }
        for _ in 0..<1500 {
            let kind = try #require(AudioSessionClientKind.allCases.randomElement(using: &generator))
            switch model.count > 30 ? 2 : Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let isBusy = model.contains { $0.claim.kind.isCall && $0.claim.counts }
                guard kind != .recording || !isBusy else {
                    #expect(throws: AudioSessionError.busyWithCall) { try arbiter.acquire(kind, owner: nobody) }
                    continue
                }
                let claim = try arbiter.grant(kind)
                model.append((Claim(id: claim.id, kind: kind, origin: .explicit, owner: nobody), nil))
            case 2:
                guard let index = model.indices.randomElement(using: &generator) else { continue }
                if let key = model[index].observed {
                    _ = arbiter.observe(changed: [], gone: [key])
                } else {
                    _ = arbiter.release(model[index].claim.id)
                }
                model.remove(at: index)
            default:
                let owner = "o\(Int.random(in: 0..<4, using: &generator))"
                let claim = observed(owner, kind, counts: Bool.random(using: &generator))
                let outcome = arbiter.observe(changed: [claim], gone: [])
                if let index = model.firstIndex(where: { $0.observed == claim.key }) {
                    model[index].claim.counts = claim.counts
                } else {
                    let id = try #require(outcome.state?.changed.first { $0.observed == claim.key }?.claim.id)
                    model.append(
                        (
                            Claim(id: id, kind: kind, origin: .observed, owner: claim.owner, counts: claim.counts),
                            claim.key
                        ))
                }
            }
            #expect(arbiter.winner == expected(), "seed \(seed)")
            #expect(arbiter.entries.count == model.count, "seed \(seed)")
            let winners = arbiter.entries.filter { $0.standing == .winner }
            #expect(winners.map(\.claim.id) == [arbiter.winner].compactMap { $0 }, "seed \(seed)")
        }
    }
}

/// A generator whose sequence its seed decides.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
