public import AudioPolicy
import AudioPolicyConfiguration

/// Where the daemon's settings come from.
public struct SettingsSource: Sendable {
    /// One file in place of the user's and the system's.
    public var file: String?

    public init(file: String? = nil) { self.file = file }

    /// Reads it all; throws with one line for each error where it cannot be used, and passes warnings on.
    public func load(warn: (String) -> Void = { _ in }) throws(CommandFailure) -> PolicySettings {
        let found = file.map { PolicyConfiguration.load(files: [$0]) } ?? PolicyConfiguration.load()
        let errors = found.problems.filter { !$0.isWarning }
        guard errors.isEmpty else {
            throw CommandFailure(ExitCode.configuration, errors.map(\.description).joined(separator: "\n"))
        }
        for problem in found.problems { warn(problem.description) }
        return found.settings
    }
}
