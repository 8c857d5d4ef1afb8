/// PulseAudio: which roles a cork request is sent to, all at once or none.
///
/// The server's module acts on whole roles. It mutes again what a user has unmuted, and asks a second time whom it has
/// asked already. So a role is corked only while every stream of it that plays is to pause, and at the first exception
/// the request is taken back for good; the rest is then muted one by one, until no stream is to pause any more.
struct CorkRequests {
    struct Member: Equatable {
        var role: String
        var isRunning: Bool
        /// Its plan is a pause, nobody has undone it, and nobody else had muted it before.
        var isToPause: Bool
    }

    private struct Count {
        var toPause = 0
        var exceptions = 0
    }

    private var members: [StreamID: Member] = [:]
    private var counts: [String: Count] = [:]
    private var toPause = 0
    /// Taken back early, or turned down by the server.
    private var isSpent = false
    private(set) var isImpossible = false
    /// What the request in force is for.
    private(set) var roles: Set<String> = []

    mutating func set(_ id: StreamID, _ member: Member?) {
        let old = members[id]
        guard old != member else { return }
        if let old { count(old, -1) }
        members[id] = member
        if let member { count(member, 1) }
    }

    private mutating func count(_ member: Member, _ sign: Int) {
        guard member.isRunning else { return }
        if member.isToPause {
            counts[member.role, default: Count()].toPause += sign
            toPause += sign
        } else {
            counts[member.role, default: Count()].exceptions += sign
        }
        if let count = counts[member.role], count.toPause == 0, count.exceptions == 0 { counts[member.role] = nil }
    }

    func streams(of roles: Set<String>) -> [StreamID] { members.filter { roles.contains($0.value.role) }.map(\.key) }

    /// Returns the roles to ask for now, if they are other ones than before.
    mutating func decide() -> Set<String>? {
        let before = roles
        if toPause == 0 {
            isSpent = false
            roles = []
        } else if !roles.isEmpty {
            if roles.contains(where: { (counts[$0]?.exceptions ?? 0) > 0 }) { withdraw() }
        } else if !isSpent, !isImpossible {
            roles = Set(counts.filter { $0.value.exceptions == 0 && $0.value.toPause > 0 }.map(\.key))
            // What is muted instead stays so: asked later, its program would be heard in between.
            if counts.contains(where: { $0.value.exceptions > 0 && $0.value.toPause > 0 }) { isSpent = true }
        }
        return roles == before ? nil : roles
    }

    /// No more until no stream is to pause.
    mutating func withdraw() {
        roles = []
        isSpent = true
    }

    mutating func fail() {
        roles = []
        isImpossible = true
    }
}
