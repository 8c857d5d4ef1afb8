import AudioPolicy
import AudioSession
import DaemonTestSupport
import Foundation
import HeadlessAudio
import SoundRig
import Testing

@testable import AudioSessionLinux

/// Where a program's claims are held, and what becomes of them when that changes.
@Suite struct PlaceTests {
    // MARK: A daemon that goes and comes

    @Test(arguments: HeadlessServerKind.allCases, [SIGKILL, SIGTERM])
    func `A daemon's restart interrupts and keeps the claims`(kind: HeadlessServerKind, signal: Int32) async throws {
        try await withServer(House.options(kind)) { server in
            let house = try await House(server, daemon: true)
            let program = house.program("test")
            let playback = try await program.acquire(.playback, output: .receiver)
            let call = try await program.acquire(.call, output: .speaker)
            await program.activate(call)
            let heardPlayback = await Heard(program, playback)
            let heardCall = await Heard(program, call)
            await heardPlayback.hears(.subordinated)

            house.daemon?.process.signal(signal)
            await heardCall.hears(.interrupted, .interruptionEnded(shouldResume: true))
            await heardPlayback.hears(.subordinated, .interrupted, .interruptionEnded(shouldResume: true))

            let next = try RunningDaemon(in: server, name: "next")
            try await expect("the claims are the next daemon's") {
                try await house.asked() == [Asked("playback", "receiver"), Asked("call", "speaker")]
            }
            // The values are good as they were.
            await program.update(playback, output: .speaker)
            await program.deactivate(call)
            #expect(try await house.asked() == [Asked("playback", "speaker"), Asked("call", "speaker", false)])
            await program.releaseCall()
            await heardCall.finishes()
            #expect(try await house.asked() == [Asked("playback", "speaker")])
            await program.release(playback)
            await heardPlayback.finishes()
            #expect(try await house.asked() == [])
            // The second daemon took over in silence: nothing was lost by that.
            #expect(heardPlayback.events.count == 3 && heardCall.events.count == 2)
            withExtendedLifetime(next) {}
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `Claims that are held here are handed over to a daemon that comes, and nobody is told`(
        kind: HeadlessServerKind
    ) async throws {
        try await withServer(House.options(kind)) { server in
            let house = try await House(server, daemon: false)
            let program = house.program("test")
            let kinds: [AudioSessionClientKind] = [.groupCall, .playback, .mediaPlayback, .ambient]
            var heard: [Heard] = []
            for kind in kinds { heard.append(await Heard(program, try await program.acquire(kind))) }
            #expect(await program.isEmbedded)

            let daemon = try RunningDaemon(in: server)
            try await expect("the claims are the daemon's") {
                try await house.asked().map(\.kind) == ["ambient", "playback", "mediaPlayback", "groupCall"]
            }
            #expect(await !program.isEmbedded)
            // What is acquired from now on is newer than all of them.
            let speech = try await program.acquire(.speech)
            #expect(try await house.asked().last?.kind == "speech")
            await program.release(speech)
            _ = await program.currentRoute()
            for heard in heard { #expect(heard.events == []) }
            withExtendedLifetime(daemon) {}
        }
    }

    @Test func `A recording that the daemon must refuse waits as a subordinate until the call is over`() async throws {
        let bus = try PrivateBus()
        let daemon = try FakeDaemon(bus.address)
        await daemon.setCall(true)
        let program = program(on: bus)
        let recording = try await program.acquire(.recording)
        let heard = await Heard(program, recording)
        try await daemon.start()
        await heard.hears(.subordinated)
        #expect(await daemon.claims == [])
        await program.update(recording, output: .speaker)
        await daemon.setCall(false)
        try await expect("the recording is held again") { await daemon.claims == [Asked("recording", "speaker")] }
        await program.release(recording)
        await heard.finishes()
        #expect(heard.events == [.subordinated])
        try await expect("nothing is held") { await daemon.claims == [] }
    }

    @Test func `A recording that is released while it waits is never asked for again`() async throws {
        let bus = try PrivateBus()
        let daemon = try FakeDaemon(bus.address)
        await daemon.setCall(true)
        let program = program(on: bus)
        let recording = try await program.acquire(.recording)
        let heard = await Heard(program, recording)
        try await daemon.start()
        await heard.hears(.subordinated)
        await program.release(recording)
        await daemon.setCall(false)
        let playback = try await program.acquire(.playback)
        #expect(await daemon.claims == [Asked("playback")])
        await program.release(playback)
    }

    @Test func `Claims survive any number of daemons`() async throws {
        let bus = try PrivateBus()
        let program = program(on: bus)
        let call = try await program.acquire(.groupCall, output: .speaker)
        let heard = await Heard(program, call)
        for round in 1...5 {
            let daemon = try FakeDaemon(bus.address)
            try await daemon.start()
            try await expect("the claim is the daemon's") { await daemon.claims == [Asked("groupCall", "speaker")] }
            await daemon.stop()
            let end = AudioSessionEvent.interruptionEnded(shouldResume: true)
            let expected = Array(repeating: [AudioSessionEvent.interrupted, end], count: round).flatMap { $0 }
            try await expect("round \(round) is told") { heard.events == expected }
        }
        await program.release(call)
        await heard.finishes()
    }

    @Test func `The bus's own end leaves the claims with this process`() async throws {
        let bus = try PrivateBus()
        let daemon = try FakeDaemon(bus.address)
        try await daemon.start()
        let program = program(on: bus)
        let heard = await Heard(program, try await program.acquire(.playback))
        try await expect("the daemon") { await daemon.claims == [Asked("playback")] }
        bus.end()
        await heard.hears(.interrupted, .interruptionEnded(shouldResume: true))
        #expect(await program.isEmbedded)
        _ = try await program.acquire(.recording)
    }

    // MARK: A daemon that is not there, or is silent

    @Test(arguments: HeadlessServerKind.allCases)
    func `PER-06: a daemon that hangs costs a caller 200 ms and leaves no claim behind`(
        kind: HeadlessServerKind
    ) async throws {
        try await withServer(House.options(kind)) { server in
            let house = try await House(server, daemon: true)
            let program = house.program("test", patience: .milliseconds(200))
            let held = try await granted(.playback, by: program)
            let released = try await granted(.mediaPlayback, by: program)
            let daemon = try #require(house.daemon)
            daemon.process.signal(SIGSTOP)
            defer { daemon.process.signal(SIGCONT) }
            await takes(.milliseconds(200)) {
                await #expect(throws: AudioSessionError.unavailable) { try await program.acquire(.groupCall) }
            }
            await takes(.milliseconds(200)) { _ = await program.currentRoute() }
            await program.update(held, output: .receiver)
            await program.release(released)
            #expect(await program.diagnostics().contains("does not answer"))
            daemon.process.signal(SIGCONT)
            try await expect("what was asked for is done, and nobody holds the call") {
                try await house.asked() == [Asked("playback", "receiver")]
            }
        }
    }

    @Test func `PER-06: without a daemon this process serves itself at once`() async throws {
        let bus = try PrivateBus()
        for environment in [
            ["DBUS_SESSION_BUS_ADDRESS": bus.address], [:], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"],
        ] {
            try await takes(.zero, tries: 20) {
                let program = program(in: environment)
                let claim = try await program.acquire(.recording, output: .speaker)
                #expect(await program.isEmbedded)
                // There is no sound server either.
                #expect(await program.currentRoute() == AudioRoute(outputs: []))
                await program.release(claim)
            }
        }
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `A daemon that the bus can start is started`(kind: HeadlessServerKind) async throws {
        try await withServer(House.options(kind)) { server in
            try server.makeActivatable("\(product("sordino")) run")
            let house = try await House(server, daemon: false)
            let program = house.program("test")
            let claim = try await program.acquire(.groupCall)
            #expect(try await house.asked() == [Asked("groupCall")])
            await program.release(claim)
        }
    }

    @Test(arguments: ["/bin/false", "/bin/sleep 60"])
    func `PER-06: a daemon that does not come up costs a caller 2 s at most`(command: String) async throws {
        var options = House.options(.pulseaudio)
        options.startsServer = false
        try await withServer(options) { server in
            try server.makeActivatable(command)
            let house = try await House(server, daemon: false)
            let program = house.program("test")
            // Only the first waits for the bus.
            try await takes(.seconds(2), tries: 1) { _ = try await program.acquire(.groupCall) }
            #expect(await program.isEmbedded)
        }
    }

    @Test func `A daemon that somebody has stopped is not started again`() async throws {
        var options = House.options(.pulseaudio)
        options.startsServer = false
        try await withServer(options) { server in
            let house = try await House(server, daemon: false)
            let daemon = try FakeDaemon(server.environment["DBUS_SESSION_BUS_ADDRESS", default: ""])
            try await daemon.start()
            let program = house.program("test")
            let heard = await Heard(program, try await program.acquire(.playback))
            try server.makeActivatable("\(product("sordino")) run")
            await daemon.stop()
            await heard.hears(.interrupted, .interruptionEnded(shouldResume: true))
            #expect(await program.isEmbedded)
            await #expect(throws: (any Error).self) { try await house.status() }
        }
    }

    // MARK: Whose

    @Test func `What somebody else says of a claim is not believed`() async throws {
        try await onStage(.daemonPulseAudio) { scene in
            let house = try #require(scene.house)
            let claim = try await scene.manager.acquire(.playback)
            let heard = await Heard(scene.manager, claim)
            let path = try #require(await house.status().claims.first?.id)
            let name = try #require(claim.pulseAudioProperties["sordino.claim"]?.split(separator: "/").first)
            let sent = try await house.server.run([
                "dbus-send", "--session", "--type=signal", "--dest=\(name)",
                "/org/sordino/AudioSession1/claim/\(path)", "org.sordino.AudioSession1.Claim.Interrupted",
            ])
            #expect(sent.code == 0)
            // Comes after it, since the bus keeps the order.
            _ = try await scene.manager.acquire(.mediaPlayback)
            await heard.hears(.subordinated)
        }
    }

    @Test(arguments: Stage.withDaemon)
    func `A stream with a claim's properties belongs to the claim`(stage: Stage) async throws {
        try await onStage(stage) { scene in
            let house = try #require(scene.house)
            let claim = try await scene.manager.acquire(.groupCall)
            let properties = claim.pulseAudioProperties.merging(["media.role": "music"]) { $1 }
            let voice = try CommandPlayer(
                .pacat, in: house.server, name: "voice", frequency: 600, properties: properties)
            try await expect("the stream is the claim's") {
                let status = try await house.status()
                return status.streams.first { $0.application == "voice" }?.claim == status.session.winner
            }
            voice.kill()
        }
    }

    // MARK: Helpers

    /// The session of a program that this bus is all the surroundings of.
    private func program(on bus: PrivateBus) -> Manager { program(in: ["DBUS_SESSION_BUS_ADDRESS": bus.address]) }

    private func program(in environment: [String: String]) -> Manager {
        var surroundings = Surroundings(name: "test", environment: environment) { _, _ in
            throw TestFailure("there is no sound server here")
        }
        surroundings.patience = .seconds(5)
        return AudioSessionManagerFactory.make(surroundings)
    }

    /// A claim of a program that is impatient on a machine that is busy.
    private func granted(_ kind: AudioSessionClientKind, by program: Manager) async throws -> AudioSessionClaim {
        var claim: AudioSessionClaim?
        try await expect("\(kind) is granted") {
            claim = try? await program.acquire(kind)
            return claim != nil
        }
        return try #require(claim)
    }

    /// Expects that it takes so long at most, with what the machine itself needs: the fastest of some tries counts,
    /// since others use the machine too; without the limit it would take seconds.
    private func takes(
        _ limit: Duration, tries: Int = 5, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async rethrows {
        var durations: [Duration] = []
        for _ in 0..<tries {
            let start = ContinuousClock.now
            try await body()
            durations.append(ContinuousClock.now - start)
        }
        let fastest = durations.min() ?? .zero
        #expect(fastest < limit + .milliseconds(tries > 1 ? 800 : 2000), sourceLocation: sourceLocation)
    }
}
