import AudioPolicy
import Glibc
import HeadlessAudio
import SoundRig

/// All that is measured, group by group.
final class Bench {
    enum Group: String, CaseIterable, Encodable {
        case detector, pulse
        case pipewire1024 = "pipewire-1024"
        case pipewire256 = "pipewire-256"
        case decision, arbiter, idle, memory, start, headless
        case earPulse = "ear-pulse"
        case earPipewire = "ear-pipewire"
    }

    let options: BenchCommand.Options
    let progress = Progress()

    init(_ options: BenchCommand.Options) { self.options = options }

    func run() async -> Int32 {
        warnOfDebugBuild()
        let began = monotonic()
        let load = loadAverage()
        var rows: [Row] = []
        var code: Int32 = 0
        for group in Group.allCases where options.only.isEmpty || options.only.contains(group) {
            progress.begin(group.rawValue)
            let start = monotonic()
            do {
                rows += try await measure(group)
            } catch {
                writeError("sordino-bench: \(group.rawValue): \(error)")
                code = 1
            }
            progress.end((monotonic() - start) / 1000)
        }
        do {
            let surroundings = try await surroundings(loadBefore: load)
            let report = Report(surroundings: surroundings, rows: rows, seconds: (monotonic() - began) / 1000)
            switch options.output {
            case .text: print(report.text())
            case .json: print(try report.json())
            case .markdown: print(report.markdown())
            }
        } catch {
            writeError("sordino-bench: \(error)")
            code = 1
        }
        return code
    }

    private func measure(_ group: Group) async throws -> [Row] {
        switch group {
        case .detector: try detector()
        case .pulse: try await pulse()
        case .pipewire1024: try await pipeWire(group, quantum: 1024)
        case .pipewire256: try await pipeWire(group, quantum: 256)
        case .decision: decision()
        case .arbiter: try arbiter()
        case .idle: try await idle()
        case .memory: try await memory()
        case .start: try await start()
        case .headless: try await headless()
        case .earPulse: try await ear(group, on: .pulseaudio)
        case .earPipewire: try await ear(group, on: .pipewire)
        }
    }

    // MARK: Surroundings

    private func warnOfDebugBuild() {
        guard isDebugBuild else { return }
        writeError(
            """
            ***********************************************************************************************
            THIS IS A DEBUG BUILD: the figures say nothing. Build with
                swift build -c release --static-swift-stdlib -Xlinker -s
            ***********************************************************************************************
            """)
    }

    private var isDebugBuild: Bool {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }())
        return isDebug
    }

    private func surroundings(loadBefore: Double) async throws -> Surroundings {
        var versions: [String: String] = [:]
        let programs = [
            ("PulseAudio", ["pulseaudio", "--version"]), ("PipeWire", ["pipewire", "--version"]),
            ("WirePlumber", ["wireplumber", "--version"]),
        ]
        var options = HeadlessOptions(server: .pulseaudio)
        options.startsServer = false
        options.bus = false
        let place = try HeadlessServer.start(options)
        defer { place.stop() }
        for (name, command) in programs {
            let process = try LineProcess(command, in: place)
            _ = await eventually { process.hasEnded }
            // The last line that ends in a version.
            let words = process.lines.compactMap { $0.split(separator: " ").last { $0.first?.isNumber ?? false } }
            if let version = words.last { versions[name] = String(version) }
        }
        var system = utsname()
        uname(&system)
        return Surroundings(
            processor: field("model name", in: "/proc/cpuinfo") ?? "an unknown processor",
            cores: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), kernel: text(&system.release),
            build: isDebugBuild ? "debug" : "release", versions: versions, loadBefore: loadBefore,
            loadAfter: loadAverage())
    }
}

/// The value behind `NAME:` in a file of the kernel's.
func field(_ name: String, in path: String) -> String? {
    for line in contents(of: path).split(separator: "\n") where line.hasPrefix(name) {
        guard let colon = line.firstIndex(of: ":") else { continue }
        return String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    }
    return nil
}

func contents(of path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
}

private func loadAverage() -> Double {
    Double(contents(of: "/proc/loadavg").split(separator: " ").first ?? "") ?? .nan
}

private func text<T>(_ field: inout T) -> String {
    withUnsafeBytes(of: &field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
}
