/// Takes each stream for what it is: its kind, whose it is, whether it is plumbing. Keeps an index, so that a change of
/// one stream costs that stream and its owner's others.
public struct StreamClassifier {
    public init(settings: PolicySettings, processes: any ProcessInspector) {}

    /// Brings the classification up to date with changes that `graph` already contains. Returns the streams that were
    /// added, removed, or whose classification is another now.
    public mutating func update(_ changes: [GraphChange], graph: ServerGraph, kind: ServerKind) -> Set<StreamID> { [] }

    /// `nil` for a stream that is not there.
    public subscript(id: StreamID) -> StreamClassification? { nil }
}
