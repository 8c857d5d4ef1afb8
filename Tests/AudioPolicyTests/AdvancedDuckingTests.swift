import AudioPolicy
import AudioSession
import AudioSessionTestHelper
import Testing

/// Claims with advanced ducking, over the simulated servers: others are turned down only while somebody speaks.
@Suite struct AdvancedDuckingTests {
    private static let advanced = ClaimOptions(ducking: AudioSessionDucking(isAdvanced: true))

    /// A desktop with music, and a program with both sides of a call, both silent, that holds a claim.
    private struct Talk {
        let desk: Desk
        let music: StreamID
        let claim: ClaimID
        let pid: Int32
        let voice: StreamID
        let capture: StreamID

        init(
            _ kind: ServerKind, _ claimKind: AudioSessionClientKind = .call,
            ducking: AudioSessionDucking = AudioSessionDucking(isAdvanced: true),
            configure: (SimulatedSession) -> Void = { _ in }
        ) throws {
            desk = Desk(kind, configure: configure)
            music = desk.play("music")
            pid = desk.session.processes.start("phone")
            voice = desk.server.start("phone", role: "phone", pid: pid, on: desk.speakers) { $0.setSilent() }
            capture = desk.server.start(
                "phone", role: "phone", pid: pid, direction: .input, on: desk.microphone)
            desk.settle()
            let policy = try #require(desk.session.policy)
            claim = try policy.core.acquire(
                claimKind, owner: ClaimOwner(name: "phone", pid: pid, connection: ":1.\(pid)"),
                options: ClaimOptions(ducking: ducking))
        }

        var meters: Set<StreamID> { desk.session.connection?.meters ?? [] }
        var entry: SessionStatus.Claim? {
            desk.session.status()?.claims.first { $0.id == claim.description }
        }

        func speak(_ isSpeaking: Bool) { desk.server.setLoudness(voice, isSpeaking ? 0.2 : 0) }
        func speakHere(_ isSpeaking: Bool) { desk.server.setSound(in: desk.microphone, isSpeaking ? 0.2 : 0) }
        func setDucking(_ ducking: AudioSessionDucking) { desk.session.policy?.core.setDucking(claim, ducking) }
        func release() { desk.session.policy?.core.release(claim) }
        func pass(_ duration: Duration = .seconds(3)) { desk.session.pass(duration) }
    }

    @Test(arguments: bothKinds)
    func `others go down with each sound of the other side, and come back 1500 ms after the last`(
        kind: ServerKind
    ) throws {
        let talk = try Talk(kind)
        let desk = talk.desk
        desk.session.pass(.milliseconds(500))
        #expect(desk.isHeard(talk.music, at: -20), "it begins as if somebody had spoken")
        talk.pass()
        for _ in 1...3 {
            #expect(desk.isHeard(talk.music, at: 0))
            talk.speak(true)
            talk.pass(.milliseconds(300))
            #expect(desk.isHeard(talk.music, at: -20))
            talk.pass(.seconds(5))
            talk.speak(false)
            talk.pass(.milliseconds(1400))
            #expect(desk.isHeard(talk.music, at: -20))
            talk.pass(.milliseconds(800))
        }
        #expect(desk.isHeard(talk.music, at: 0))
        talk.release()
        desk.server.stop(talk.voice)
        talk.pass()
        #expect(talk.meters.isEmpty)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `others go down with sound in the holder's microphone`(kind: ServerKind) throws {
        let talk = try Talk(kind)
        talk.pass()
        talk.speakHere(true)
        talk.pass(.milliseconds(300))
        #expect(talk.desk.isHeard(talk.music, at: -20))
        talk.speakHere(false)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a muted or corked capture is silent, and so is a muted source; none of them is metered`(
        kind: ServerKind
    ) throws {
        let talk = try Talk(kind)
        let server = talk.desk.server
        let changes: [(to: () -> Void, back: () -> Void)] = [
            ({ server.setMute(talk.capture, true) }, { server.setMute(talk.capture, false) }),
            ({ server.cork(talk.capture, true) }, { server.cork(talk.capture, false) }),
            (
                { server.setDeviceMute(talk.desk.microphone, true) },
                { server.setDeviceMute(talk.desk.microphone, false) }
            ),
        ]
        for change in changes {
            talk.speakHere(true)
            talk.pass()
            #expect(talk.desk.isHeard(talk.music, at: -20) && talk.meters == [talk.voice, talk.capture])
            change.to()
            talk.pass()
            #expect(talk.desk.isHeard(talk.music, at: 0) && talk.meters == [talk.voice])
            change.back()
            talk.pass(.milliseconds(300))
            #expect(talk.desk.isHeard(talk.music, at: -20))
        }
    }

    @Test(arguments: bothKinds)
    func `a capture that another's call mutes is silent too`(kind: ServerKind) throws {
        let desk = Desk(kind) { $0.settings.observedRecordingRefusal = .mute }
        let music = desk.play("music")
        let (_, pid) = try desk.hold(.speech, name: "assistant", options: Self.advanced)
        let policy = try #require(desk.session.policy)
        let note = desk.server.start(
            "assistant", role: "production", pid: pid, direction: .input, on: desk.microphone)
        desk.server.setSound(in: desk.microphone, 0.1)
        desk.session.pass(.seconds(3))
        #expect(desk.session.connection?.meters == [note] && desk.isHeard(music, at: -14))
        let call = try policy.core.acquire(.call, owner: ClaimOwner(name: "caller"))
        desk.session.pass(.seconds(3))
        #expect(desk.isSilent(note) && desk.session.connection?.meters == [])
        policy.core.release(call)
        desk.session.pass(.seconds(1))
        #expect(desk.session.connection?.meters == [note] && desk.isHeard(music, at: -14))
    }

    @Test(arguments: bothKinds)
    func `the microphone is metered for an advanced claim alone, and for as long as it is one`(
        kind: ServerKind
    ) throws {
        let talk = try Talk(kind, ducking: AudioSessionDucking())
        talk.pass()
        #expect(talk.meters.isEmpty)
        for _ in 1...2 {
            talk.setDucking(AudioSessionDucking(isAdvanced: true))
            talk.pass(.milliseconds(100))
            #expect(talk.meters == [talk.voice, talk.capture])
            talk.setDucking(AudioSessionDucking(isAdvanced: false))
            talk.pass(.milliseconds(100))
            #expect(talk.meters.isEmpty)
        }
        talk.setDucking(AudioSessionDucking(isAdvanced: true))
        talk.desk.session.policy?.setEnabled(false)
        talk.pass(.milliseconds(100))
        #expect(talk.meters.isEmpty, "nothing is done to anybody")
        talk.desk.session.policy?.setEnabled(true)
        talk.pass(.milliseconds(100))
        talk.desk.server.stop(talk.capture)
        talk.pass(.milliseconds(100))
        #expect(talk.meters == [talk.voice])
        talk.release()
        talk.pass(.milliseconds(100))
        // The voice without its claim is an observed call, and listened to as such.
        #expect(talk.meters == [talk.voice])
    }

    @Test(arguments: bothKinds)
    func `a claim that turns nobody down listens to nobody`(kind: ServerKind) throws {
        let talk = try Talk(kind, .ambient)
        talk.pass()
        #expect(!talk.meters.contains(talk.capture))
    }

    @Test(arguments: bothKinds)
    func `nobody else's microphone is listened to, and what a recorder takes of the speakers is none`(
        kind: ServerKind
    ) throws {
        let talk = try Talk(kind)
        let other = talk.desk.record("phone", "other")
        let monitor = talk.desk.server.addDevice("spk.monitor", .input, monitorOf: talk.desk.speakers)
        let screen = talk.desk.server.start(
            "phone", pid: talk.pid, direction: .input, on: monitor)
        talk.desk.server.setSound(in: monitor, 0.9)
        talk.pass()
        #expect(talk.meters == [talk.voice, talk.capture])
        #expect(!talk.meters.contains(other) && !talk.meters.contains(screen))
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a microphone belongs to whatever its holder holds, not only to calls`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let music = desk.play("music")
        let (_, pid) = try desk.hold(.speech, name: "assistant", options: Self.advanced)
        let capture = desk.server.start("assistant", pid: pid, direction: .input, on: desk.microphone)
        desk.session.pass(.seconds(3))
        #expect(desk.session.connection?.meters == [capture] && desk.isHeard(music, at: 0))
        desk.server.setSound(in: desk.microphone, 0.1)
        desk.session.pass(.seconds(1))
        #expect(desk.isHeard(music, at: -14))
        desk.server.stop(capture)
        desk.session.pass(.seconds(3))
        #expect(desk.session.connection?.meters == [] && desk.isHeard(music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a claim whose holder has had no stream acts as one without advanced ducking`(kind: ServerKind) throws {
        let desk = Desk(kind)
        let music = desk.play("music")
        let (_, pid) = try desk.hold(.call, name: "phone", options: Self.advanced)
        desk.session.pass(.seconds(10))
        #expect(desk.isHeard(music, at: -20))
        let voice = desk.server.start("phone", role: "phone", pid: pid, on: desk.speakers) { $0.setSilent() }
        desk.session.pass(.seconds(3))
        #expect(desk.isHeard(music, at: 0))
        // With its last stream gone nobody can be heard any more.
        desk.server.stop(voice)
        desk.session.pass(.seconds(3))
        #expect(desk.isHeard(music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `set to not advanced it acts as long as it is held`(kind: ServerKind) throws {
        let talk = try Talk(kind)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
        talk.setDucking(AudioSessionDucking(level: .minimum, isAdvanced: false))
        talk.pass(.seconds(10))
        #expect(talk.desk.isHeard(talk.music, at: -6))
        talk.setDucking(AudioSessionDucking(level: .minimum, isAdvanced: true))
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a silent claim is held, ranked and refuses as ever, and is told apart by what is done to others`(
        kind: ServerKind
    ) throws {
        let talk = try Talk(kind)
        talk.pass()
        let entry = try #require(talk.entry)
        #expect(entry.standing == "winner" && entry.counts && entry.streams.count == 2)
        let policy = try #require(talk.desk.session.policy)
        #expect(throws: AudioSessionError.busyWithCall) {
            try policy.core.acquire(.recording, owner: ClaimOwner(name: "recorder"))
        }
        func effect() -> SessionStatus.StreamEffect? {
            talk.desk.session.status()?.streams.first { $0.id == talk.music.description }?.effect
        }
        #expect(effect() == nil)
        #expect(
            try policy.explain("music", isConfined: false)
                == "Stream \(talk.music) (music) is taken for mediaPlayback by its role “music”. Nothing is done to it now: "
                + "it gives way to phone (call, \(talk.claim)) while somebody speaks; `sordino ignore music` leaves it alone."
        )
        #expect(
            try policy.explain(talk.music.description, isConfined: true).hasSuffix(
                "Nothing is done to it now: it gives way to another program (call, \(talk.claim)) while somebody speaks."
            ))
        talk.speakHere(true)
        talk.pass(.seconds(1))
        #expect(effect() == .init(action: "duck", decibels: -20, because: [talk.claim.description]))
        #expect(
            try policy.explain("music", isConfined: false).contains(
                "It is turned down by 20 dB because of phone (call, "))
        #expect(talk.entry == entry)
    }

    @Test func `what a silent claim pauses, mutes or refuses stays so: only levels follow the voices`() throws {
        let talk = try Talk(.pipewire) { session in
            session.settings = .pausing
            session.settings.observedRecordingRefusal = .mute
        }
        let recorder = talk.desk.record("production", "recorder")
        let late = talk.desk.play("music", "late")
        talk.pass(.seconds(5))
        #expect(talk.desk.isSilent(talk.music) && talk.desk.isSilent(recorder))
        #expect(talk.desk.isHeard(late, at: 0), "one that began later is turned down instead")
        talk.speak(true)
        talk.pass(.seconds(1))
        #expect(talk.desk.isHeard(late, at: -14) && talk.desk.isSilent(talk.music))
        talk.release()
        talk.desk.server.stop(talk.voice)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0) && talk.desk.isHeard(late, at: 0))
    }

    @Test func `a user's volume has the last word until the claim is given back, not only until the next silence`()
        throws
    {
        let talk = try Talk(.pulseaudio)
        talk.speak(true)
        talk.pass()
        talk.desk.server.setVolume(talk.music, [0.5, 0.5])
        for isSpeaking in [false, true, false, true] {
            talk.speak(isSpeaking)
            talk.pass()
            #expect(talk.desk.server[talk.music]?.volume.allSatisfy { abs($0 - 0.5) < 1e-3 } == true)
        }
        talk.release()
        talk.desk.server.stop(talk.voice)
        talk.pass()
        #expect(talk.desk.server[talk.music]?.volume.allSatisfy { abs($0 - 0.5) < 1e-3 } == true)
        talk.desk.expectNoTrace()
    }

    @Test func `on PipeWire a user's volume is a new baseline in silence and under voices alike`() throws {
        let talk = try Talk(.pipewire)
        talk.speak(true)
        talk.pass()
        talk.desk.server.setVolume(talk.music, [0.5, 0.5])
        talk.pass()
        #expect(talk.desk.server.heard(talk.music).allSatisfy { abs($0 - 0.05) < 1e-3 })
        talk.speak(false)
        talk.pass()
        #expect(talk.desk.server.heard(talk.music) == [0.5, 0.5])
        talk.desk.server.setVolume(talk.music, [0.8, 0.8])
        talk.speak(true)
        talk.pass()
        #expect(talk.desk.server.heard(talk.music).allSatisfy { abs($0 - 0.08) < 1e-3 })
    }

    @Test(arguments: bothKinds)
    func `of two claims the silent one leaves the level to the other`(kind: ServerKind) throws {
        let talk = try Talk(kind)
        let room = talk.desk.session.processes.start("room")
        let policy = try #require(talk.desk.session.policy)
        let second = try policy.core.acquire(.groupCall, owner: ClaimOwner(name: "room", pid: room))
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: -6))
        talk.speak(true)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: -20))
        talk.speak(false)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: -6))
        policy.core.release(second)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `a capture that moves is listened to where it is`(kind: ServerKind) throws {
        let talk = try Talk(kind)
        let other = talk.desk.server.addDevice("headset mic", .input)
        talk.desk.server.setSound(in: other, 0.1)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
        talk.desk.server.move(talk.capture, to: other)
        talk.pass(.seconds(1))
        #expect(talk.desk.isHeard(talk.music, at: -20))
        talk.desk.server.move(talk.capture, to: talk.desk.microphone)
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `the hang time is configured, and a reload changes it`(kind: ServerKind) throws {
        let talk = try Talk(kind) { $0.settings.timing.silence[.advanced] = .seconds(8) }
        talk.pass(.seconds(7))
        #expect(talk.desk.isHeard(talk.music, at: -20))
        talk.pass()
        #expect(talk.desk.isHeard(talk.music, at: 0))
        var settings = talk.desk.session.settings
        settings.timing.silence[.advanced] = .milliseconds(200)
        talk.desk.session.policy?.driver.setSettings(settings)
        talk.speak(true)
        talk.pass(.seconds(1))
        #expect(talk.desk.isHeard(talk.music, at: -20))
        talk.speak(false)
        talk.pass(.seconds(1))
        #expect(talk.desk.isHeard(talk.music, at: 0))
    }

    @Test(arguments: bothKinds)
    func `after the sound server's return it listens to what is there then`(kind: ServerKind) throws {
        let talk = try Talk(kind)
        talk.pass()
        talk.desk.server.restart { Desk.build($0) }
        let music = talk.desk.play("music")
        talk.pass()
        #expect(talk.desk.isHeard(music, at: -20), "there is nothing to listen to")
        let voice = talk.desk.server.start("phone", role: "phone", pid: talk.pid, on: talk.desk.speakers) {
            $0.setSilent()
        }
        talk.pass()
        #expect(talk.desk.isHeard(music, at: 0) && talk.meters == [voice])
    }
}
