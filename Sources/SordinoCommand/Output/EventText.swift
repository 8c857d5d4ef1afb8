import AudioPolicy
import Glibc

/// One event as people read it, in one line.
enum EventText {
    static func line(_ event: SessionEvent) -> String { "\(clock(event.time))  \(sentence(event))" }

    private static func sentence(_ event: SessionEvent) -> String {
        switch event.event {
        case .claimAcquired: "\(claim(event)) begins"
        case .claimReleased: "\(claim(event)) ends"
        case .winnerChanged:
            event.winner.map { "the winner is \(event.claim == nil ? $0.shown() : claim(event))" }
                ?? "no claim wins any more"
        case .standingChanged: "\(claim(event)) is \(event.claim?.standing.shown() ?? "?")\(counting(event.claim))"
        case .effectChanged: stream(event)
        case .routeChanged: "the route is \(device(event))"
        case .deviceChanged: "\(device(event)) has changed"
        case .deviceListChanged: "the list of devices has changed"
        case .deviceUnavailable: "\(device(event)) is not available any more"
        case .interrupted: "\(event.claim == nil ? "the session" : claim(event)) is interrupted\(reason(event))"
        case .interruptionEnded: "\(event.claim == nil ? "the session" : claim(event)) goes on\(reason(event))"
        case .serverConnected: "connected to \(event.server.map(StatusText.server) ?? "a sound server")"
        case .serverLost: "the sound server is gone\(reason(event))"
        case .warning: "warning: \(event.message?.shown(limit: 400) ?? "?")"
        }
    }

    private static func claim(_ event: SessionEvent) -> String {
        guard let claim = event.claim else { return "a claim" }
        return "\(claim.kind.shown()) of \(StatusText.program(claim.owner.name)) (\(claim.id.shown()))"
    }

    private static func counting(_ claim: SessionStatus.Claim?) -> String {
        claim.map { $0.counts ? "" : ", silent" } ?? ""
    }

    private static func stream(_ event: SessionEvent) -> String {
        guard let stream = event.stream else { return "a stream's effect has changed" }
        let name = "\(StatusText.program(stream.application)) (\(stream.id.shown()))"
        guard let effect = stream.effect else {
            return stream.overridden ? "\(name) is left alone: somebody undid its effect" : "\(name) is back as it was"
        }
        let because = effect.because.map { $0.shown() }.joined(separator: ", ")
        return "\(name) is \(StatusText.action(effect))\(because.isEmpty ? "" : ", because of \(because)")"
    }

    private static func device(_ event: SessionEvent) -> String { event.device?.name.shown() ?? "a device" }

    private static func reason(_ event: SessionEvent) -> String {
        event.message.map { ": \($0.shown(limit: 400))" } ?? ""
    }

    /// Local time of day.
    private static func clock(_ seconds: Double) -> String {
        guard var time = time_t(exactly: seconds.rounded(.down)) else { return "--:--:--" }
        var parts = tm()
        localtime_r(&time, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
    }
}
