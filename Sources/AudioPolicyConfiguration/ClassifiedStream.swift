public import AudioPolicy
internal import AudioSession

/// One line of `sordino classify`. The names are a contract.
public struct ClassifiedStream: Equatable, Sendable, Codable {
    public var file: String
    /// `output`, `input`.
    public var direction: String
    public var index: UInt64
    @Nullable public var kind: String?
    public var plumbing: Bool
    /// `microphone`, `monitor`, `meter`.
    @Nullable public var capture: String?
    /// `tag`, `rule`, `table`, `role`, `event`, `capture`, `default`, `server`.
    public var classifiedBy: String
    /// Which rule or entry of the table, for people; not part of the contract.
    public var rule: String?

    private enum CodingKeys: String, CodingKey {
        case file, direction, index, kind, plumbing, capture, classifiedBy
    }

    public init(
        file: String, direction: String, index: UInt64, kind: String?, plumbing: Bool, capture: String?,
        classifiedBy: String, rule: String?
    ) {
        self.file = file
        self.direction = direction
        self.index = index
        self.kind = kind
        self.plumbing = plumbing
        self.capture = capture
        self.classifiedBy = classifiedBy
        self.rule = rule
    }
}

extension StreamDump {
    /// What each stream would be taken for, in the file's order.
    public func classified(file: String, settings: PolicySettings) -> [ClassifiedStream] {
        let classifier = StreamClassifier(settings: settings, processes: processes)
        _ = classifier.reset(graph: graph, kind: kind)
        return order.compactMap { id in
            guard let found = classifier[id] else { return nil }
            let rule: String? =
                switch found.source {
                case .rule(let name), .table(let name): name
                default: nil
                }
            return ClassifiedStream(
                file: file, direction: id.direction.rawValue, index: id.serial, kind: found.kind?.rawValue,
                plumbing: found.isPlumbing, capture: found.capture?.rawValue, classifiedBy: found.source.text,
                rule: rule)
        }
    }
}

/// Reads a dump (`-`: the standard input) and says what its streams would be taken for.
public func classifyDump(
    _ path: String, settings: PolicySettings = PolicyConfiguration.load(directories: []).settings
) throws(StreamDump.FormatError) -> [ClassifiedStream] {
    try StreamDump(path: path).classified(file: path, settings: settings)
}
