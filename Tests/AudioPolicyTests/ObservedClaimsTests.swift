@testable import AudioPolicy
import AudioSession
import EventLoop
import Testing

struct ObservedClaimsTests {
    /// The claims with a clock, as the driver turns them.
    private struct Ear {
        var claims: ObservedClaims
        var now = LoopInstant(nanoseconds: 0)
        var counts: [ObservedClaim.Key: Bool] = [:]
        /// How often one began to count, and stopped.
        var begins = 0
        var ends = 0

        init(_ change: (inout PolicySettings) -> Void = { _ in }) {
            var settings = PolicySettings()
            change(&settings)
            claims = ObservedClaims(settings: settings)
        }

        mutating func pass(_ duration: Duration, level: [StreamID: Double] = [:]) {
            let end = now + duration
            var nextReport = now + .milliseconds(40)
            while true {
                let next = [claims.nextDeadline, nextReport].compactMap { $0 }.filter { $0 > now }.min() ?? end
                guard next <= end else { break }
                now = next
                claims.advance(to: now)
                if now >= nextReport {
                    for (id, peak) in level where claims.metered.contains(id) { claims.level(id, peak: peak, now: now) }
                    nextReport = now + .milliseconds(40)
                }
                take()
            }
            now = end
            claims.advance(to: now)
            take()
        }

        mutating func set(
            _ serial: UInt64, _ kind: AudioSessionClientKind?, isActive: Bool = true, needsSound: Bool = false,
            direction: AudioDirection = .output, owner: String = "a"
        ) {
            let member = kind.map {
                ObservedClaims.Member(
                    owner: ClaimOwner(name: owner), key: .init(owner: owner, kind: $0), isActive: isActive,
                    direction: direction, needsSound: needsSound)
            }
            claims.setMember(StreamID(direction, serial), member, now: now)
            take()
        }

        private mutating func take() {
            let changes = claims.takeChanges()
            for claim in changes.changed {
                if claim.counts, counts[claim.key] != true { begins += 1 }
                if !claim.counts, counts[claim.key] == true { ends += 1 }
                counts[claim.key] = claim.counts
            }
            for key in changes.gone {
                if counts[key] == true { ends += 1 }
                counts[key] = nil
            }
        }

        func counts(_ kind: AudioSessionClientKind, owner: String = "a") -> Bool? {
            counts[.init(owner: owner, kind: kind)]
        }
    }

    private let first = StreamID(.output, 1)

    @Test func `a call counts once it has lasted for the attack`() {
        var ear = Ear()
        ear.set(1, .call)
        #expect(ear.counts(.call) == false)
        ear.pass(.milliseconds(99))
        #expect(ear.counts(.call) == false)
        ear.pass(.milliseconds(1))
        #expect(ear.counts(.call) == true)
    }

    @Test func `RAC-07 a voice shorter than the attack never counts`() {
        var ear = Ear()
        for serial in 1...30 { ear.set(UInt64(serial), .call, owner: "blip\(serial)") }
        ear.pass(.milliseconds(50))
        for serial in 1...30 { ear.set(UInt64(serial), nil) }
        ear.pass(.seconds(2))
        #expect(ear.begins == 0 && ear.counts.isEmpty)
    }

    @Test func `TRG-03 it counts exactly while it is uncorked and unmuted, and its hold`() {
        var ear = Ear { $0.timing.hold = .zero; $0.timing.attack = .zero }
        ear.set(1, .call, isActive: false)
        ear.pass(.seconds(1))
        #expect(ear.counts(.call) == false && ear.claims.metered.isEmpty)
        ear.set(1, .call, isActive: true)
        #expect(ear.counts(.call) == true && ear.claims.metered == [first])
        ear.set(1, .call, isActive: false)
        #expect(ear.counts(.call) == false && ear.claims.metered.isEmpty)
        ear.set(1, .call, isActive: true)
        ear.set(1, nil)
        #expect(ear.counts(.call) == nil && ear.claims.metered.isEmpty)
    }

    @Test func `TRG-06 a voice that flaps within the hold is one voice`() {
        var ear = Ear { $0.timing.hold = .seconds(1) }
        for _ in 0..<17 {
            ear.set(1, .groupCall, isActive: true)
            ear.pass(.milliseconds(300))
            ear.set(1, .groupCall, isActive: false)
            ear.pass(.milliseconds(300))
        }
        ear.pass(.seconds(2))
        #expect(ear.begins == 1 && ear.ends == 1)
    }

    @Test func `CLS-03 a voice room stops counting after 30 s of silence and counts again at the next sound`() {
        var ear = Ear()
        ear.set(1, .call)
        ear.pass(.seconds(10), level: [first: 0.3])
        #expect(ear.counts(.call) == true)
        ear.pass(.seconds(29), level: [first: 0.0001])
        #expect(ear.counts(.call) == true)
        ear.pass(.seconds(2), level: [first: 0.0001])
        #expect(ear.counts(.call) == false)
        ear.pass(.seconds(600), level: [first: 0])
        #expect(ear.counts(.call) == false && ear.begins == 1)
        ear.pass(.milliseconds(40), level: [first: 0.002])
        #expect(ear.counts(.call) == true)
    }

    @Test func `A11-01 a speech service that keeps its stream open counts while it speaks`() {
        var ear = Ear()
        ear.set(1, .speech)
        for _ in 0..<5 {
            ear.pass(.seconds(1), level: [first: 0.3])
            #expect(ear.counts(.speech) == true)
            ear.pass(.milliseconds(900), level: [first: 0])
            #expect(ear.counts(.speech) == true)
            ear.pass(.milliseconds(1100), level: [first: 0])
            #expect(ear.counts(.speech) == false)
        }
        #expect(ear.begins == 5)
    }

    @Test func `an alarm stops counting after 5 s of silence`() {
        var ear = Ear()
        ear.set(1, .alarm)
        ear.pass(.seconds(1), level: [first: 0.3])
        ear.pass(.milliseconds(4900), level: [first: 0])
        #expect(ear.counts(.alarm) == true)
        ear.pass(.milliseconds(300), level: [first: 0])
        #expect(ear.counts(.alarm) == false)
    }

    @Test func `what is taken for a call by capture and playback alone counts from the first sound on its playback`() {
        var ear = Ear()
        ear.set(1, .groupCall, needsSound: true)
        ear.set(2, .groupCall, needsSound: true, direction: .input)
        ear.pass(.seconds(60), level: [first: 0.0009])
        #expect(ear.counts(.groupCall) == false && ear.begins == 0)
        ear.pass(.milliseconds(40), level: [first: 0.01])
        #expect(ear.counts(.groupCall) == true)
    }

    @Test func `a capture alone is no voice`() {
        var ear = Ear()
        ear.set(2, .call, direction: .input)
        ear.pass(.seconds(5))
        #expect(ear.counts(.call) == false && ear.claims.metered.isEmpty)
    }

    @Test func `a meter that reports nothing proves no silence`() {
        var ear = Ear()
        ear.set(1, .call)
        ear.pass(.seconds(120))
        #expect(ear.counts(.call) == true)
    }

    @Test func `only kinds that are listened to are metered, and only while they are open`() {
        var ear = Ear()
        for (serial, kind) in AudioSessionClientKind.allCases.enumerated() { ear.set(UInt64(serial + 1), kind) }
        let listened = AudioSessionClientKind.allCases.enumerated().filter { $0.element.traits.silenceGroup != nil }
        #expect(ear.claims.metered == Set(listened.map { StreamID(.output, UInt64($0.offset + 1)) }))
        ear.set(1, .mediaPlayback)
        for serial in 1...9 { ear.set(UInt64(serial), nil) }
        #expect(ear.claims.metered.isEmpty)
    }

    @Test func `a stream that turns from a call into music is metered no more`() {
        var ear = Ear()
        ear.set(1, .call)
        ear.pass(.seconds(1), level: [first: 0.1])
        ear.set(1, .mediaPlayback)
        #expect(ear.claims.metered.isEmpty)
        ear.pass(.seconds(1))
        #expect(ear.counts(.call) == nil && ear.counts(.mediaPlayback) == true)
    }

    @Test func `streams of one owner and kind are one claim`() {
        var ear = Ear()
        for serial in 1...6 { ear.set(UInt64(serial), .groupCall) }
        ear.pass(.seconds(1))
        #expect(ear.counts.count == 1 && ear.begins == 1)
        for serial in 1...5 { ear.set(UInt64(serial), nil) }
        ear.pass(.seconds(2))
        #expect(ear.counts(.groupCall) == true && ear.ends == 0)
        ear.set(6, nil)
        ear.pass(.seconds(2))
        #expect(ear.counts.isEmpty && ear.ends == 1)
    }

    @Test func `the hold outlives the stream`() {
        var ear = Ear()
        ear.set(1, .call)
        ear.pass(.seconds(1))
        ear.set(1, nil)
        ear.pass(.milliseconds(499))
        #expect(ear.counts(.call) == true)
        ear.pass(.milliseconds(2))
        #expect(ear.counts(.call) == nil)
    }

    @Test func `nothing is due while nothing changes`() {
        var ear = Ear()
        ear.set(1, .mediaPlayback)
        #expect(ear.claims.nextDeadline == nil)
        ear.set(2, .call, isActive: false, owner: "b")
        #expect(ear.claims.nextDeadline == nil)
    }

    @Test func `when the server is gone all claims are`() {
        var ear = Ear()
        ear.set(1, .call)
        ear.set(2, .mediaPlayback, owner: "b")
        ear.pass(.seconds(1))
        ear.claims.removeAll()
        ear.pass(.zero)
        #expect(ear.counts.isEmpty && ear.claims.metered.isEmpty && ear.claims.nextDeadline == nil)
    }
}
