import EventLoop

/// What the meters of a claim's streams have told.
struct Ear {
    /// Below −60 dBFS a stream is silent.
    static let silenceThreshold = 0.001

    private var lastSound: LoopInstant?
    /// A meter that reports nothing proves no silence.
    private var lastReport: LoopInstant?

    /// Listens from now on, as if there had been sound.
    mutating func begin(now: LoopInstant) { lastSound = now }

    /// Takes a meter's report. Returns whether it is one of sound.
    mutating func hear(_ peak: Double, now: LoopInstant) -> Bool {
        lastReport = now
        guard peak >= Self.silenceThreshold else { return false }
        lastSound = now
        return true
    }

    /// When a silence will have lasted for so long, unless there is sound before.
    mutating func deadline(after silence: Duration, now: LoopInstant) -> LoopInstant {
        let sound = lastSound ?? now
        lastSound = sound
        return sound + silence
    }

    /// Whether it has been silent for so long. Where no meter has said so the wait begins anew.
    mutating func hasBeenSilent(for silence: Duration, now: LoopInstant) -> Bool {
        guard let lastSound, lastSound + silence <= now else { return false }
        if let lastReport, lastReport > lastSound { return true }
        self.lastSound = now
        return false
    }
}
