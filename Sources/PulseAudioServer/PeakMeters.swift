import AudioPolicy

/// One peak meter for each stream that is wanted, for as long as it is wanted and there.
final class PeakMeters {
    private let context: PulseContext
    private let place: (StreamID) -> RecordStream.Place?
    private let opened: (UInt32) -> Void
    private let report: (StreamID, Double) -> Void
    private var wanted: Set<StreamID> = []
    private var meters: [StreamID: (stream: RecordStream, place: RecordStream.Place)] = [:]

    static let rate: UInt32 = 25

    /// - Parameters:
    ///   - place: where a stream is to be metered now; `nil`: nowhere, for the time being.
    ///   - opened: hears the source output of each meter.
    init(
        context: PulseContext, place: @escaping (StreamID) -> RecordStream.Place?, opened: @escaping (UInt32) -> Void,
        report: @escaping (StreamID, Double) -> Void
    ) {
        self.context = context
        self.place = place
        self.opened = opened
        self.report = report
    }

    func set(_ streams: Set<StreamID>) {
        wanted = streams
        for id in meters.keys where !wanted.contains(id) { close(id) }
        for id in wanted where meters[id] == nil { open(id) }
    }

    /// The stream is there, perhaps again in a state in which it can be metered, or in another place.
    func seen(_ id: StreamID) {
        guard wanted.contains(id) else { return }
        if let meter = meters[id], meter.place != place(id) { close(id) }
        if meters[id] == nil { open(id) }
    }

    func removed(_ id: StreamID) {
        wanted.remove(id)
        close(id)
    }

    private func close(_ id: StreamID) { meters.removeValue(forKey: id)?.stream.close() }

    private func open(_ id: StreamID) {
        guard context.isReady, let place = place(id) else { return }
        let meter = RecordStream(
            context: context, name: "Level of one stream", role: nil, place: place, rate: Self.rate, fragment: 1)
        guard let meter else { return }
        meter.onReady = opened
        meter.onPeak = { [unowned self] peak in report(id, peak) }
        meter.onEnded = { [unowned self, unowned meter] _ in ended(id, wasReady: meter.isReady) }
        meters[id] = (meter, place)
    }

    /// The server ends the meters of a stream that moves, and of a source that goes. One that could not be made is tried
    /// again when the stream is next heard of.
    private func ended(_ id: StreamID, wasReady: Bool) {
        close(id)
        if wasReady, wanted.contains(id) { open(id) }
    }
}
