import AudioPolicy

/// One peak meter for each sink input that is wanted, for as long as it is wanted and there.
final class PeakMeters {
    private let context: PulseContext
    private let opened: (UInt32) -> Void
    private let report: (StreamID, Double) -> Void
    private var wanted: Set<StreamID> = []
    private var meters: [StreamID: RecordStream] = [:]

    static let rate: UInt32 = 25

    /// `opened` hears the source output of each meter.
    init(context: PulseContext, opened: @escaping (UInt32) -> Void, report: @escaping (StreamID, Double) -> Void) {
        self.context = context
        self.opened = opened
        self.report = report
    }

    /// Only playback streams are metered.
    func set(_ streams: Set<StreamID>) {
        wanted = streams.filter { $0.direction == .output }
        for id in meters.keys where !wanted.contains(id) { meters.removeValue(forKey: id)?.close() }
        for id in wanted where meters[id] == nil { open(id) }
    }

    /// The stream is there, perhaps again in a state in which it can be metered.
    func seen(_ id: StreamID) {
        if wanted.contains(id), meters[id] == nil { open(id) }
    }

    func removed(_ id: StreamID) {
        wanted.remove(id)
        meters.removeValue(forKey: id)?.close()
    }

    private func open(_ id: StreamID) {
        guard context.isReady, let index = UInt32(exactly: id.serial) else { return }
        let meter = RecordStream(
            context: context, name: "Level of one stream", role: nil, place: .sinkInput(index), rate: Self.rate,
            fragment: 1)
        guard let meter else { return }
        meter.onReady = opened
        meter.onPeak = { [unowned self] peak in report(id, peak) }
        meter.onEnded = { [unowned self, unowned meter] _ in ended(id, wasReady: meter.isReady) }
        meters[id] = meter
    }

    /// The server ends the meters of a stream that moves. One that could not be made is tried again when the stream is
    /// next heard of.
    private func ended(_ id: StreamID, wasReady: Bool) {
        meters.removeValue(forKey: id)?.close()
        if wasReady, wanted.contains(id) { open(id) }
    }
}
