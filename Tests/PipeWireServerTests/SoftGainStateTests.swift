import AudioPolicy
import Testing

@testable import PipeWireServer

/// The order of `Props` events tells whether a soft gain is in force.
@Suite struct SoftGainStateTests {
    private let half = SoftGain(volume: [0.5, 0.5], isMuted: false)

    /// A stream's converter as the servers have it, with the events that it would send.
    private struct Converter {
        var snapshot = SoftGainState.Snapshot(volumes: [1, 1], softVolumes: [1, 1])
        var state = SoftGainState()
        var batch: UInt64 = 0

        init() { _ = state.observe(snapshot) }

        mutating func event() -> Bool? { state.observe(snapshot) }

        /// What arrives at the converter when it gets there; the event is read later.
        mutating func send(_ gain: SoftGain) -> [Float] {
            batch += 1
            return state.willSet(gain, channels: 2, batch: batch)
        }

        mutating func arrives(_ values: [Float], isMuted: Bool = false) -> Bool? {
            snapshot.softVolumes = values
            snapshot.isSoftMuted = isMuted
            return event()
        }
    }

    @Test func anOwnWriteIsInForceWhenItsEventComes() {
        var converter = Converter()
        let values = converter.send(half)
        #expect(converter.state.inForce == nil)
        _ = converter.arrives(values)
        #expect(converter.state.inForce == half)
        #expect(converter.state.seenBatch == 1)
    }

    @Test func anEventWithoutAnyChangeIsSomebodysWriteAndEndsIt() {
        var converter = Converter()
        _ = converter.arrives(converter.send(half))
        _ = converter.event()
        #expect(converter.state.inForce == nil)
    }

    @Test func theSameGainAgainIsRecognised() {
        var converter = Converter()
        _ = converter.arrives(converter.send(half))
        _ = converter.event()
        let again = converter.send(half)
        #expect(again != converter.snapshot.softVolumes)
        _ = converter.arrives(again)
        #expect(converter.state.inForce == half)
    }

    @Test func aLaterWriteOfOursOnTheWayCountsAfterAForeignOne() {
        var converter = Converter()
        let first = converter.send(half)
        let second = converter.send(SoftGain(volume: [0.25, 0.25], isMuted: false))
        _ = converter.arrives(first)
        converter.snapshot.volumes = [0.7, 0.7]
        _ = converter.event()
        #expect(converter.state.inForce == nil)
        _ = converter.arrives(second)
        #expect(converter.state.inForce?.volume == [0.25, 0.25])
    }

    @Test func theScalarVolumeEndsNothing() {
        var converter = Converter()
        _ = converter.arrives(converter.send(half))
        converter.snapshot.gain = 0.3
        _ = converter.event()
        #expect(converter.state.inForce == half)
    }

    @Test func aClearGivesBackAMuteThatItHasOverwritten() {
        var converter = Converter()
        _ = converter.arrives(converter.send(half))
        #expect(converter.state.willClear(batch: 2) == false)
        // The user's mute was there first; then ours took it away.
        converter.snapshot.isMuted = true
        #expect(converter.event() == nil)
        converter.snapshot.isMuted = false
        #expect(converter.event() == true)
        #expect(converter.state.inForce == nil)
        #expect(converter.state.oldestPendingBatch == nil)
    }

    @Test func whatIsNotSeenIsGivenUpAndStillRecognisedWhenItComes() {
        var converter = Converter()
        let values = converter.send(half)
        converter.state.giveUp(batch: 1)
        #expect(converter.state.oldestPendingBatch == nil)
        #expect(converter.state.inForce == nil)
        _ = converter.arrives(values)
        #expect(converter.state.inForce == half)
    }

    @Test func aGainThatIsThereAtTheStartIsBelieved() {
        var state = SoftGainState()
        _ = state.observe(.init(volumes: [1, 1], softVolumes: [0.1, 0.1]))
        #expect(state.inForce?.volume.count == 2)
        var fresh = SoftGainState()
        _ = fresh.observe(.init(volumes: [0.3, 0.3], softVolumes: [1, 1]))
        #expect(fresh.inForce == nil)
    }

    @Test func theFormatsFirstValuesAreNoGain() {
        var state = SoftGainState()
        _ = state.observe(.init(volumes: [0.125, 0.125]))
        _ = state.observe(.init(volumes: [0.125, 0.125], softVolumes: [1, 1]))
        #expect(state.inForce == nil)
    }

    @Test func silentChannelsAndManyOfThemAreStampedToo() {
        var state = SoftGainState()
        _ = state.observe(.init(volumes: Array(repeating: 0, count: 6), softVolumes: Array(repeating: 1, count: 6)))
        let gain = SoftGain(volume: Array(repeating: 0, count: 6), isMuted: false)
        let first = state.willSet(gain, channels: 6, batch: 1)
        #expect(first.allSatisfy { $0 < 1e-30 })
        _ = state.observe(.init(volumes: Array(repeating: 0, count: 6), softVolumes: first))
        #expect(state.inForce == gain)
        #expect(state.willSet(gain, channels: 6, batch: 2) != first)
    }
}
