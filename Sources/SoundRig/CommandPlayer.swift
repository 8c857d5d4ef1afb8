import Glibc
public import HeadlessAudio

/// A tone played by a program of the server's own tools from a file: `pacat` (which obeys cork requests), or `pw-cat`,
/// a native PipeWire stream.
public final class CommandPlayer: Sendable {
    public enum Tool: String, Sendable {
        case pacat
        case pwCat = "pw-cat"
    }

    public let process: SupervisedProcess

    /// `properties` are the stream's; the role is one of them (`music` on PulseAudio, `Music` on PipeWire). The tone
    /// ends by itself after `seconds`. `command` is what runs the tool, if not the server's keeper itself.
    public init(
        _ tool: Tool, in server: HeadlessServer, name: String, frequency: Double, amplitude: Double = 0.1,
        sink: String? = nil, properties: [String: String] = [:], seconds: Int = 60, latency: Int = 60,
        through command: [String] = []
    ) throws {
        let file = try toneFile(in: server, frequency: frequency, amplitude: amplitude, seconds: seconds)
        let player =
            switch tool {
            case .pacat: pacat(file, name, sink, properties, latency)
            case .pwCat: pwCat(file, name, sink, properties, latency)
            }
        process = try server.spawn(command + player)
    }

    deinit { process.signal(SIGKILL) }

    /// As a player ends that is closed: PulseAudio's drains what it has.
    public func end() { process.end() }
    public func kill() { process.kill() }
}

private func pacat(
    _ file: String, _ name: String, _ sink: String?, _ properties: [String: String], _ latency: Int
) -> [String] {
    [
        "pacat", "--playback", "--file-format=wav", "--client-name=\(name)", "--stream-name=\(name)",
        "--latency-msec=\(latency)",
    ]
        + (sink.map { ["--device=\($0)"] } ?? [])
        + properties.sorted { $0.key < $1.key }.map { "--property=\($0.key)=\($0.value)" } + [file]
}

private func pwCat(
    _ file: String, _ name: String, _ sink: String?, _ properties: [String: String], _ latency: Int
) -> [String] {
    let all = properties.merging(["application.name": name, "node.name": name]) { own, _ in own }
    let object = all.filter { $0.key != "media.role" }.sorted { $0.key < $1.key }
        .map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ")
    return ["pw-cat", "--playback", "--latency=\(latency)ms", "--properties={ \(object) }"]
        + (properties["media.role"].map { ["--media-role=\($0)"] } ?? [])
        + (sink.map { ["--target=\($0)"] } ?? []) + [file]
}

/// A mono WAVE file with a tone, made once per server.
public func toneFile(in server: HeadlessServer, frequency: Double, amplitude: Double, seconds: Int) throws -> String {
    let path = "\(server.directory)/tone-\(frequency)-\(amplitude)-\(seconds).wav"
    if access(path, F_OK) == 0 { return path }
    let period = toneBytes(frequency: frequency, amplitude: amplitude)
    let size = seconds * TonePeriod.rate * 2
    // Written beside and renamed: another thread may want the same tone.
    let part = "\(path).\(UInt64.random(in: 0 ... .max))"
    let descriptor = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SoundRigError("\(part): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    try writeAll(descriptor, waveHeader(dataSize: size))
    var chunk: [UInt8] = []
    while chunk.count < TonePeriod.rate * 2 { chunk += period }
    for _ in 0..<size / chunk.count { try writeAll(descriptor, chunk) }
    rename(part, path)
    return path
}

/// 16-bit samples of one period of 80, which every tone that can be measured fills with whole waves.
private func toneBytes(frequency: Double, amplitude: Double) -> [UInt8] {
    (0..<TonePeriod.length).flatMap { index -> [UInt8] in
        let phase = 2 * Double.pi * frequency * Double(index) / Double(TonePeriod.rate)
        let value = Int16((amplitude * sin(phase) * 32767).rounded())
        return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }
}

private func waveHeader(dataSize: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let format =
        little(16, 4) + little(1, 2) + little(1, 2) + little(TonePeriod.rate, 4)
        + little(TonePeriod.rate * 2, 4) + little(2, 2) + little(16, 2)
    return Array("RIFF".utf8) + little(36 + dataSize, 4) + Array("WAVEfmt ".utf8) + format + Array("data".utf8)
        + little(dataSize, 4)
}

private func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw SoundRigError("writing a tone: \(String(cString: strerror(errno)))") }
        rest = rest.dropFirst(count)
    }
}
