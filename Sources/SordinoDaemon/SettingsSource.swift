public import AudioPolicy
public import AudioPolicyConfiguration

/// Where the daemon's settings come from.
public struct SettingsSource: Sendable {
    /// One file in place of the user's and the system's.
    public var file: String?

    public init(file: String? = nil) { self.file = file }

    /// Reads it all; throws with one line for each error where it cannot be used.
    public func load() throws(CommandFailure) -> (settings: PolicySettings, warnings: [String]) {
        let found = file.map { PolicyConfiguration.load(files: [$0]) } ?? PolicyConfiguration.load()
        try found.refuse()
        return (found.settings, found.warnings)
    }
}

extension PolicyConfiguration {
    /// Throws with one line for each error.
    public func refuse() throws(CommandFailure) {
        let errors = problems.filter { !$0.isWarning }
        guard errors.isEmpty else {
            throw CommandFailure(ExitCode.configuration, errors.map(\.description).joined(separator: "\n"))
        }
    }

    /// A line for each doubt about the user's own files; nobody can mend those that are built in.
    public var warnings: [String] {
        problems.filter { $0.isWarning && files.contains($0.file) }.map(\.description)
    }
}
