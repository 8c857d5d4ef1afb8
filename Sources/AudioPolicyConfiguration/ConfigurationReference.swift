internal import AudioPolicy
internal import AudioSession

/// What can be configured, in words: the manual page and the documentation's reference are made from it, and the readers
/// take their names from the same tables.
public enum ConfigurationReference {
    public struct Entry: Sendable {
        public let name: String
        /// Sentences. Words of the file stand between backticks.
        public let meaning: String
        /// What a right value looks like, with its unit and range.
        public let expects: String
        /// The value where nobody has set it; `nil` where that is a question without an answer.
        public let standard: String?

        init(_ name: String, _ expects: String, standard: String? = nil, _ meaning: String) {
            self.name = name
            self.expects = expects
            self.standard = standard
            self.meaning = meaning
        }
    }

    /// Every setting but effects and rules.
    public static let keys = SettingKey.all.map { key in
        Entry(key.path, key.expects, standard: key.standard, key.meaning)
    }

    /// Every kind by its name.
    public static let kinds = AudioSessionClientKind.allCases.map(\.rawValue)

    /// What a cell of `effects` may be.
    public static let effect = SettingKey.effectExpects

    /// The table of effects where nobody has changed it: each kind that does something to others, and to whom.
    public static let effects: [(holder: String, cells: [(victim: String, effect: String)])] =
        AudioSessionClientKind.allCases.compactMap { holder in
            let cells = PolicyConfiguration.cells(of: holder, in: EffectTable())
            guard !cells.isEmpty else { return nil }
            return (holder.rawValue, cells.map { ($0.victim.rawValue, Written.effect($0.cell)) })
        }

    /// What a rule may say of the streams that it fits.
    public static let actions = [
        Entry("kind", "a kind", "What the stream is taken for."),
        Entry("ignore", "true or false", "The stream is left alone, and nobody gives way to it."),
        Entry("exempt-from", "a kind, or a list of kinds", "Claims of these kinds do nothing to the stream."),
        Entry(
            "effects", "an effect, or { KIND = effect }",
            "What claims do to the stream instead of the table's effect: all claims, or those of the kinds named."),
        Entry(
            "level", "a level's name, or decibels from -100 to 0",
            "How far the stream is turned down, by whomever. Pause and mute stay what they are."),
        Entry("claims", "none", "Nobody gives way to the stream; others' claims act on it as ever."),
        Entry(
            "plumbing", "true or false",
            "The stream is a filter's or an effects program's own: never touched, and nobody gives way to it."),
    ]

    /// What a rule may look at besides the servers' own properties.
    public static let properties = [
        Entry(RuleProperty.direction, "output, input", "Whether the stream plays or records."),
        Entry(
            RuleProperty.capture, "microphone, monitor, meter",
            "What a stream that records listens to; none for one that plays."),
        Entry(RuleProperty.ownerCaptures, "true, false", "Whether the same program captures a microphone."),
        Entry(
            RuleProperty.processes, "names with blanks between",
            "The stream's process and that process's ancestors, the nearest first."),
        Entry(RuleProperty.executable, "a path", "The executable of the stream's process."),
        Entry(PropertyName.claim, "CONNECTION/KIND", "The tag of a claim, as the stream's program has written it."),
    ]

    /// The servers' properties that a rule may look at.
    public static let serverProperties = PropertyNames.servers
}
