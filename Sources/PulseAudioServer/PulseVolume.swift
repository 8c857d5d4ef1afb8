import CPulse
import Glibc

/// PulseAudio's cubic volumes as linear amplitude. Every volume that the server can have comes back to the bit.
enum PulseVolume {
    /// Linear amplitude, 1 = unchanged.
    static func linear(_ volume: pa_volume_t) -> Double { pa_sw_volume_to_linear(volume) }

    /// The server's nearest volume. What is no amplitude at all is silence.
    static func native(_ linear: Double) -> pa_volume_t {
        guard linear > 0 else { return pa_volume_t(PA_VOLUME_MUTED) }
        let scale = Double(PA_VOLUME_NORM)
        let loudest = pa_volume_t.max / 2  // PA_VOLUME_MAX
        guard linear < pa_sw_volume_to_linear(loudest) else { return loudest }
        return min(pa_volume_t((cbrt(linear) * scale).rounded()), loudest)
    }

    static func linear(_ volume: pa_cvolume) -> [Double] {
        withUnsafeBytes(of: volume.values) { bytes in
            bytes.bindMemory(to: pa_volume_t.self).prefix(Int(volume.channels)).map { linear($0) }
        }
    }

    /// `nil` where the server has no room for so many channels.
    static func native(_ linear: [Double]) -> pa_cvolume? {
        guard linear.count <= Int(PA_CHANNELS_MAX) else { return nil }
        var volume = pa_cvolume()
        volume.channels = UInt8(linear.count)
        withUnsafeMutableBytes(of: &volume.values) { bytes in
            let values = bytes.bindMemory(to: pa_volume_t.self)
            for (channel, amplitude) in linear.enumerated() { values[channel] = native(amplitude) }
        }
        return volume
    }
}
