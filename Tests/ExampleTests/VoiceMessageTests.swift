import AudioSession
import AudioSessionTestHelper
import SoundRig
import Synchronization
import Testing
import VoiceMessages

/// A loudspeaker or a microphone that notes what it is told.
private final class Device: VoiceMessageSound, MicrophoneCapture, Sendable {
    private let told = Mutex<[String]>([])

    var log: [String] { told.withLock { $0 } }
    func start(for claim: AudioSessionClaim) async { told.withLock { $0.append("start \(claim.kind)") } }
    func stop() async { told.withLock { $0.append("stop") } }

    func logs(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async {
        let came = await eventually { log == expected }
        #expect(came, "\(log) instead of \(expected)", sourceLocation: sourceLocation)
    }
}

@Suite struct VoiceMessagePlayerTests {
    private let manager = MockAudioSessionManager()
    private let device = Device()

    private func player() -> VoiceMessagePlayer { VoiceMessagePlayer(audioSessionManager: manager, sound: device) }

    @Test func `It holds a claim while it plays, and one only`() async throws {
        let player = player()
        try await player.play()
        try await player.play()
        #expect(manager.outstandingKinds == [.playback])
        await player.stop()
        await player.stop()
        #expect(manager.calls == [.acquire(.playback, output: .system), .release(.playback)])
        await device.logs("start playback", "stop")
    }

    @Test func `It stops while it is interrupted, and goes on where it may`() async throws {
        let player = player()
        try await player.play()
        manager.send(.interrupted)
        await device.logs("start playback", "stop")
        manager.send(.interruptionEnded(shouldResume: true))
        await device.logs("start playback", "stop", "start playback")
        manager.send(.interrupted)
        manager.send(.interruptionEnded(shouldResume: false))
        await device.logs("start playback", "stop", "start playback", "stop")
        await player.stop()
    }

    @Test func `It goes on as a subordinate`() async throws {
        let player = player()
        try await player.play()
        manager.send(.subordinated)
        manager.send(.interrupted)
        // The interruption is the first that it answers.
        await device.logs("start playback", "stop")
        await player.stop()
    }

    @Test(arguments: [(AudioPort.builtInSpeaker, true), (.builtInReceiver, true), (.headphones, false)])
    func `It follows the ear while sound comes out of the telephone itself`(port: AudioPort, follows: Bool) async throws
    {
        manager.setRoute(outputs: [port])
        let player = player()
        try await player.play()
        await player.followEar(true)
        await player.followEar(false)
        let updates: [MockAudioSessionManager.Call] = [
            .update(.playback, output: .receiver), .update(.playback, output: .system),
        ]
        #expect(Array(manager.calls.dropFirst()) == (follows ? updates : []))
        await player.stop()
    }

    @Test func `A player that is dropped gives its claim back`() async throws {
        var player: VoiceMessagePlayer? = player()
        try await player?.play()
        player = nil
        #expect(await eventually { manager.outstandingKinds == [] })
    }
}

@Suite struct VoiceMessageRecorderTests {
    private let device = Device()

    @Test(arguments: [AudioSessionEvent.interrupted, .subordinated])
    func `No timer runs over a recording that has lost the session`(event: AudioSessionEvent) async throws {
        let manager = MockAudioSessionManager()
        let recorder = VoiceMessageRecorder(audioSessionManager: manager, capture: device)
        try await recorder.record()
        #expect(await eventually { await recorder.duration > .zero })
        manager.send(event)
        #expect(await eventually { await recorder.state == .finished })
        let duration = await recorder.duration
        await device.logs("start recording", "stop")
        #expect(await recorder.duration == duration)
        #expect(manager.outstandingKinds == [])
    }

    @Test func `A call that begins ends the recording`() async throws {
        let manager = AudioSessionManagerTestFactory.make()
        let recorder = VoiceMessageRecorder(audioSessionManager: manager, capture: device)
        try await recorder.record()
        _ = try await manager.acquire(.call)
        #expect(await eventually { await recorder.state == .finished })
        await device.logs("start recording", "stop")
    }

    @Test func `A recording is refused during a call, and may begin after it`() async throws {
        let manager = AudioSessionManagerTestFactory.make()
        let call = try await manager.acquire(.groupCall)
        let recorder = VoiceMessageRecorder(audioSessionManager: manager, capture: device)
        await #expect(throws: AudioSessionError.busyWithCall) { try await recorder.record() }
        #expect(device.log == [])
        #expect(await recorder.duration == .zero)
        await manager.release(call)
        try await recorder.record()
        await recorder.finish()
        await device.logs("start recording", "stop")
    }

    @Test func `A route that moves does not end the recording`() async throws {
        let manager = MockAudioSessionManager()
        let recorder = VoiceMessageRecorder(audioSessionManager: manager, capture: device)
        try await recorder.record()
        manager.send(.outputRouteChanged(reason: .newDeviceAvailable, route: AudioRoute(outputs: [.headphones])))
        manager.send(.interruptionEnded(shouldResume: true))
        #expect(await recorder.state == .recording)
        await recorder.finish()
        #expect(manager.calls == [.acquire(.recording, output: .system), .release(.recording)])
    }

    @Test func `A recorder that is dropped gives its claim back`() async throws {
        let manager = MockAudioSessionManager()
        var recorder: VoiceMessageRecorder? = VoiceMessageRecorder(audioSessionManager: manager, capture: device)
        try await recorder?.record()
        recorder = nil
        #expect(await eventually { manager.outstandingKinds == [] })
    }
}
