import Glibc
public import HeadlessAudio
import Synchronization

/// Records what comes out of a sink and tells how loud each tone in it is.
///
/// Levels are decibels of amplitude, 0 being full scale. The recorder is a process of its own, a capture of the sink's
/// monitor. On PulseAudio it also keeps the null sink at a short latency.
public final class ToneMeter: Sendable {
    /// How long one measurement is: 480 samples, 6 periods.
    public static let block = Duration.milliseconds(10)
    private static let frames = 480

    public let sink: String
    public let channels: Int
    private let process: SupervisedProcess
    private let state = Mutex(State())

    private struct State {
        /// By block, then by channel.
        var blocks: [[TonePeriod]] = []
        var current: [TonePeriod] = []
        /// When the last block was complete.
        var lastBlock = ContinuousClock.now
        /// Every sample, interleaved, if they are kept.
        var samples: [Float] = []
        var hasEnded = false
    }

    /// Starts and returns with the first sound or silence recorded. `keepsSamples` is for finer analysis.
    public init(
        sink: String, in server: HeadlessServer, channels: Int = 2, latency: Int = 20, keepsSamples: Bool = false
    ) async throws {
        self.sink = sink
        self.channels = channels
        let ends = try makeChannel()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            close(ends.other)
            close(null)
        }
        do {
            process = try server.spawn(
                [
                    "parec", "--raw", "--device=\(sink).monitor", "--rate=\(TonePeriod.rate)", "--format=float32le",
                    "--channels=\(channels)", "--channel-map=\(HeadlessOptions.Device.channelMap(channels))",
                    "--no-remap", "--no-remix", "--latency-msec=\(latency)",
                    "--client-name=tone-meter",
                ], standard: .init(input: null, output: ends.other, error: null))
        } catch {
            close(ends.own)
            throw error
        }
        let channels = self.channels
        startThread { [weak self] in
            readFloats(ends.own, multiple: channels) { samples in
                guard let self else { return false }
                self.take(samples, keeps: keepsSamples)
                return true
            }
            close(ends.own)
            self?.state.withLock { $0.hasEnded = true }
        }
        try await awaitFirstBlock(in: server)
    }

    private func awaitFirstBlock(in server: HeadlessServer) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        // The recorder may take its time to connect, so that one push can come too early.
        while !(await eventually(within: .milliseconds(100), { blockCount > 0 })) {
            guard ContinuousClock.now < deadline else { throw SoundRigError("nothing comes from \(sink).monitor") }
            if server.kind == .pulseaudio { try await hurry(server) }
        }
    }

    /// A null sink that nobody listens to has rendered two seconds ahead, and a recorder hears nothing until they are
    /// over. Suspending it for a moment makes it start anew, at the latency that the recorder asks for.
    private func hurry(_ server: HeadlessServer) async throws {
        for state in ["1", "0"] {
            let command = try server.spawn(["pactl", "suspend-sink", sink, state])
            _ = await eventually { !command.isRunning }
        }
    }

    deinit { process.signal(SIGKILL) }

    /// Ends the recorder; what it recorded can still be read.
    public func stop() { process.kill() }

    private func take(_ samples: UnsafeBufferPointer<Float>, keeps: Bool) {
        state.withLock { state in
            if keeps { state.samples.append(contentsOf: samples) }
            var frame = 0
            let count = samples.count / channels
            while frame < count {
                if state.current.isEmpty { state.current = Array(repeating: TonePeriod(), count: channels) }
                let end = min(count, frame + ToneMeter.frames - state.current[0].count)
                for channel in 0..<channels {
                    state.current[channel].add(samples, offset: channel, stride: channels, frames: frame..<end)
                }
                frame = end
                guard state.current[0].count == ToneMeter.frames else { continue }
                state.blocks.append(state.current)
                state.current = []
                state.lastBlock = .now
            }
        }
    }

    // MARK: What was recorded

    /// How many blocks have been recorded.
    public var blockCount: Int { state.withLock { $0.blocks.count } }

    /// Every sample so far, interleaved by channel; empty unless they are kept.
    public var samples: [Float] { state.withLock { $0.samples } }

    /// Every sample since this was last asked, interleaved by channel.
    public func takeSamples() -> [Float] {
        state.withLock { state in
            defer { state.samples = [] }
            return state.samples
        }
    }

    /// The levels of a tone in the given blocks.
    public func levels(of frequency: Double, channel: Int = 0, blocks: Range<Int>) -> [Double] {
        let periods = state.withLock { $0.blocks[blocks].map { $0[channel] } }
        return periods.map { decibels($0.amplitude(of: frequency)) }
    }

    /// The level of a tone now: the median of the last 90 ms, so that a player's missed turn does not count.
    public func level(of frequency: Double, channel: Int = 0) -> Double {
        let count = blockCount
        let levels = levels(of: frequency, channel: channel, blocks: max(0, count - 9)..<count).sorted()
        return levels.isEmpty ? decibels(0) : levels[levels.count / 2]
    }

    /// The steady level of a tone: of the last 100 ms if no 10 ms of them differ by more than `tolerance`.
    public func steadyLevel(of frequency: Double, channel: Int = 0, tolerance: Double = 0.2) -> Double? {
        let count = blockCount
        let levels = levels(of: frequency, channel: channel, blocks: max(0, count - 10)..<count)
        guard levels.count == 10, let low = levels.min(), let high = levels.max(), high - low <= tolerance else {
            return nil
        }
        return levels.reduce(0, +) / Double(levels.count)
    }

    // MARK: Conditions

    /// Waits until a tone is within `tolerance` dB of a level and has been for 50 ms. Throws with what it is otherwise.
    @discardableResult
    public func waitFor(
        _ frequency: Double, at level: Double, within tolerance: Double = 0.5, channel: Int = 0,
        deadline: Duration = .seconds(10)
    ) async throws -> Double {
        try await waitFor(frequency, channel: channel, deadline: deadline, "to be at \(level) dB") {
            abs($0 - level) <= tolerance
        }
    }

    /// Waits until a tone has been below −80 dB for 50 ms.
    public func waitForSilence(
        _ frequency: Double, channel: Int = 0, deadline: Duration = .seconds(10)
    ) async throws {
        try await waitFor(frequency, channel: channel, deadline: deadline, "to fall silent") { $0 < -80 }
    }

    /// Waits until a tone's level has met a condition for 50 ms.
    @discardableResult
    public func waitFor(
        _ frequency: Double, channel: Int = 0, deadline: Duration = .seconds(10), _ wish: String,
        _ condition: (Double) -> Bool
    ) async throws -> Double {
        let came = await eventually(within: deadline) {
            let count = blockCount
            return count >= 5
                && levels(of: frequency, channel: channel, blocks: count - 5..<count).allSatisfy(condition)
        }
        let level = level(of: frequency, channel: channel)
        guard came else {
            throw SoundRigError("waited for \(frequency) Hz on \(sink) \(wish); it is at \(level) dB")
        }
        return level
    }

    /// Waits until so much more sound has been recorded; returns its blocks.
    public func record(_ duration: Duration) async throws -> Range<Int> {
        let start = blockCount
        let count = Int(duration / ToneMeter.block)
        let came = await eventually(within: duration + .seconds(10)) { blockCount >= start + count }
        guard came else { throw SoundRigError("no sound comes from \(sink).monitor any more") }
        return start..<start + count
    }

    /// Throws if a tone leaves a level, within `tolerance` dB, for another one for 100 ms or more of the next `duration`,
    /// or for silence for 300 ms. Shorter gaps are no change of level: on a busy machine a player misses its turn now and
    /// then.
    public func holds(
        _ frequency: Double, at level: Double, within tolerance: Double = 0.5, channel: Int = 0,
        for duration: Duration = .milliseconds(500)
    ) async throws {
        let levels = levels(of: frequency, channel: channel, blocks: try await record(duration))
        var (off, heard) = (0, 0)
        for value in levels {
            let isOff = abs(value - level) > tolerance
            off = isOff ? off + 1 : 0
            heard = isOff ? heard + (value > -60 ? 1 : 0) : 0
            if heard == 10 || off == 30 {
                throw SoundRigError("\(frequency) Hz on \(sink) did not hold \(level) dB; it went \(levels)")
            }
        }
    }
}

/// Reads 32-bit floats to the end or until `body` returns false, in multiples of so many.
private func readFloats(_ descriptor: Int32, multiple: Int, _ body: (UnsafeBufferPointer<Float>) -> Bool) {
    let size = multiple * MemoryLayout<Float>.size
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size * 8192, alignment: 16)
    defer { buffer.deallocate() }
    var filled = 0
    while true {
        let count = read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }
        filled += count
        let whole = filled - filled % size
        let samples = UnsafeRawBufferPointer(rebasing: buffer[..<whole]).bindMemory(to: Float.self)
        guard body(samples) else { return }
        buffer.copyBytes(from: buffer[whole..<filled])
        filled -= whole
    }
}
