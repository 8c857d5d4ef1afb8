import AudioSession
import AudioSessionTestHelper
import DaemonTestSupport
import Glibc
import HeadlessAudio
import SoundRig
import Testing

/// What holders are told, with the same results whatever the manager is over.
@Suite struct EventTests {
    // MARK: The stream

    @Test(arguments: Stage.allCases)
    func `What happens from the acquisition on is kept until the holder listens`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let playback = try await scene.manager.acquire(.playback)
            _ = try await scene.manager.acquire(.groupCall)
            await Heard(scene.manager, playback).hears(.subordinated)
        }
    }

    @Test(arguments: Stage.allCases)
    func `Release finishes the events, also those that nobody has listened to yet`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let claim = try await scene.manager.acquire(.playback)
            let heard = await Heard(scene.manager, claim)
            #expect(!heard.isFinished)
            await scene.manager.release(claim)
            await heard.finishes()
            await Heard(scene.manager, claim).finishes()
            #expect(heard.events == [])
        }
    }

    @Test(arguments: Stage.allCases)
    func `A second listener ends the first, and hears what happens from then on`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let playback = try await scene.manager.acquire(.playback)
            let first = await Heard(scene.manager, playback)
            let call = try await scene.manager.acquire(.groupCall)
            await first.hears(.subordinated)
            let second = await Heard(scene.manager, playback)
            await first.finishes()
            await scene.manager.release(call)
            _ = try await scene.manager.acquire(.groupCall)
            await second.hears(.subordinated)
            await first.hears(.subordinated)
        }
    }

    // MARK: Subordination

    @Test(arguments: Stage.allCases)
    func `Subordinated is told to the one claim that was the winner and is still held`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            var claims: [AudioSessionClaim] = []
            var heard: [Heard] = []
            for kind in [AudioSessionClientKind.ambient, .playback, .mediaPlayback, .recording, .groupCall] {
                claims.append(try await scene.manager.acquire(kind))
                heard.append(await Heard(scene.manager, claims[claims.count - 1]))
                // Each newcomer takes the session from the one before it, and from no other.
                for former in heard.dropLast() { await former.hears(.subordinated) }
            }
            // A newcomer that does not win takes it from nobody; nor does one that goes.
            let late = try await scene.manager.acquire(.speech)
            await scene.manager.release(claims[4])
            await scene.manager.release(claims[3])
            #expect(try await scene.winner()?.kind == "speech")
            await scene.manager.release(late)
            #expect(try await scene.winner()?.kind == "mediaPlayback")
            // What the daemon has said until here has come before its answer.
            _ = await scene.manager.currentRoute()
            for former in heard.prefix(3) { #expect(former.events == [.subordinated]) }
        }
    }

    @Test(arguments: Stage.seeingOthers)
    func `A call of somebody's who holds no claim subordinates the winner`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let recording = try await scene.manager.acquire(.recording)
            let heard = await Heard(scene.manager, recording)
            let call = try await scene.observedCall()
            await heard.hears(.subordinated)
            try await scene.end(call)
            #expect(try await scene.winner()?.kind == "recording")
        }
    }

    // MARK: Interruptions

    @Test(arguments: Stage.allCases)
    func `The loss of the sound server interrupts every claim, and its return ends that`(stage: Stage) async throws {
        try await onStage(stage, alone: true) { scene in
            // Both are there: who is interrupted had something to lose.
            try await expect("a route") { await !scene.manager.currentRoute().outputs.isEmpty }
            let playback = await Heard(scene.manager, try await scene.manager.acquire(.playback))
            let recording = await Heard(scene.manager, try await scene.manager.acquire(.recording))
            await playback.hears(.subordinated)
            try await scene.loseServer()
            await playback.hears(.subordinated, .interrupted)
            await recording.hears(.interrupted)
            try await scene.returnServer()
            await playback.hears(.subordinated, .interrupted, .interruptionEnded(shouldResume: true))
            await recording.hears(.interrupted, .interruptionEnded(shouldResume: true))
            #expect(try await scene.winner()?.kind == "recording")
        }
    }

    @Test func `The winner is applied again before the end of an interruption is told`() throws {
        let (core, driver, told) = desk()
        _ = try core.acquire(.groupCall, output: .speaker, owner: ClaimOwner(name: "test"))
        core.receive(.interrupted)
        core.receive(.interruptionEnded(shouldResume: true))
        #expect(
            told.value == [.init(.interrupted, applied: 1), .init(.interruptionEnded(shouldResume: true), applied: 2)])
        #expect(driver.applied.last?.changed.first?.claim.output == .speaker)
    }

    @Test(arguments: Stage.withDaemon)
    func `A call that another program activates interrupts a voice room, which goes on at its end`(
        stage: Stage
    ) async throws {
        try await onStage(stage) { scene in
            let house = try #require(scene.house)
            let room = await Heard(scene.manager, try await scene.manager.acquire(.groupCall))
            let phone = try LineProcess([product("sordino"), "hold", "call"], in: house.server)
            await room.hears(.subordinated, .interrupted)
            phone.process.signal(SIGTERM)
            await room.hears(.subordinated, .interrupted, .interruptionEnded(shouldResume: true))
            #expect(try await scene.winner()?.kind == "groupCall")
        }
    }

    // MARK: The route

    @Test(arguments: Stage.allCases)
    func `A route that moves is told to every claim, and is the current one then`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            try await expect("sound comes out of the speakers") {
                await scene.manager.currentRoute().outputs == [.builtInSpeaker]
            }
            let winner = await Heard(scene.manager, try await scene.manager.acquire(.playback))
            let other = await Heard(scene.manager, try await scene.manager.acquire(.ambient))
            // Devices settle for a moment after a server is taken up, and what moves before that is no change: the route
            // goes to and fro until the first move is told.
            var there = AudioPort.builtInSpeaker
            var here = AudioPort.headphones
            let isTold = try await eventually {
                swap(&there, &here)
                try await scene.moveRoute(to: there)
                return await eventually(within: .seconds(1)) { winner.events == [moved(to: there)] }
            }
            #expect(isTold)
            #expect(await scene.manager.currentRoute().outputs == [there])
            try await scene.moveRoute(to: here)
            await winner.hears(moved(to: there), moved(to: here))
            await other.hears(moved(to: there), moved(to: here))
            guard here != .builtInSpeaker else { return }
            try await scene.moveRoute(to: .builtInSpeaker)
            await other.hears(moved(to: there), moved(to: here), moved(to: there))
        }
    }

    private func moved(to port: AudioPort) -> AudioSessionEvent {
        .outputRouteChanged(reason: .override, route: AudioRoute(outputs: [port]))
    }

    @Test func `The winner's wish is asserted again before a route's move is told`() throws {
        let (core, driver, told) = desk()
        _ = try core.acquire(.playback, output: .receiver, owner: ClaimOwner(name: "test"))
        let route = AudioRoute(outputs: [.headphones])
        core.receive(.routeChanged(.newDeviceAvailable, route))
        #expect(told.value == [.init(.outputRouteChanged(reason: .newDeviceAvailable, route: route), applied: 2)])
        #expect(driver.applied.last?.changed.first?.claim.output == .receiver)
    }

    @Test func `Whether there is a Bluetooth headset is told apart from the outputs`() async throws {
        let driver = MockAudioSessionDriver()
        let manager = AudioSessionManagerTestFactory.make(defaultDriver: driver)
        driver.setRoute(outputs: [.builtInSpeaker], hasBluetoothInput: true)
        let route = await manager.currentRoute()
        #expect(route.outputs == [.builtInSpeaker] && route.hasBluetoothInput)
    }

    @Test(arguments: Stage.allCases)
    func `The diagnostics are one line`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            _ = try await scene.manager.acquire(.playback)
            let line = await scene.manager.diagnostics()
            #expect(!line.isEmpty && !line.contains("\n"))
            if stage.hasDaemon {
                #expect(line.contains("daemon :") && line.contains("won by test (playback)"))
            }
        }
    }

    // MARK: Order

    /// What was told, and how often the driver had been told to apply something by then.
    private struct Told: Equatable, Sendable {
        var event: AudioSessionEvent
        var applied: Int

        init(_ event: AudioSessionEvent, applied: Int) {
            self.event = event
            self.applied = applied
        }
    }

    private func desk() -> (AudioSessionCore, MockAudioSessionDriver, Shared<[Told]>) {
        let driver = MockAudioSessionDriver()
        let core = AudioSessionCore(driver: driver)
        let told = Shared<[Told]>([])
        core.onDelivery = { _, event in told.value.append(Told(event, applied: driver.applied.count)) }
        return (core, driver, told)
    }
}
