public import HeadlessAudio

/// A PulseAudio client with any number of streams, in a process of its own (`sordino-testplayer`).
public final class TestPlayer: Sendable {
    public let lines: LineProcess

    /// What a stream is opened with.
    public struct Options: Sendable {
        /// In Hz; a multiple of 600 can be measured.
        public var frequency: Double
        /// Linear; 0.1 is −20 dB.
        public var amplitude = 0.1
        public var channels = 2
        /// A sink or source; `nil`: the default.
        public var device: String?
        /// Of the stream itself (`media.role` …).
        public var properties: [String: String]
        /// In milliseconds.
        public var latency = 80
        /// Linear; `nil`: the server's choice.
        public var volume: Double?
        public var corked = false
        public var muted = false
        /// Plays silence.
        public var silent = false
        /// Ignores cork requests.
        public var stubborn = false
        /// Refuses to be moved.
        public var dontMove = false
        /// AC3 in IEC 61937 instead of PCM.
        public var passthrough = false
        /// For captures: one peak per 40 ms, as mixers' meters do.
        public var peakDetect = false
        /// For captures: the one sink input to listen to.
        public var monitorStream: UInt32?

        public init(
            frequency: Double = 600, role: String? = nil, device: String? = nil, properties: [String: String] = [:]
        ) {
            self.frequency = frequency
            self.device = device
            self.properties = properties
            if let role { self.properties["media.role"] = role }
        }

        fileprivate var fields: [String] {
            var fields = [
                "frequency=\(frequency)", "amplitude=\(amplitude)", "channels=\(channels)", "latency=\(latency)",
            ]
            if let device { fields.append("device=\(device)") }
            if let volume { fields.append("volume=\(volume)") }
            if let monitorStream { fields.append("monitor-stream=\(monitorStream)") }
            let flags = [
                ("corked", corked), ("muted", muted), ("silent", silent), ("stubborn", stubborn),
                ("dont-move", dontMove), ("passthrough", passthrough), ("peak-detect", peakDetect),
            ]
            fields += flags.filter(\.1).map { "\($0.0)=1" }
            fields += properties.sorted { $0.key < $1.key }.map { "prop:\($0.key)=\($0.value)" }
            return fields
        }
    }

    public struct Stream: Sendable {
        public let name: String
        /// The sink input or source output; what `pactl` shows.
        public let index: UInt32
        public let device: String
    }

    /// Starts the client. `executable` is another copy of the player, for another name in
    /// `application.process.binary`; `command` is what runs it, if not the server's keeper itself.
    public init(
        in server: HeadlessServer, name: String = "sordino-testplayer", properties: [String: String] = [:],
        executable: String? = nil, through command: [String] = []
    ) async throws {
        let all = properties.merging(["application.name": name]) { own, _ in own }
        let arguments = all.sorted { $0.key < $1.key }.map { "prop:\($0.key)=\($0.value)" }
        lines = try LineProcess(
            command + [executable ?? product("sordino-testplayer")] + arguments, in: server)
        _ = try await lines.line { $0 == "ready" }
    }

    public func play(_ name: String, _ options: Options) async throws -> Stream {
        try await open("play", name, options)
    }

    public func record(_ name: String, _ options: Options) async throws -> Stream {
        try await open("record", name, options)
    }

    private func open(_ command: String, _ name: String, _ options: Options) async throws -> Stream {
        let start = lines.lines.count
        try lines.send(([command, name] + options.fields).joined(separator: "\t"))
        let answer = try await lines.line(from: start) { line in
            line.hasPrefix("started\t\(name)\t") || line.hasPrefix("failed\t\(name)\t")
        }
        let fields = answer.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields[0] == "started", let index = UInt32(fields[2]) else { throw SoundRigError(answer) }
        return Stream(name: name, index: index, device: fields[3])
    }

    /// What can be asked of a stream that is open.
    public enum Command: String, Sendable {
        case cork, uncork, silence, sound, amplitude, tag, mute, unmute, volume, close
    }

    /// Returns when it is done. `value` is the amplitude, the linear volume or the tag (`key=value`).
    public func perform(_ command: Command, _ name: String, _ value: String? = nil) async throws {
        let start = lines.lines.count
        try lines.send([command.rawValue, name, value].compactMap(\.self).joined(separator: "\t"))
        let answer = try await lines.line(from: start) { $0.hasPrefix("done\t\(command.rawValue)\t\(name)\t") }
        guard answer.hasSuffix("\t1") else { throw SoundRigError(answer) }
    }

    /// The loudest sample of a capture since this was last asked, linear.
    public func peak(_ name: String) async throws -> Double {
        let start = lines.lines.count
        try lines.send("peak\t\(name)")
        let answer = try await lines.line(from: start) { $0.hasPrefix("peak\t\(name)\t") }
        return Double(answer.split(separator: "\t")[2]) ?? .nan
    }

    /// How many frames of a playback stream the server has asked for so far.
    public func frames(_ name: String) async throws -> Int {
        let start = lines.lines.count
        try lines.send("frames\t\(name)")
        let answer = try await lines.line(from: start) { $0.hasPrefix("frames\t\(name)\t") }
        return Int(answer.split(separator: "\t")[2]) ?? -1
    }

    /// How many times an event (`request-cork`, `request-uncork`, `moved`, `ended`) was told of a stream.
    public func count(_ event: String, _ name: String) -> Int {
        lines.lines.count { $0 == "\(event)\t\(name)" || $0.hasPrefix("\(event)\t\(name)\t") }
    }

    public func waitFor(_ event: String, _ name: String, within deadline: Duration = .seconds(10)) async throws {
        _ = try await lines.line(within: deadline) {
            $0 == "\(event)\t\(name)" || $0.hasPrefix("\(event)\t\(name)\t")
        }
    }

    /// SIGKILL; returns when it is gone.
    public func kill() { lines.process.kill() }
}
