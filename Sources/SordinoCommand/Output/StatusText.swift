import AudioPolicy
import Glibc
import SordinoDaemon

/// The session as people read it.
struct StatusText {
    private let status: SessionStatus
    private let claims: [String: SessionStatus.Claim]

    init(_ status: SessionStatus) {
        self.status = status
        claims = Dictionary(status.claims.map { ($0.id, $0) }) { first, _ in first }
    }

    var text: String {
        head + claimTable + streamTable + Self.devices(status.devices) + "\nLedger    \(ledger)\n"
            + status.warnings.map { "Warning   \($0.shown(limit: 400))\n" }.joined()
    }

    // MARK: Head

    private var head: String {
        """
        Server    \(Self.server(status.server))
        Session   \(status.session.state.shown()); \(winner)
        Effects   \(status.enabled ? "on" : "off; “sordino on” switches them on again")

        """
    }

    static func server(_ server: SessionStatus.Server) -> String {
        guard let kind = server.kind else { return "none yet; waiting for one" }
        let name =
            (ServerKind(rawValue: kind)?.shownName ?? kind.shown()) + (server.version.map { " \($0.shown())" } ?? "")
        return name + (server.connected ? ", connected" : ", gone; waiting for it")
    }

    private var winner: String {
        guard let winner = status.session.winner else { return "no claim wins" }
        return "the winner is \(person(winner))"
    }

    private var ledger: String {
        switch status.ledger.entries {
        case 0: "empty: nothing has to be undone"
        case 1: "1 change to undo"
        case let count: "\(count) changes to undo"
        }
    }

    // MARK: Tables

    private var claimTable: String {
        var table = TextTable("Claims", ["ID", "KIND", "PROGRAM", "STANDING", "ORIGIN", "OUTPUT", "STREAMS"])
        for claim in status.claims {
            let standing =
                claim.standing.shown() + (claim.counts ? "" : ", silent") + (claim.activated ? "" : ", not active")
            table.add(
                claim.id.shown(), claim.kind.shown(), Self.owner(claim.owner), standing, claim.origin.shown(),
                claim.output.shown(), claim.streams.map { $0.shown() }.joined(separator: " "))
        }
        return table.text
    }

    private var streamTable: String {
        let devices = Dictionary(status.devices.map { ($0.id, $0.name) }) { first, _ in first }
        var table = TextTable("Streams", ["ID", "PROGRAM", "TAKEN FOR", "DEVICE", "VOLUME", "STATE", "EFFECT"])
        for stream in status.streams {
            let name = stream.device.map { devices[$0] ?? $0 }?.shown(limit: 28) ?? "–"
            table.add(
                stream.id.shown(), Self.program(stream.application), Self.kind(stream),
                (stream.direction == "input" ? "from " : "") + name, Self.volume(stream.baseline), Self.state(stream),
                effect(stream))
        }
        return table.text
    }

    static func devices(_ devices: [SessionStatus.Device]) -> String {
        var table = TextTable("Devices", ["ID", "NAME", "TYPE", "DIRECTION", "STATE"])
        for device in devices {
            let state = device.current ? "in use" : device.available ? "" : "not plugged in"
            table.add(
                device.id.shown(limit: 60), device.name.shown(limit: 40), device.type.shown(),
                device.direction.shown(), state)
        }
        return table.text
    }

    // MARK: Cells

    static func program(_ name: String) -> String { name.isEmpty ? "(unnamed)" : name.shown(limit: 32) }

    static func owner(_ owner: SessionStatus.Owner) -> String {
        let detail = [owner.sandbox?.shown(limit: 32), owner.pid.map { "process \($0)" }].compactMap(\.self)
        return program(owner.name) + (detail.isEmpty ? "" : " (\(detail.joined(separator: ", ")))")
    }

    /// `call of linphone (c3)`.
    private func person(_ id: String) -> String {
        guard let claim = claims[id] else { return id.shown() }
        return "\(claim.kind.shown()) of \(Self.program(claim.owner.name)) (\(id.shown()))"
    }

    static func kind(_ stream: SessionStatus.Stream) -> String {
        if stream.plumbing { return "plumbing" }
        guard let kind = stream.kind else { return "nothing" }
        return "\(kind.shown()) (by \(stream.classifiedBy.shown()))"
    }

    static func state(_ stream: SessionStatus.Stream) -> String {
        let words = [stream.corked ? "paused" : nil, stream.muted ? "muted" : nil].compactMap(\.self)
        return words.isEmpty ? "running" : words.joined(separator: ", ")
    }

    /// The baseline in the mixers' per cent, which are cubic: half on the slider is an eighth of the amplitude.
    static func volume(_ channels: [Double]) -> String {
        let percents = channels.map { channel in
            let percent = (cbrt(max(0, channel)) * 100).rounded()
            return percent < 100_000 ? "\(Int(percent))" : "?"
        }
        guard let first = percents.first else { return "–" }
        return (percents.allSatisfy { $0 == first } ? first : percents.joined(separator: "/")) + " %"
    }

    private func effect(_ stream: SessionStatus.Stream) -> String {
        guard let effect = stream.effect else { return stream.overridden ? "none: somebody undid it" : "" }
        let because = effect.because.map(person).joined(separator: " and ")
        return Self.action(effect) + (because.isEmpty ? "" : ", because of the \(because)")
    }

    /// `ducked by 20 dB`, `paused`, `muted`.
    static func action(_ effect: SessionStatus.StreamEffect) -> String {
        switch effect.action {
        case "duck": "ducked by \(decibels(effect.decibels ?? 0)) dB"
        case "pause": "paused"
        case "mute": "muted"
        default: effect.action.shown()
        }
    }

    private static func decibels(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1000 else { return "?" }
        let tenths = Int((abs(value) * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
