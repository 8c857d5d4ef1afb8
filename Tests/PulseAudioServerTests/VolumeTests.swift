import CPulse
import CPulseLoader
import Testing

@testable import PulseAudioServer

@Suite struct VolumeTests {
    init() { #expect(cpulse_load() == nil) }

    @Test func `Every volume that the server can have comes back to the bit`() {
        var volume: UInt64 = 0
        // All up to four times the norm, then ever wider steps, hitting all residues.
        while volume <= 0x7FFF_FFFF {
            let native = pa_volume_t(volume)
            if PulseVolume.native(PulseVolume.linear(native)) != native { Issue.record("\(native)") }
            volume += volume < 4 * 65536 ? 1 : max(1, volume / 65521)
        }
        #expect(PulseVolume.native(PulseVolume.linear(0x7FFF_FFFF)) == 0x7FFF_FFFF)
    }

    @Test func `Random volumes of the whole range come back to the bit`() {
        for _ in 0..<1_000_000 {
            let native = pa_volume_t.random(in: 0...0x7FFF_FFFF)
            if PulseVolume.native(PulseVolume.linear(native)) != native { Issue.record("\(native)") }
        }
    }

    @Test(
        arguments: [
            (0.0, 0), (1.0, 65536), (0.001, 6554), (-1.0, 0), (-0.0, 0), (.nan, 0), (.infinity, 0x7FFF_FFFF),
            (-.infinity, 0), (.greatestFiniteMagnitude, 0x7FFF_FFFF), (.leastNonzeroMagnitude, 0),
        ] as [(Double, UInt32)])
    func `What is no volume becomes the nearest one`(linear: Double, native: UInt32) {
        #expect(PulseVolume.native(linear) == native)
    }

    @Test func `A volume has the channels it is given`() {
        #expect(PulseVolume.native([1, 0.5])?.channels == 2)
        #expect(PulseVolume.native(Array(repeating: 1, count: 32))?.channels == 32)
        #expect(PulseVolume.native(Array(repeating: 1, count: 33)) == nil)
        #expect(PulseVolume.native([0.5, 1]).map { PulseVolume.linear($0) } == [PulseVolume.linear(52016), 1])
    }
}
