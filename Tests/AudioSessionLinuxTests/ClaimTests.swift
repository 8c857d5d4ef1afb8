import AudioSession
import AudioSessionTestHelper
import DaemonTestSupport
import Testing

/// What holding a claim means, with the same results whatever the manager is over.
@Suite struct ClaimTests {
    // MARK: Acquiring

    @Test(arguments: Stage.allCases)
    func `With no claims the session is passive`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            #expect(try await scene.winner() == nil)
            let claim = try await scene.manager.acquire(.mediaPlayback)
            #expect(try await scene.winner() == Asked("mediaPlayback"))
            await scene.manager.release(claim)
            #expect(try await scene.winner() == nil)
        }
    }

    @Test(arguments: Stage.allCases)
    func `Ambient is below the playback kinds, they are below recording, and all are below the calls`(
        stage: Stage
    ) async throws {
        let ranks: [[AudioSessionClientKind]] = [
            [.ambient], [.playback, .mediaPlayback, .game, .speech], [.recording], [.call, .groupCall],
        ]
        try await onStage(stage) { scene in
            for (low, high) in zip(ranks, ranks.dropFirst()) {
                for (a, b) in [(low.first, high.last), (low.last, high.first)] {
                    let (a, b) = (try #require(a), try #require(b))
                    // The higher one wins, whichever comes first; a recording that comes second is refused by a call.
                    let first = try await scene.manager.acquire(a)
                    let second = try await scene.manager.acquire(b)
                    #expect(try await scene.winner()?.kind == b.rawValue)
                    await scene.manager.release(first)
                    if a != .recording { _ = try await scene.manager.acquire(a) }
                    #expect(try await scene.winner()?.kind == b.rawValue)
                    await scene.manager.release(second)
                }
            }
        }
    }

    @Test(arguments: Stage.allCases)
    func `Among the playback kinds the most recent claim wins, and the former one again when it is released`(
        stage: Stage
    ) async throws {
        try await onStage(stage) { scene in
            var claims: [AudioSessionClaim] = []
            for kind in [AudioSessionClientKind.playback, .mediaPlayback, .game, .speech, .playback] {
                claims.append(try await scene.manager.acquire(kind))
                #expect(try await scene.winner()?.kind == kind.rawValue)
            }
            while let claim = claims.popLast() {
                await scene.manager.release(claim)
                #expect(try await scene.winner()?.kind == claims.last?.kind.rawValue)
            }
        }
    }

    @Test(arguments: Stage.allCases)
    func `A claim of lower priority is granted during a call, as a subordinate`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            _ = try await scene.manager.acquire(.call)
            for kind in AudioSessionClientKind.allCases where kind != .recording && !kind.isCall {
                let claim = try await scene.manager.acquire(kind)
                #expect(try await scene.winner()?.kind == "call")
                await scene.manager.release(claim)
            }
        }
    }

    @Test(arguments: Stage.allCases, [AudioSessionClientKind.call, .groupCall])
    func `Recording is refused while a call is held, and then only`(
        stage: Stage, call: AudioSessionClientKind
    ) async throws {
        try await onStage(stage) { scene in
            let holder = try await scene.manager.acquire(call)
            await #expect(throws: AudioSessionError.busyWithCall) { try await scene.manager.acquire(.recording) }
            await scene.manager.release(holder)
            let recording = try await scene.manager.acquire(.recording)
            #expect(try await scene.winner()?.kind == "recording")
            // One that is held when a call begins keeps its claim.
            let next = try await scene.manager.acquire(call)
            #expect(try await scene.winner()?.kind == call.rawValue)
            await scene.manager.release(next)
            #expect(try await scene.winner()?.kind == "recording")
            await scene.manager.release(recording)
        }
    }

    @Test(arguments: Stage.seeingOthers)
    func `Recording is refused while a call of somebody's who holds no claim counts`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let call = try await scene.observedCall()
            await #expect(throws: AudioSessionError.busyWithCall) { try await scene.manager.acquire(.recording) }
            let playback = try await scene.manager.acquire(.playback)
            #expect(try await scene.winner()?.kind == "call")
            await scene.manager.release(playback)
            try await scene.end(call)
            _ = try await scene.manager.acquire(.recording)
        }
    }

    @Test(arguments: Stage.withDaemon)
    func `Recording is refused while another program holds a call`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let phone = try #require(scene.house?.program("phone"))
            let call = try await phone.acquire(.groupCall)
            await #expect(throws: AudioSessionError.busyWithCall) { try await scene.manager.acquire(.recording) }
            #expect(await scene.manager.diagnostics().contains("won by phone (groupCall)"))
            await phone.release(call)
            _ = try await scene.manager.acquire(.recording)
        }
    }

    @Test(arguments: Stage.allCases)
    func `An alarm is neither winner nor subordinate, and subordinates nobody`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let alarm = try await scene.manager.acquire(.alarm)
            #expect(try await scene.winner() == nil)
            let music = try await scene.manager.acquire(.mediaPlayback)
            let heard = await Heard(scene.manager, music)
            let second = try await scene.manager.acquire(.alarm)
            #expect(try await scene.winner()?.kind == "mediaPlayback")
            for claim in [alarm, second, music] { await scene.manager.release(claim) }
            await heard.finishes()
            #expect(heard.events == [])
        }
    }

    // MARK: Outputs

    @Test(arguments: Stage.allCases, AudioSessionOutput.allCases)
    func `An output can be named at acquire`(stage: Stage, output: AudioSessionOutput) async throws {
        try await onStage(stage) { scene in
            _ = try await scene.manager.acquire(.groupCall, output: output)
            #expect(try await scene.winner() == Asked("groupCall", output.rawValue))
        }
    }

    @Test func `An output that is named at acquire costs one apply, acquire and update cost two`() async throws {
        try await onStage(.mockDriver) { scene in
            let driver = try #require(scene.driver)
            let call = try await scene.manager.acquire(.call, output: .speaker)
            #expect(driver.applied.count == 1 && driver.winner?.output == .speaker)
            await scene.manager.update(call, output: .speaker)
            #expect(driver.applied.count == 1)
            await scene.manager.release(call)
            let before = driver.applied.count
            let other = try await scene.manager.acquire(.call)
            await scene.manager.update(other, output: .speaker)
            #expect(driver.applied.count == before + 2 && driver.winner?.output == .speaker)
        }
    }

    @Test(arguments: Stage.allCases)
    func `The winner's update takes effect at once`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let claim = try await scene.manager.acquire(.playback)
            #expect(try await scene.winner() == Asked("playback", "system"))
            await scene.manager.update(claim, output: .receiver)
            #expect(try await scene.winner() == Asked("playback", "receiver"))
        }
    }

    @Test(arguments: Stage.allCases)
    func `A subordinate's update is remembered and takes effect when it becomes the winner`(
        stage: Stage
    ) async throws {
        try await onStage(stage) { scene in
            let playback = try await scene.manager.acquire(.playback)
            let call = try await scene.manager.acquire(.groupCall, output: .speaker)
            await scene.manager.update(playback, output: .receiver)
            #expect(try await scene.winner() == Asked("groupCall", "speaker"))
            await scene.manager.release(call)
            #expect(try await scene.winner() == Asked("playback", "receiver"))
        }
    }

    // MARK: Releasing

    @Test(arguments: Stage.allCases)
    func `Releasing what is unknown or released already does nothing`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let other = try await strangersClaim()
            let first = try await scene.manager.acquire(.playback)
            let second = try await scene.manager.acquire(.mediaPlayback)
            await scene.manager.release(other)
            #expect(try await scene.winner()?.kind == "mediaPlayback")
            await scene.manager.release(second)
            await scene.manager.release(second)
            await scene.manager.update(second, output: .speaker)
            #expect(try await scene.winner() == Asked("playback", "system"))
            await scene.manager.release(first)
            await scene.manager.release(first)
            #expect(try await scene.winner() == nil)
        }
    }

    /// A claim of another manager's, with a number that the manager under test has not given yet.
    private func strangersClaim() async throws -> AudioSessionClaim {
        try await onStage(.mockDriver) { scene in
            for _ in 0..<8 { _ = try await scene.manager.acquire(.ambient) }
            return try await scene.manager.acquire(.mediaPlayback)
        }
    }

    @Test(arguments: Stage.allCases)
    func `A claim is a value: its copy is as good, and dropping it releases nothing`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            var claim: AudioSessionClaim? = try await scene.manager.acquire(.playback)
            let copy = try #require(claim)
            #expect(Set([claim, copy]).count == 1)
            claim = nil
            #expect(try await scene.winner()?.kind == "playback")
            await scene.manager.release(copy)
            #expect(try await scene.winner() == nil)
        }
    }

    @Test(arguments: Stage.withDaemon)
    func `The claims of a program end with its manager`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let house = try #require(scene.house)
            do {
                let program = house.program("short-lived")
                _ = try await program.acquire(.groupCall)
                #expect(try await scene.winner()?.kind == "groupCall")
            }
            try await expect("the claim has ended") { try await scene.winner() == nil }
        }
    }

    // MARK: Calls

    @Test(arguments: Stage.allCases)
    func `A call is prepared by its acquisition, activated and deactivated by its holder, and released at its end`(
        stage: Stage
    ) async throws {
        try await onStage(stage) { scene in
            let call = try await scene.manager.configureCall()
            #expect(try await scene.winner() == Asked("call", "system", false))
            await #expect(throws: AudioSessionError.busyWithCall) { try await scene.manager.acquire(.recording) }
            await scene.manager.activate(call)
            #expect(try await scene.winner() == Asked("call", "system", true))
            await scene.manager.deactivate(call)
            #expect(try await scene.winner() == Asked("call", "system", false))
            let heard = await Heard(scene.manager, call)
            await scene.manager.releaseCall()
            await heard.finishes()
            #expect(try await scene.winner() == nil)
        }
    }

    @Test(arguments: Stage.allCases)
    func `Every kind but a call activates by itself`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            for kind in AudioSessionClientKind.allCases where kind != .call && kind != .alarm {
                let claim = try await scene.manager.acquire(kind)
                await scene.manager.deactivate(claim)
                #expect(try await scene.winner() == Asked(kind.rawValue))
                await scene.manager.release(claim)
            }
        }
    }
}
