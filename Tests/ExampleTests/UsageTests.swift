import AudioSession
import AudioSessionTestHelper
import SoundRig
import Testing

/// The ways in which programs use the library, as short as they are written in one.
@Suite struct UsageTests {
    private let audioSessionManager: any AudioSessionManagerProtocol = AudioSessionManagerTestFactory.make()

    @Test func `A claim is acquired and released`() async throws {
        let claim = try await audioSessionManager.acquire(.playback)
        // … play …
        await audioSessionManager.release(claim)
    }

    @Test(arguments: [true, false])
    func `A route that is known is named at acquire, and changed later`(speakerIsOn: Bool) async throws {
        let driver = MockAudioSessionDriver()
        let manager = AudioSessionManagerTestFactory.make(defaultDriver: driver)
        let claim = try await manager.acquire(.call, output: speakerIsOn ? .speaker : .system)
        #expect(driver.applied.count == 1)
        #expect(driver.winner?.output == (speakerIsOn ? .speaker : .system))
        await manager.update(claim, output: .receiver)
        #expect(driver.winner?.output == .receiver)
    }

    @Test func `The one refusal is caught by its name`() async throws {
        _ = try await audioSessionManager.acquire(.groupCall)
        var isBusy = false
        do {
            _ = try await audioSessionManager.acquire(.recording)
        } catch AudioSessionError.busyWithCall {
            isBusy = true
        }
        #expect(isBusy)
    }

    @Test func `The route is read to decide by it`() async throws {
        let manager = MockAudioSessionManager()
        manager.setRoute(outputs: [.builtInSpeaker], hasBluetoothInput: true)
        let route = await manager.currentRoute()
        #expect(route.outputs == [.builtInSpeaker])
        #expect(route.hasBluetoothInput)
    }

    // MARK: The doubles

    @Test func `The real manager over a mock driver refuses as it does elsewhere`() async throws {
        let driver = MockAudioSessionDriver()
        let manager = AudioSessionManagerTestFactory.make(defaultDriver: driver)

        _ = try await manager.acquire(.call)
        await #expect(throws: AudioSessionError.busyWithCall) {
            _ = try await manager.acquire(.recording)
        }
    }

    @Test func `The recording stub tells what a client asks for, and drives its events`() async throws {
        let manager = MockAudioSessionManager()
        manager.setRoute(outputs: [.builtInReceiver])

        let player = Player(audioSessionManager: manager)
        await player.start()

        #expect(manager.outstandingKinds == [.playback])
        #expect(manager.calls == [.acquire(.playback, output: .receiver)])
        manager.send(.subordinated)
        #expect(await eventually { await player.wasSubordinated })
        await player.stop()
        #expect(manager.outstandingKinds == [])
        #expect(manager.calls.last == .release(.playback))
    }

    @Test func `The recording stub grants everything and subordinates nobody`() async throws {
        let manager = MockAudioSessionManager()
        let call = try await manager.configureCall()
        let recording = try await manager.acquire(.recording)
        let events = await manager.events(for: recording)
        await manager.activate(call)
        await manager.deactivate(call)
        await manager.releaseCall()
        await manager.releaseCall()
        await manager.release(recording)
        await manager.release(recording)
        var heard: [AudioSessionEvent] = []
        for await event in events { heard.append(event) }
        #expect(heard == [])
        #expect(
            manager.calls == [
                .acquire(.call, output: .system), .acquire(.recording, output: .system), .activate(.call),
                .deactivate(.call), .release(.call), .release(.recording),
            ])
    }
}

/// A client with a manager that is handed to it.
private actor Player {
    private let audioSessionManager: any AudioSessionManagerProtocol
    private var audioSessionClaim: AudioSessionClaim?
    private var eventTask: Task<Void, Never>?
    private(set) var wasSubordinated = false

    init(audioSessionManager: any AudioSessionManagerProtocol) { self.audioSessionManager = audioSessionManager }

    func start() async {
        let route = await audioSessionManager.currentRoute()
        let output: AudioSessionOutput = route.outputs == [.builtInReceiver] ? .receiver : .system
        guard let claim = try? await audioSessionManager.acquire(.playback, output: output) else { return }
        audioSessionClaim = claim
        eventTask = Task { [weak self, manager = audioSessionManager] in
            for await event in await manager.events(for: claim) {
                if event == .subordinated { await self?.lose() }
            }
        }
    }

    func stop() async {
        guard let claim = audioSessionClaim else { return }
        audioSessionClaim = nil
        await audioSessionManager.release(claim)
    }

    private func lose() { wasSubordinated = true }
}
