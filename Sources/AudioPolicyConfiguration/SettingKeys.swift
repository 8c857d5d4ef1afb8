internal import AudioPolicy
internal import AudioSession

/// One key of the configuration. What is said of a key, in messages, in `config show`, in the manual page and in the
/// reference, is said here.
struct SettingKey: Sendable {
    /// Dotted; a key's unit is a part of its name.
    var path: String
    /// What it decides: sentences. Words of the file stand between backticks.
    var meaning: String
    /// What a right value looks like, with its unit and range.
    var expects: String
    /// The value in force, as it is written.
    var value: @Sendable (PolicySettings) -> String
    /// Returns whether the value is a right one.
    var set: @Sendable (String, inout PolicySettings) -> Bool

    /// What it is where nobody has set it.
    var standard: String { value(PolicySettings()) }

    /// Every key but the effects' and rules'.
    static let all: [SettingKey] = session + levels + timing + others

    private static let session = [
        choice(
            "session.server", \.server,
            """
            Which sound server is looked after: the one that answers (`auto`), or only this one. Read at the start: \
            another takes a new start of the daemon.
            """),
        choice(
            "session.scope", \.scope,
            """
            Who gives way: the streams that end on the same physical output as the voice (`same-output`), or all of \
            them (`everywhere`).
            """),
        SettingKey(
            path: "session.resume",
            meaning: """
                Whether a media player that was paused plays again by itself once nobody needs it paused: `auto`, yes; \
                `never`, its user starts it. `true` and `false` are other words for the two. What was paused or muted \
                without the help of its player always comes back, since nobody else could bring it back.
                """,
            expects: "auto or never, true or false"
        ) { settings in
            settings.resume.rawValue
        } set: { text, settings in
            switch text {
            case "true", "auto": settings.resume = .auto
            case "false", "never": settings.resume = .never
            default: return false
            }
            return true
        },
        milliseconds(
            "session.resume.delay-ms", upTo: 600_000, \.resumeDelay,
            """
            How long after the end of what paused it a media player plays again. A new call, its user, or the player's \
            own end puts an end to the waiting.
            """),
    ]

    private static let levels = DuckLevel.allCases.map { level in
        SettingKey(
            path: "levels.\(level.rawValue)", meaning: "What the level `\(level.rawValue)` stands for.",
            expects: "decibels from -100 to 0"
        ) { settings in
            Written.number(settings.effects.levels[level]?.value ?? 0)
        } set: { text, settings in
            guard let value = decibels(text) else { return false }
            settings.effects.levels[level] = value
            return true
        }
    }

    private static let timing =
        [
            milliseconds(
                "timing.attack-ms", upTo: 10_000, \.timing.attack,
                "How long a voice must last before anything happens. Claims that programs make themselves do not wait."
            ),
            milliseconds(
                "timing.fade-down-ms", upTo: 10_000, \.timing.fadeDown, "How long going down takes; 0 is at once."),
            milliseconds(
                "timing.fade-up-ms", upTo: 10_000, \.timing.fadeUp, "How long coming back takes; 0 is at once."),
            milliseconds(
                "timing.hold-ms", upTo: 60_000, \.timing.hold,
                """
                How long everything stays as it is after the voice has ended. Claims that programs make themselves do \
                not wait.
                """),
        ] + AudioSessionClientKind.SilenceGroup.allCases.map(silence)

    private static let others = [
        boolean(
            "observed.enabled", \.observedEnabled,
            """
            Whether others give way to programs that know nothing of Sordino. With `false`, only to those that hold a \
            claim themselves.
            """),
        boolean(
            "observed.recording.effects", \.observedRecordingEffects,
            "Whether others give way to a program that records a microphone without holding a claim."),
        choice(
            "observed.recording.refuse", \.observedRecordingRefusal,
            """
            What happens during a call to a program that records a microphone without holding a claim: nothing \
            (`never`), or it hears silence (`mute`).
            """),
        milliseconds(
            "bluetooth.headset-hold-ms", upTo: 60_000, \.headsetHold,
            "How long a Bluetooth headset is to stay in its call profile after the last call. Nothing reads it yet."),
        boolean(
            "pulseaudio.take-over-role-modules", \.takeOverRoleModules,
            """
            Whether `module-role-ducking` and `module-role-cork` step aside while Sordino runs; they are loaded again \
            at its end. With `false` they stay in charge of the roles that they were given.
            """),
        choice(
            "pulseaudio.restore-entries", \.restoreEntries,
            """
            Whether the volumes that PulseAudio remembers for programs are kept as their user left them (`heal`), or \
            may be left at a lowered level (`leave`).
            """),
    ]

    private static func silence(_ group: AudioSessionClientKind.SilenceGroup) -> SettingKey {
        let meaning =
            switch group {
            case .voice: keptOpen(by: "a voice client")
            case .speech: keptOpen(by: "a speech service")
            case .alarm: keptOpen(by: "an alarm")
            case .advanced:
                """
                How long nobody may speak, on either side of a claim with advanced ducking (`ducking-advanced`), before \
                others come back up.
                """
            }
        return SettingKey(
            path: "timing.silence-s.\(group.rawValue)", meaning: meaning,
            expects: "seconds from 0.1 to 3600"
        ) { settings in
            Written.number(Written.seconds(settings.timing.silence[group] ?? .zero))
        } set: { text, settings in
            guard let value = number(text), (0.1...3600).contains(value) else { return false }
            settings.timing.silence[group] = .milliseconds(Int64((value * 1000).rounded()))
            return true
        }
    }

    private static func keptOpen(by whom: String) -> String {
        "How long \(whom) that keeps its stream open may be silent before nobody gives way to it any more."
    }

    private typealias Place<Value> = WritableKeyPath<PolicySettings, Value> & Sendable

    private static func boolean(_ path: String, _ place: any Place<Bool>, _ meaning: String) -> SettingKey {
        SettingKey(path: path, meaning: meaning, expects: "true or false") { settings in
            String(settings[keyPath: place])
        } set: { text, settings in
            guard let value = Bool(text) else { return false }
            settings[keyPath: place] = value
            return true
        }
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ path: String, _ place: any Place<Choice>, _ meaning: String
    ) -> SettingKey {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingKey(path: path, meaning: meaning, expects: "one of \(names)") { settings in
            settings[keyPath: place].rawValue
        } set: { text, settings in
            guard let value = Choice(rawValue: text) else { return false }
            settings[keyPath: place] = value
            return true
        }
    }

    private static func milliseconds(
        _ path: String, upTo most: Double, _ place: any Place<Duration>, _ meaning: String
    ) -> SettingKey {
        SettingKey(path: path, meaning: meaning, expects: "milliseconds from 0 to \(Int(most))") { settings in
            Written.number(Written.seconds(settings[keyPath: place]) * 1000)
        } set: { text, settings in
            guard let value = number(text), (0...most).contains(value) else { return false }
            settings[keyPath: place] = .microseconds(Int64((value * 1000).rounded()))
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

/// Values as configuration has them.
enum Written {
    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }

    static func effect(_ cell: EffectTable.Cell) -> String {
        switch cell {
        case .none: "none"
        case .pause: "pause"
        case .mute: "mute"
        case .duck(let level): level.rawValue
        case .decibels(let value): number(value.value)
        }
    }
}
