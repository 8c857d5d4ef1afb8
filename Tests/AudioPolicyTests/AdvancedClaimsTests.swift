import AudioSession
import EventLoop
import Testing

@testable import AudioPolicy

struct AdvancedClaimsTests {
    /// The claims with a clock, as the driver turns them.
    private struct Turned {
        var claims = AdvancedClaims(settings: PolicySettings())
        var now = LoopInstant(nanoseconds: 0)
        var changes = 0

        mutating func set(_ claim: ClaimID, open: Set<StreamID>?) { claims.set(claim, open: open, now: now) }

        mutating func pass(_ duration: Duration, level: [StreamID: Double] = [:]) {
            let end = now + duration
            while now < end {
                now = min(now + .milliseconds(20), end)
                for (id, peak) in level { claims.level(id, peak: peak, now: now) }
                claims.advance(to: now)
                changes += claims.takeChanges().count
            }
        }
    }

    private let claim = ClaimID(number: 1)
    private let voice = StreamID(.output, 1)
    private let microphone = StreamID(.input, 2)

    @Test func `a claim begins as if somebody had spoken, and is silent after 1500 ms without sound`() {
        var turned = Turned()
        turned.set(claim, open: [voice])
        turned.pass(.milliseconds(1480), level: [voice: 0.0009])
        #expect(!turned.claims.isSilent(claim))
        turned.pass(.milliseconds(20), level: [voice: 0.0009])
        #expect(turned.claims.isSilent(claim) && turned.claims.nextDeadline == nil && turned.changes == 1)
    }

    @Test func `it is heard at the first sound of either side, and silent 1500 ms after the last`() {
        for side in [voice, microphone] {
            var turned = Turned()
            turned.set(claim, open: [voice, microphone])
            turned.pass(.seconds(2), level: [voice: 0, microphone: 0])
            #expect(turned.claims.isSilent(claim))
            let other = side == voice ? microphone : voice
            turned.pass(.milliseconds(20), level: [side: 0.001, other: 0])
            #expect(!turned.claims.isSilent(claim))
            turned.pass(.milliseconds(1480), level: [voice: 0, microphone: 0])
            #expect(!turned.claims.isSilent(claim))
            turned.pass(.milliseconds(40), level: [voice: 0, microphone: 0])
            #expect(turned.claims.isSilent(claim) && turned.changes == 3)
        }
    }

    @Test func `pauses shorter than that are no silence`() {
        var turned = Turned()
        turned.set(claim, open: [voice])
        for _ in 1...10 {
            turned.pass(.milliseconds(500), level: [voice: 0.2])
            turned.pass(.milliseconds(1400), level: [voice: 0])
        }
        #expect(turned.changes == 0)
    }

    @Test func `a meter that reports nothing proves no silence, and one of another stream says nothing`() {
        var turned = Turned()
        turned.set(claim, open: [voice])
        turned.pass(.seconds(60), level: [StreamID(.output, 7): 0])
        #expect(!turned.claims.isSilent(claim))
        turned.pass(.seconds(2), level: [voice: 0])
        #expect(turned.claims.isSilent(claim))
        turned.pass(.seconds(1), level: [StreamID(.output, 7): 1, StreamID(.input, 1): 1])
        #expect(turned.claims.isSilent(claim))
    }

    @Test func `streams that cannot be heard are silent without a meter, and stay so when they are gone`() {
        var turned = Turned()
        turned.set(claim, open: [])
        #expect(turned.claims.metered.isEmpty && turned.claims.isListening(to: claim))
        turned.pass(.milliseconds(1500))
        #expect(turned.claims.isSilent(claim))
        turned.set(claim, open: [microphone])
        #expect(turned.claims.metered == [microphone] && turned.claims.isSilent(claim))
        turned.set(claim, open: nil)
        #expect(turned.claims.metered.isEmpty && !turned.claims.isSilent(claim) && turned.claims.nextDeadline == nil)
    }

    @Test func `the silence of a stream that ends while it sounds begins with its last sound`() {
        var turned = Turned()
        turned.set(claim, open: [voice])
        turned.pass(.seconds(5), level: [voice: 0.5])
        turned.set(claim, open: [])
        turned.pass(.milliseconds(1480))
        #expect(!turned.claims.isSilent(claim))
        turned.pass(.milliseconds(40))
        #expect(turned.claims.isSilent(claim))
    }

    @Test func `two claims may listen to one microphone`() {
        let second = ClaimID(number: 2)
        var turned = Turned()
        turned.set(claim, open: [microphone])
        turned.set(second, open: [microphone, voice])
        turned.pass(.seconds(2), level: [microphone: 0, voice: 0])
        #expect(turned.claims.isSilent(claim) && turned.claims.isSilent(second))
        turned.pass(.milliseconds(40), level: [microphone: 0.1])
        #expect(!turned.claims.isSilent(claim) && !turned.claims.isSilent(second))
        turned.set(claim, open: nil)
        #expect(turned.claims.metered == [microphone, voice])
        turned.pass(.seconds(2), level: [microphone: 0, voice: 0.1])
        #expect(!turned.claims.isSilent(second))
    }

    @Test func `when the server is gone nobody is silent`() {
        var turned = Turned()
        turned.set(claim, open: [voice])
        turned.pass(.seconds(2), level: [voice: 0])
        turned.claims.removeAll()
        #expect(turned.claims.takeChanges() == [claim])
        #expect(!turned.claims.isSilent(claim) && turned.claims.metered.isEmpty && turned.claims.nextDeadline == nil)
    }
}
