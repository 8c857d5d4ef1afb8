package import AudioPolicy
public import AudioSession
import FoundationEssentials
import SoundServerFinder
package import SystemEventLoop

/// The composition root for programs.
public enum AudioSessionManagerFactory {
    /// The program's one manager; make it once, where the program is put together, and hand it to whoever plays or
    /// records.
    ///
    /// Returns at once. The claims are held by the session's daemon where one runs, or where the bus can start one; else
    /// by this process itself, which then looks after its own claims and acts on nobody else's streams. Which of the two
    /// may change at any time, and the claims stay valid.
    ///
    /// - Parameter name: what people are told that the program is called; `nil`: its executable's name.
    public static func make(name: String? = nil) -> any AudioSessionManagerProtocol & CallControlProtocol {
        make(
            Surroundings(
                name: name ?? Surroundings.executableName, environment: ProcessInfo.processInfo.environment,
                makeServer: makeSoundServer))
    }

    package static func make(_ surroundings: Surroundings) -> any AudioSessionManagerProtocol & CallControlProtocol {
        guard let session = try? ProgramSession(surroundings) else {
            // The process can have no loop: it is out of descriptors or threads. Its claims are ranked all the same.
            return AudioSessionManager(
                driver: SilentDriver(), owner: ClaimOwner(name: surroundings.name), on: TaskPoolExecutor())
        }
        return session
    }
}

/// What a program's session is made of.
package struct Surroundings {
    /// The program's, for people.
    package var name: String
    /// Leads to the bus and to the sound server.
    package var environment: [String: String]
    /// Makes a connection to a sound server that is not started yet.
    package var makeServer: @Sendable (ServerKind, SystemEventLoop) throws -> any SoundServer
    /// How long a daemon may take for an answer (field case PER-06).
    package var patience = Duration.milliseconds(200)

    package init(
        name: String, environment: [String: String],
        makeServer: @escaping @Sendable (ServerKind, SystemEventLoop) throws -> any SoundServer
    ) {
        self.name = name
        self.environment = environment
        self.makeServer = makeServer
    }

    static var executableName: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "a program"
    }
}

/// Applies nothing.
private final class SilentDriver: AudioSessionDriver {
    var onEvent: ((AudioSessionDriverEvent) -> Void)?
    func apply(_ state: SessionState) {}
    func route() -> AudioRoute { AudioRoute(outputs: []) }
    func diagnostics() -> String { "no loop to reach a sound server from" }
}
