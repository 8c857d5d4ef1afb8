public import AudioSession

/// `media.role`, read without regard to case in either server's vocabulary.
public enum MediaRole: String, CaseIterable, Sendable {
    case music, video, game, event, phone, animation, production, a11y, test
    /// PulseAudio's roles of its modules' own streams.
    case filter, abstract
    /// PipeWire's role of signal processors.
    case dsp

    /// `nil` for a role that neither server's vocabulary has, garbage included.
    public init?(_ text: String?) {
        guard let text, text.utf8.count <= 32, let role = Self.byName[text.lowercased()] else { return nil }
        self = role
    }

    private static let byName: [String: MediaRole] = {
        var names: [String: MediaRole] = [:]
        for role in allCases { for spelling in role.spellings { names[spelling.lowercased()] = role } }
        return names
    }()

    /// PipeWire's word for it, where that is another one than PulseAudio's.
    private static let pipeWireNames: [MediaRole: String] = [
        .video: "Movie", .event: "Notification", .phone: "Communication", .a11y: "Accessibility",
    ]

    /// The role in each vocabulary: rules may be written in either.
    public var spellings: [String] {
        let pipeWire = Self.pipeWireNames[self] ?? rawValue.prefix(1).uppercased() + rawValue.dropFirst()
        return [rawValue, pipeWire]
    }

    /// What a playback stream of this role is; `nil` where the role says nothing about it.
    public var playbackKind: AudioSessionClientKind? { Self.playbackKinds[self] }

    /// What a capture stream of this role is; `nil` where the role says nothing about it. Direction comes first:
    /// programs label their recordings as music.
    public var captureKind: AudioSessionClientKind? {
        switch self {
        case .phone: .call
        case .production: .recording
        default: nil
        }
    }

    /// The table of kinds turned around. Where several kinds share a role, the one that a program without a claim means.
    private static let playbackKinds: [MediaRole: AudioSessionClientKind] = {
        var kinds: [MediaRole: AudioSessionClientKind] = [:]
        for kind in [AudioSessionClientKind.ambient, .mediaPlayback, .game, .speech, .call] {
            for role in kind.traits.pulseAudioRoles + kind.traits.pipeWireRoles {
                if let role = MediaRole(role), kinds[role] == nil { kinds[role] = kind }
            }
        }
        return kinds
    }()
}
