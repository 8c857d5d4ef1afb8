import Glibc

/// WirePlumber's configuration: the distribution's own files, with the hardware switched off. The directory replaces
/// every place where it would look for files, the machine's own additions among them.
struct WirePlumberDirectory {
    let surroundings: Surroundings
    private let distribution = "/usr/share/wireplumber"

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    /// Fills the directory and returns its path.
    func prepare() throws(HeadlessError) -> String {
        let directory = surroundings.config + "/wireplumber"
        guard access(directory, F_OK) < 0 else { return directory }
        mkdir(directory, 0o700)
        let fragments = PipeWireConfiguration.wirePlumberScripts.merging(
            ["wireplumber.conf.d/80-headless.conf": PipeWireConfiguration.wirePlumber]) { $1 }
        for name in directoryEntries(distribution) {
            // Fragments are added to a folder, so a folder of them is made anew and its files are linked.
            if name.hasSuffix(".d") {
                mkdir("\(directory)/\(name)", 0o700)
                for file in directoryEntries("\(distribution)/\(name)") { link("\(name)/\(file)", in: directory) }
            } else {
                link(name, in: directory)
            }
        }
        for (name, text) in fragments {
            if let folder = name.split(separator: "/").first { mkdir("\(directory)/\(folder)", 0o700) }
            try writeFile("\(directory)/\(name)", text)
        }
        return directory
    }

    private func link(_ name: String, in directory: String) {
        symlink("\(distribution)/\(name)", "\(directory)/\(name)")
    }
}

/// Waits for the session manager's choice of default devices, which ends its start.
struct DefaultsWatch: ~Copyable {
    private let process: SupervisedProcess
    private let output: Int32

    static func start(_ server: HeadlessServer) throws(HeadlessError) -> DefaultsWatch {
        let ends = try makeChannel()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            close(ends.other)
            close(null)
        }
        do {
            let process = try server.spawn(
                ["pw-metadata", "-m"], standard: .init(input: null, output: ends.other, error: null))
            return DefaultsWatch(process: process, output: ends.own)
        } catch {
            close(ends.own)
            throw error
        }
    }

    deinit {
        process.signal(SIGKILL)
        close(output)
    }

    /// False if the session manager ended or the deadline passed before.
    func wait(sink: String?, source: String?, _ manager: SupervisedProcess, _ deadline: Duration) -> Bool {
        var missing = [("default.audio.sink", sink), ("default.audio.source", source)].compactMap { key, name in
            name.map { (key: "'\(key)'", value: "\"\($0)\"") }
        }
        var text = ""
        while !missing.isEmpty {
            let ready = waitReadable([output, manager.exitDescriptor], timeout: deadline - now())
            guard ready.contains(output) else { return false }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(output, &bytes, bytes.count)
            guard count > 0 else { return false }
            text += String(decoding: bytes[..<count], as: UTF8.self)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            missing.removeAll { wanted in
                lines.dropLast().contains { $0.contains(wanted.key) && $0.contains(wanted.value) }
            }
            text = lines.suffix(3).joined(separator: "\n")
        }
        return true
    }
}
