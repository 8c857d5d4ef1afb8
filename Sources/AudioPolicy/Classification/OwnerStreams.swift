import AudioSession

/// The streams of one owner, and what they say of each other.
struct OwnerStreams {
    var streams: Set<StreamID> = []
    /// Every capture of a microphone, whatever it is for.
    private var microphones: Set<StreamID> = []
    /// `media.name` of each microphone capture that may be one side of a call.
    private var voices: [StreamID: String] = [:]
    /// `media.name` of each playback that nothing says anything of.
    private var playbacks: [StreamID: String] = [:]
    /// Streams that are a call by their own evidence.
    private var calls: [StreamID: AudioSessionClientKind] = [:]
    /// Playback that is speech by its own evidence.
    private var speeches: Set<StreamID> = []
    /// What the members were last decided and concluded by.
    var decidedCapturing = false
    var concludedPairing = Pairing()

    /// What decides the kinds of streams that have no evidence of their own.
    struct Pairing: Equatable {
        var hasVoice = false
        var hasPlayback = false
        /// The kind of the call that the undecided streams are part of.
        var kind = AudioSessionClientKind.groupCall
        /// Names that a capture and a playback share. Where there are any, playbacks of other names are something else
        /// (a browser's music beside its call).
        var sharedNames: Set<String> = []
        /// What a screen reader plays beside its voice belongs to it, whatever its cues lack.
        var speaks = false
    }

    var isCapturing: Bool { !microphones.isEmpty }

    var pairing: Pairing {
        var pairing = Pairing(hasVoice: !voices.isEmpty)
        pairing.hasPlayback = !playbacks.isEmpty || calls.keys.contains { $0.direction == .output }
        if !calls.isEmpty { pairing.kind = calls.values.contains(.call) ? .call : .groupCall }
        pairing.speaks = !speeches.isEmpty
        let names = Set(voices.values.filter { !$0.isEmpty })
        if !names.isEmpty { pairing.sharedNames = names.intersection(playbacks.values) }
        return pairing
    }

    mutating func note(_ id: StreamID, _ nature: StreamNature) {
        if nature.isMicrophone { microphones.insert(id) } else { microphones.remove(id) }
    }

    mutating func note(
        _ id: StreamID, _ nature: StreamNature, kind: AudioSessionClientKind?, isPlumbing: Bool, name: String
    ) {
        let isOpen = kind == nil && !isPlumbing
        let isCall = kind?.isCall == true
        voices[id] = nature.isMicrophone && (isOpen || isCall) ? name : nil
        playbacks[id] = id.direction == .output && isOpen ? name : nil
        calls[id] = isCall ? kind : nil
        if kind == .speech, !isPlumbing { speeches.insert(id) } else { speeches.remove(id) }
    }

    mutating func remove(_ id: StreamID) {
        streams.remove(id)
        microphones.remove(id)
        voices[id] = nil
        playbacks[id] = nil
        calls[id] = nil
        speeches.remove(id)
    }
}
