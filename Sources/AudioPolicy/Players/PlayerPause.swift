import AudioSession
import EventLoop

/// The pause of one media player, from the first question until it is over. Pure: the caller acts on each `Step`.
///
/// Only a player that says Playing is told to pause, and only one that was paused by us, says Paused and was left alone in
/// between is told to play.
struct PlayerPause {
    enum Phase: Equatable {
        /// Its status is read.
        case reading
        /// It was told to pause; what it said before the bus had passed that on is somebody else's doing.
        case asked(isPassedOn: Bool)
        /// Paused by an earlier run: its status is read.
        case adopting
        /// Paused by us, and nobody has touched it since.
        case held
        /// Nobody wants it paused any more; it is to play from this moment on.
        case due(LoopInstant)
        /// Its status is read before it is told to play.
        case checking
        /// It was told to play.
        case starting
    }

    enum Step: Equatable {
        case none
        case read
        case pause
        /// It is paused, by us.
        case confirmed
        case play
        case over(Ending)
    }

    enum Ending: Equatable {
        /// It did not play in the first place, or need not be paused any more.
        case unneeded
        /// No answer, or none that says that it has paused.
        case failed
        /// Somebody else has started it, or stopped it.
        case startedElsewhere, stoppedElsewhere
        /// It plays again, or was told to and does not.
        case resumed
        /// It is not to play by itself.
        case left
    }

    private(set) var phase: Phase
    private(set) var deadline: LoopInstant?
    /// Streams that it played when it was paused and that are gone: plans are made for them as if they were there.
    var absent: [PlannedStream] = []
    /// Paused by an earlier run: who held it cannot be known, so whoever had effects when it was found does.
    var holders: Set<ClaimID> = []

    /// How long a player may take to say that it has paused, and to say whether it plays.
    static let patience: Duration = .milliseconds(300)
    /// How long it may take to play again: nothing is kept waiting for that.
    static let patienceWithStart: Duration = .seconds(2)

    init(now: LoopInstant) {
        phase = .reading
        deadline = now + Self.patience
    }

    init(adoptedAt now: LoopInstant) {
        phase = .adopting
        deadline = now + Self.patienceWithStart
    }

    /// Whether it is not known yet what will come of it.
    var isOpen: Bool {
        switch phase {
        case .reading, .asked: true
        case .adopting, .held, .due, .checking, .starting: false
        }
    }

    /// Whether somebody may still want it paused: not once it was told to play.
    var isHeld: Bool {
        switch phase {
        case .held, .due, .checking: true
        case .reading, .asked, .adopting, .starting: false
        }
    }

    var isStarting: Bool { phase == .starting }

    // MARK: What the player says

    /// It says by itself that its status has changed.
    mutating func changed(_ status: PlaybackStatus, now: LoopInstant) -> Step {
        switch (phase, status) {
        case (.reading, _), (.adopting, _): .none
        case (.asked(isPassedOn: true), .paused): hold()
        case (.asked, .playing): .none
        case (.asked, _): .over(.stoppedElsewhere)
        case (.starting, .playing): .over(.resumed)
        case (.held, .paused), (.due, .paused), (.checking, .paused), (.starting, .paused): .none
        case (_, .playing): .over(.startedElsewhere)
        case (_, _): .over(.stoppedElsewhere)
        }
    }

    /// It answers the question for its status.
    mutating func answered(_ status: PlaybackStatus?, now: LoopInstant) -> Step {
        switch (phase, status) {
        case (.reading, .playing):
            phase = .asked(isPassedOn: false)
            deadline = now + Self.patience
            return .pause
        case (.reading, nil): return .over(.failed)
        case (.reading, _): return .over(.unneeded)
        case (.asked, .paused), (.adopting, .paused): return hold()
        case (.asked, .stopped): return .over(.stoppedElsewhere)
        case (.checking, .paused):
            phase = .starting
            deadline = now + Self.patienceWithStart
            return .play
        case (.adopting, _), (.checking, _):
            return .over(status == .playing ? .startedElsewhere : .stoppedElsewhere)
        case (.starting, .playing): return .over(.resumed)
        case (.asked, _), (.starting, _), (.held, _), (.due, _): return .none
        }
    }

    mutating func passedOn() -> Step {
        if case .asked = phase { phase = .asked(isPassedOn: true) }
        return .none
    }

    /// It has taken note of `pause` or `play`: some say so and not what has come of it.
    mutating func acknowledged() -> Step {
        switch phase {
        case .asked, .starting: .read
        default: .none
        }
    }

    private mutating func hold() -> Step {
        phase = .held
        deadline = nil
        return .confirmed
    }

    // MARK: What is wanted

    /// - Parameter delay: from the moment when nobody wants it paused any more until it plays; `nil`: it is left paused.
    mutating func want(_ isWanted: Bool, resumingAfter delay: Duration?, now: LoopInstant) -> Step {
        switch (phase, isWanted) {
        case (.reading, false): return .over(.unneeded)
        case (.held, false):
            guard let delay else { return .over(.left) }
            phase = .due(now + delay)
            deadline = now + delay
            return passed(now)
        case (.due, true), (.checking, true):
            phase = .held
            deadline = nil
            return .none
        default: return .none
        }
    }

    /// What a deadline that has come makes of it.
    mutating func passed(_ now: LoopInstant) -> Step {
        guard let deadline, deadline <= now else { return .none }
        switch phase {
        case .reading, .asked: return .over(.failed)
        case .due:
            phase = .checking
            self.deadline = now + Self.patienceWithStart
            return .read
        case .adopting, .checking: return .over(.stoppedElsewhere)
        case .starting: return .over(.resumed)
        case .held: return .none
        }
    }
}
