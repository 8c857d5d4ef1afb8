public import AudioPolicy
internal import Glibc

/// The configuration as it was found: the settings that it makes, and what is wrong with it.
public struct PolicyConfiguration: Sendable {
    public var settings: PolicySettings
    /// In the order of the files.
    public var problems: [ConfigurationProblem]
    /// The files that were read, in their order.
    public var files: [String]

    /// Whether nothing worse than a warning was found. Otherwise the settings must not be used.
    public var isUsable: Bool { !problems.contains { !$0.isWarning } }

    /// Where configuration is looked for: the distribution's, the machine's, the user's; later ones have precedence.
    public static func defaultDirectories() -> [String] {
        ["/usr/share/sordino", "/etc/sordino"] + (userDirectory().map { [$0] } ?? [])
    }

    /// `$XDG_CONFIG_HOME/sordino`; `nil` where there is no home directory either.
    public static func userDirectory() -> String? {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        // A relative path in the variable is to be ignored.
        if let base = variable("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/sordino" }
        guard let home = variable("HOME"), !home.isEmpty else { return nil }
        return home + "/.config/sordino"
    }

    /// Reads the built-in defaults, then `applications.conf`, `sordino.conf` and `sordino.conf.d/*.conf` of each directory.
    public static func load(directories: [String] = defaultDirectories()) -> PolicyConfiguration {
        load(files: directories.flatMap(files(in:)))
    }

    /// Reads the built-in defaults, then these files.
    public static func load(files: [String]) -> PolicyConfiguration {
        var reader = withDefaults()
        for file in files {
            switch contents(of: file) {
            case .success(let text):
                reader.read(text, file: file, replacesTable: file.hasSuffix("/" + tableName))
            case .failure(let error): reader.fail(file, 1, error.message)
            }
        }
        return finish(&reader, files)
    }

    /// The built-in defaults with one text on top.
    public static func read(_ text: String, file: String) -> PolicyConfiguration {
        var reader = withDefaults()
        reader.read(text, file: file)
        return finish(&reader, [file])
    }

    private static let tableName = "applications.conf"

    private static func withDefaults() -> ConfigurationReader {
        var reader = ConfigurationReader()
        reader.read(EmbeddedConfiguration.applications, file: tableName)
        reader.read(EmbeddedConfiguration.defaults, file: "sordino.conf")
        return reader
    }

    private static func finish(_ reader: inout ConfigurationReader, _ files: [String]) -> PolicyConfiguration {
        let settings = reader.finish()
        return PolicyConfiguration(settings: settings, problems: reader.problems, files: files)
    }

    private static func files(in directory: String) -> [String] {
        let fixed = [tableName, "sordino.conf"].map { directory + "/" + $0 }.filter { access($0, F_OK) == 0 }
        let folder = directory + "/sordino.conf.d"
        return fixed
            + names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }.sorted().map {
                folder + "/" + $0
            }
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    private struct ReadError: Error {
        var message: String
    }

    /// No configuration is larger than this.
    private static let largestFile = 1 << 20

    private static func contents(of file: String) -> Result<String, ReadError> {
        switch FileText.read(file, upTo: largestFile) {
        case .success(let text):
            text.contains("\u{FFFD}") ? .failure(ReadError(message: "this is not UTF-8 text")) : .success(text)
        case .failure(let error): .failure(ReadError(message: error.message))
        }
    }
}
