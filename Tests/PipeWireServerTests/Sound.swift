import Foundation

/// A tone in a file, two minutes of stereo at 48 kHz.
struct Tone {
    let path: String
    let frequency: Double

    init(_ directory: URL, frequency: Double, amplitude: Double = 0.25, seconds: Int = 60) throws {
        self.frequency = frequency
        let url = directory.appending(path: "tone-\(Int(frequency))-\(amplitude).wav")
        path = url.path
        // Whole periods in a second, so that one second can be repeated.
        let second: [Int16] = (0..<48000).flatMap { index in
            let value = Int16((amplitude * 32767 * sin(2 * .pi * frequency * Double(index) / 48000)).rounded())
            return [value, value]
        }
        let body = second.withUnsafeBytes { Data($0) }
        let size = UInt32(body.count * seconds)
        var data = Data("RIFF".utf8) + bytes(36 + size) + Data("WAVEfmt ".utf8) + bytes(UInt32(16))
        data += bytes(UInt16(1)) + bytes(UInt16(2)) + bytes(UInt32(48000)) + bytes(UInt32(192000))
        data += bytes(UInt16(4)) + bytes(UInt16(16)) + Data("data".utf8) + bytes(size)
        for _ in 0..<seconds { data += body }
        try data.write(to: url)
    }
}

private func bytes<T: FixedWidthInteger>(_ value: T) -> Data { withUnsafeBytes(of: value.littleEndian) { Data($0) } }

/// A running recording of what a sink plays.
final class Recording {
    private let file: URL
    private let process: Process

    init(_ server: PrivateServer, of sink: String) throws {
        file = server.directory.appending(path: "recording-\(sink)-\(UInt32.random(in: 0...UInt32.max)).raw")
        process = try server.start(
            "parec", "-d", sink + ".monitor", "--raw", "--format=float32le", "--rate=48000", "--channels=2",
            "--latency-msec=20", output: file)
    }

    deinit { PrivateServer.end(process) }

    private var frames: Int {
        ((try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? Int ?? 0) / 8
    }

    /// The amplitude of a frequency in the left channel, in the next `seconds` that are recorded.
    /// `turn` is called while waiting for them.
    func level(of frequency: Double, seconds: Double = 0.2, while turn: () throws -> Void) throws -> Double {
        let wanted = Int(seconds * 48000)
        let start = frames
        let end = Date() + 10
        while frames < start + wanted {
            guard Date() < end else { throw Failure("nothing is recorded") }
            try turn()
        }
        let handle = try FileHandle(forReadingFrom: file)
        try handle.seek(toOffset: UInt64(start * 8))
        let data = try handle.read(upToCount: wanted * 8) ?? Data()
        let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        return goertzel(stride(from: 0, to: samples.count - 1, by: 2).map { Double(samples[$0]) }, frequency)
    }
}

private func goertzel(_ samples: [Double], _ frequency: Double) -> Double {
    // Whole periods only.
    let period = 48000 / frequency
    let count = Int((Double(samples.count) / period).rounded(.down) * period)
    var real = 0.0
    var imaginary = 0.0
    for index in 0..<count {
        let angle = 2 * .pi * frequency * Double(index) / 48000
        real += samples[index] * cos(angle)
        imaginary -= samples[index] * sin(angle)
    }
    return 2 * (real * real + imaginary * imaginary).squareRoot() / Double(max(count, 1))
}

func decibels(_ ratio: Double) -> Double { 20 * log10(max(ratio, 1e-9)) }
