import Testing

@testable import AudioSession

private let chat = ClaimOwner(name: "chat", pid: 10)
private let phone = ClaimOwner(name: "phone", pid: 20)

extension Arbiter.Outcome {
    /// What one claim is told.
    fileprivate func told(_ id: ClaimID) -> [AudioSessionEvent] { events.filter { $0.claim == id }.map(\.event) }
}

@Suite struct InterruptionTests {
    @Test func `I-01, I-02: an activated call interrupts another owner's voice chat, which goes on at its end`() throws
    {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (call, prepared) = try arbiter.acquire(.call, owner: phone)
        #expect(prepared.told(room) == [.subordinated])
        let activated = arbiter.setActivated(call, true)
        #expect(activated.told(room) == [.interrupted] && activated.told(call) == [])
        let released = arbiter.release(call)
        #expect(released.told(room) == [.interruptionEnded(shouldResume: true)])
        #expect(released.state?.winner == room && released.state?.changed.map(\.claim.id) == [room])
    }

    @Test func `I-03: an assistant that asks for it interrupts calls and recordings and nothing else`() throws {
        var arbiter = Arbiter()
        let (music, _) = try arbiter.acquire(.mediaPlayback, owner: ClaimOwner(name: "player", pid: 1))
        let (recording, _) = try arbiter.acquire(.recording, owner: ClaimOwner(name: "recorder", pid: 2))
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (assistant, began) = try arbiter.acquire(
            .speech, owner: phone, options: ClaimOptions(isInterrupting: true))
        #expect(began.told(recording) == [.interrupted] && began.told(room) == [.interrupted])
        #expect(began.told(music) == [] && began.told(assistant) == [])
        let ended = arbiter.release(assistant)
        #expect(ended.told(room) == [.interruptionEnded(shouldResume: true)])
        // The room's call stands in the way of the recording.
        #expect(ended.told(recording) == [.interruptionEnded(shouldResume: false)])
    }

    @Test func `I-04: an alarm interrupts nobody`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (_, outcome) = try arbiter.acquire(.alarm, owner: phone)
        #expect(outcome.events == [] && !arbiter.isInterrupted(room))
    }

    @Test func `a program's own call does not interrupt its other claims`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (call, _) = try arbiter.acquire(.call, owner: chat)
        #expect(arbiter.setActivated(call, true).told(room) == [])
    }

    @Test func `what begins during an interruption is not interrupted by what was there before it`() throws {
        var arbiter = Arbiter()
        let (call, _) = try arbiter.acquire(.call, owner: phone)
        _ = arbiter.setActivated(call, true)
        let (room, outcome) = try arbiter.acquire(.groupCall, owner: chat)
        #expect(outcome.told(room) == [] && !arbiter.isInterrupted(room))
        #expect(arbiter.winner == room)
    }

    @Test func `of two interrupting claims the last to go ends the interruption`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (first, _) = try arbiter.acquire(.speech, owner: phone, options: ClaimOptions(isInterrupting: true))
        let (second, again) = try arbiter.acquire(.speech, owner: phone, options: ClaimOptions(isInterrupting: true))
        #expect(again.told(room) == [])
        #expect(arbiter.release(first).told(room) == [])
        #expect(arbiter.release(second).told(room) == [.interruptionEnded(shouldResume: true)])
    }

    @Test func `a newer call of another owner stands in the way of resuming`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (call, _) = try arbiter.acquire(.call, owner: phone)
        _ = arbiter.setActivated(call, true)
        _ = arbiter.observe(
            changed: [
                ObservedClaim(key: .init(owner: "other", kind: .groupCall), owner: .init(name: "other"), counts: true)
            ],
            gone: [])
        #expect(arbiter.release(call).told(room) == [.interruptionEnded(shouldResume: false)])
    }

    @Test func `a call that is deactivated interrupts no longer`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let (call, _) = try arbiter.acquire(.call, owner: phone)
        _ = arbiter.setActivated(call, true)
        #expect(arbiter.setActivated(call, false).told(room) == [.interruptionEnded(shouldResume: false)])
    }

    @Test(arguments: AudioSessionInterruption.allCases)
    func `the whole session's interruption is told to every claim, and its end after the winner is applied again`(
        reason: AudioSessionInterruption
    ) throws {
        var arbiter = Arbiter()
        let (music, _) = try arbiter.acquire(.mediaPlayback, owner: chat)
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        let began = arbiter.interrupt(reason)
        #expect(began.told(music) == [.interrupted] && began.told(room) == [.interrupted])
        #expect(began.state == nil && arbiter.isInterrupted)
        #expect(arbiter.interrupt(reason).events == [])
        let ended = arbiter.endInterruption(reason)
        #expect(ended.state?.winner == room && ended.state?.changed.map(\.claim.id) == [room])
        #expect(ended.told(room) == [.interruptionEnded(shouldResume: true)])
        #expect(ended.events.count == 2 && !arbiter.isInterrupted)
    }

    @Test func `two reasons are one interruption`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        _ = arbiter.interrupt(.sleep)
        #expect(arbiter.interrupt(.server).events == [])
        #expect(arbiter.endInterruption(.sleep).events == [])
        #expect(arbiter.endInterruption(.server).told(room) == [.interruptionEnded(shouldResume: true)])
    }

    @Test func `what is acquired while the session is interrupted is told so at once`() throws {
        var arbiter = Arbiter()
        _ = arbiter.interrupt(.server)
        let (music, outcome) = try arbiter.acquire(.mediaPlayback, owner: chat)
        #expect(outcome.told(music) == [.interrupted])
        #expect(arbiter.endInterruption(.server).told(music) == [.interruptionEnded(shouldResume: true)])
    }

    @Test func `a released claim is told nothing`() throws {
        var arbiter = Arbiter()
        let (room, _) = try arbiter.acquire(.groupCall, owner: chat)
        _ = arbiter.interrupt(.server)
        #expect(arbiter.release(room).events == [])
        #expect(arbiter.endInterruption(.server).events == [])
    }
}
