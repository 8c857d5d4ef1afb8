public import AudioSession

/// The named levels, in decibels of amplitude. Sources: Android's −14 (focus ducking) and −35, PulseAudio's −20
/// (`module-role-ducking`); −6 is "not heavily attenuated", what a voice chat asks for music beside it.
public enum DuckLevel: String, CaseIterable, Sendable {
    case minimum, `default`, medium, maximum
}

/// The table of effects, one row a holder's kind (design: who is turned down is another question than who wins).
public struct EffectTable: Equatable, Sendable {
    /// One cell: a named level stays a name, so that changing the level changes the cell.
    public enum Cell: Equatable, Sendable {
        case none, pause, mute
        case duck(DuckLevel)
        case decibels(Decibels)
    }

    public var levels: [DuckLevel: Decibels] = [
        .minimum: Decibels(-6), .default: Decibels(-14), .medium: Decibels(-20), .maximum: Decibels(-35),
    ]
    /// By the holder's kind, then the victim's; what is not there is `none`.
    public var cells: [AudioSessionClientKind: [AudioSessionClientKind: Cell]]

    public init() {
        cells = [
            .alarm: [
                .playback: .duck(.default), .mediaPlayback: .duck(.default), .game: .duck(.default),
                .call: .duck(.minimum), .groupCall: .duck(.minimum),
            ],
            .call: [.playback: .pause, .mediaPlayback: .duck(.medium), .game: .duck(.default)],
            .groupCall: [
                .playback: .duck(.default), .mediaPlayback: .duck(.minimum), .game: .duck(.minimum),
            ],
            .recording: [.playback: .pause, .mediaPlayback: .duck(.medium), .game: .duck(.medium)],
            .speech: [
                .playback: .duck(.default), .mediaPlayback: .duck(.default), .game: .duck(.minimum),
            ],
            .playback: [.mediaPlayback: .duck(.default), .game: .duck(.minimum)],
        ]
    }

    /// What a holder of one kind does to streams of another.
    public func effect(of holder: AudioSessionClientKind, on victim: AudioSessionClientKind) -> Effect {
        switch cells[holder]?[victim] {
        case nil, .some(.none): .none
        case .pause: .pause
        case .mute: .mute
        case .duck(let level): .duck(levels[level] ?? Decibels(0))
        case .decibels(let level): .duck(level)
        }
    }

    /// The duck level that stands in for a pause or mute of a stream that somebody started meanwhile. The table names
    /// none beside a pause; the level of the holder's effect on music is the nearest, else the default one.
    public func duckInstead(of holder: AudioSessionClientKind, on victim: AudioSessionClientKind) -> Decibels {
        if case .duck(let level) = effect(of: holder, on: victim) { return level }
        if case .duck(let level) = effect(of: holder, on: .mediaPlayback) { return level }
        return levels[.default] ?? Decibels(-14)
    }
}
