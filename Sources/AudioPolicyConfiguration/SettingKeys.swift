internal import AudioPolicy
internal import AudioSession

/// One key of the configuration: its dotted path, and what its value does.
struct SettingKey: Sendable {
    var path: String
    /// What a right value looks like, for messages.
    var expects: String
    /// Returns whether the value is a right one.
    var set: @Sendable (String, inout PolicySettings) -> Bool

    /// Every key but the effects' and rules'.
    static let all: [SettingKey] = session + levels + timing + others

    private static let session = [
        choice("session.server") { $0.server = $1 },
        choice("session.scope") { $0.scope = $1 },
        SettingKey(path: "session.resume", expects: "true, false, auto or never") { text, settings in
            switch text {
            case "true", "auto": settings.resume = .auto
            case "false", "never": settings.resume = .never
            default: return false
            }
            return true
        },
        milliseconds("session.resume.delay-ms", upTo: 600_000) { $0.resumeDelay = $1 },
    ]

    private static let levels = DuckLevel.allCases.map { level in
        SettingKey(path: "levels.\(level.rawValue)", expects: "decibels from -100 to 0") { text, settings in
            guard let value = decibels(text) else { return false }
            settings.effects.levels[level] = value
            return true
        }
    }

    private static let timing =
        [
            milliseconds("timing.attack-ms", upTo: 10_000) { $0.timing.attack = $1 },
            milliseconds("timing.fade-down-ms", upTo: 10_000) { $0.timing.fadeDown = $1 },
            milliseconds("timing.fade-up-ms", upTo: 10_000) { $0.timing.fadeUp = $1 },
            milliseconds("timing.hold-ms", upTo: 60_000) { $0.timing.hold = $1 },
        ]
        + AudioSessionClientKind.SilenceGroup.allCases.map { group in
            SettingKey(path: "timing.silence-s.\(group.rawValue)", expects: "seconds from 0.1 to 3600") {
                text, settings in
                guard let value = number(text), (0.1...3600).contains(value) else { return false }
                settings.timing.silence[group] = .milliseconds(Int64((value * 1000).rounded()))
                return true
            }
        }

    private static let others = [
        boolean("observed.enabled") { $0.observedEnabled = $1 },
        boolean("observed.recording.effects") { $0.observedRecordingEffects = $1 },
        choice("observed.recording.refuse") { $0.observedRecordingRefusal = $1 },
        milliseconds("bluetooth.headset-hold-ms", upTo: 60_000) { $0.headsetHold = $1 },
        boolean("pulseaudio.take-over-role-modules") { $0.takeOverRoleModules = $1 },
        choice("pulseaudio.restore-entries") { $0.restoreEntries = $1 },
    ]

    private static func boolean(_ path: String, _ set: @escaping @Sendable (inout PolicySettings, Bool) -> Void)
        -> SettingKey
    {
        SettingKey(path: path, expects: "true or false") { text, settings in
            guard let value = Bool(text) else { return false }
            set(&settings, value)
            return true
        }
    }

    private static func choice<Choice: RawRepresentable & CaseIterable & SendableMetatype>(
        _ path: String, _ set: @escaping @Sendable (inout PolicySettings, Choice) -> Void
    ) -> SettingKey where Choice.RawValue == String {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingKey(path: path, expects: "one of \(names)") { text, settings in
            guard let value = Choice(rawValue: text) else { return false }
            set(&settings, value)
            return true
        }
    }

    private static func milliseconds(
        _ path: String, upTo most: Double, _ set: @escaping @Sendable (inout PolicySettings, Duration) -> Void
    ) -> SettingKey {
        SettingKey(path: path, expects: "milliseconds from 0 to \(Int(most))") { text, settings in
            guard let value = number(text), (0...most).contains(value) else { return false }
            set(&settings, .microseconds(Int64((value * 1000).rounded())))
            return true
        }
    }

    static func number(_ text: String) -> Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// `nil` for what is not a level: louder than the baseline, or below what anything plays.
    static func decibels(_ text: String) -> Decibels? {
        guard let value = number(text), (-100...0).contains(value) else { return nil }
        return Decibels(value)
    }

    static let effectExpects =
        "one of \(DuckLevel.allCases.map(\.rawValue).joined(separator: ", ")), pause, mute, none, or decibels from -100 to 0"

    static func cell(_ text: String) -> EffectTable.Cell? {
        if let level = DuckLevel(rawValue: text) { return .duck(level) }
        switch text {
        case "none": return EffectTable.Cell.none
        case "pause": return .pause
        case "mute": return .mute
        default: return decibels(text).map { .decibels($0) }
        }
    }
}
