public import AudioPolicy
import Glibc

/// Where a sound server of each kind would be, by the variables that its own library reads.
public struct ServerPlaces: Equatable, Sendable {
    public enum Place: Equatable, Sendable {
        /// A socket in the file system: can be seen to appear.
        case socket(String)
        /// Another machine, an abstract socket: can only be tried.
        case elsewhere(String)
    }

    private let places: [ServerKind: [Place]]

    public init(environment: [String: String]) {
        places = [
            .pulseaudio: Self.pulseAudio(environment),
            .pipewire: Self.pipeWire(environment),
        ]
    }

    public subscript(kind: ServerKind) -> [Place] { places[kind] ?? [] }

    public enum Presence: Equatable, Sendable {
        case absent
        /// It is worth trying to connect.
        case possible
        /// The socket at this path is not for this user.
        case forbidden(String)
    }

    /// What the file system says, without connecting.
    public func presence(of kind: ServerKind) -> Presence {
        var forbidden: Presence?
        for place in self[kind] {
            guard case .socket(let path) = place, access(path, W_OK) != 0 else { return .possible }
            if errno == EACCES || errno == EPERM { forbidden = .forbidden(path) }
        }
        return forbidden ?? .absent
    }

    /// Whether what listens where PulseAudio would be is PipeWire for certain. It may be without: where a service manager
    /// has opened the socket only the server itself can say.
    public var isPulseAudioInDisguise: Bool {
        for case .socket(let path) in self[.pulseaudio] {
            if let program = listener(on: path) { return program.hasPrefix("pipewire") }
        }
        return false
    }

    public func sockets(of kinds: [ServerKind]) -> [String] {
        kinds.flatMap { self[$0] }.compactMap { if case .socket(let path) = $0 { path } else { nil } }
    }

    public func hasUnseen(_ kinds: [ServerKind]) -> Bool {
        kinds.flatMap { self[$0] }.contains { if case .elsewhere = $0 { true } else { false } }
    }

    /// `PULSE_SERVER` is a list, each entry perhaps led by `{machine-id}`.
    private static func pulseAudio(_ environment: [String: String]) -> [Place] {
        if let servers = environment["PULSE_SERVER"], !servers.isEmpty {
            return servers.split(separator: " ").map { entry in
                var address = entry
                if address.hasPrefix("{"), let end = address.firstIndex(of: "}") {
                    address = address[address.index(after: end)...]
                }
                if address.hasPrefix("unix:") { address = address.dropFirst(5) }
                return address.hasPrefix("/") ? .socket(String(address)) : .elsewhere(String(address))
            }
        }
        if let directory = environment["PULSE_RUNTIME_PATH"], !directory.isEmpty {
            return [.socket(directory + "/native")]
        }
        guard let directory = environment["XDG_RUNTIME_DIR"], !directory.isEmpty else { return [] }
        return [.socket(directory + "/pulse/native")]
    }

    /// `PIPEWIRE_REMOTE` is a name or a path, or a list of them in brackets.
    private static func pipeWire(_ environment: [String: String]) -> [Place] {
        let remote = environment["PIPEWIRE_REMOTE"].flatMap { $0.isEmpty ? nil : $0 } ?? "pipewire-0"
        let directory = ["PIPEWIRE_RUNTIME_DIR", "XDG_RUNTIME_DIR", "USERPROFILE"].lazy
            .compactMap { environment[$0] }.first { !$0.isEmpty }
        let names = remote.split { "[], \"".contains($0) }
        return names.compactMap { name in
            if name.hasPrefix("/") { return .socket(String(name)) }
            return directory.map { .socket("\($0)/\(name)") }
        }
    }
}
