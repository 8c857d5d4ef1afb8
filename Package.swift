// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// A target of Swift sources, with the settings that all of them share.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// Tests, one target for each target that is tested.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], linking libraries: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings,
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// A small program in C that tests or the benchmark run.
func tool(
    _ name: String, _ dependencies: [Target.Dependency] = [], path: String, linking libraries: [String]
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Sources/" + path, cSettings: [.treatAllWarnings(as: .error)],
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

let package = Package(
    name: "sordino",
    products: [
        .library(name: "AudioSession", targets: ["AudioSession"]),
        .library(name: "AudioSessionLinux", targets: ["AudioSessionLinux"]),
        .library(name: "AudioSessionTestHelper", targets: ["AudioSessionTestHelper"]),
        .executable(name: "sordino", targets: ["sordino"]),
        .executable(name: "sordino-bench", targets: ["sordino-bench"]),
    ],
    targets: [
        .systemLibrary(name: "CPipeWire", path: "Modules/CPipeWire", pkgConfig: "libpipewire-0.3"),
        .systemLibrary(name: "CPulse", path: "Modules/CPulse"),
        .systemLibrary(name: "CSPAJSON", path: "Modules/CSPAJSON", pkgConfig: "libspa-0.2"),
        .systemLibrary(name: "CSystemd", path: "Modules/CSystemd", pkgConfig: "libsystemd"),

        // The pure core.
        library("AudioSession"),
        library("EventLoop"),
        library("AudioPolicy", ["AudioSession", "EventLoop"]),
        library("AudioSessionTestHelper", ["AudioSession", "AudioPolicy", "EventLoop"]),

        // What touches the system.
        library("AudioPolicyConfiguration", ["AudioPolicy", "AudioSession", "CSPAJSON"]),
        library("LinuxProcesses", ["AudioPolicy"]),
        library("SystemEventLoop", ["EventLoop", "CSystemd"]),
        .target(name: "CPulseLoader", cSettings: [.treatAllWarnings(as: .error)]),
        library("PulseAudioServer", ["AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse", "CPulseLoader"]),
        library("PipeWireServer", ["AudioPolicy", "EventLoop", "SystemEventLoop", "CPipeWire"]),
        library("SessionBus", ["AudioPolicy", "AudioSession", "EventLoop", "SystemEventLoop", "CSystemd"]),
        library(
            "SoundServerFinder",
            ["AudioPolicy", "EventLoop", "PipeWireServer", "PulseAudioServer", "SystemEventLoop", "CSystemd"]),
        library(
            "AudioSessionLinux",
            [
                "AudioPolicy", "AudioSession", "EventLoop", "LinuxProcesses", "SessionBus", "SoundServerFinder",
                "SystemEventLoop",
            ]),
        library(
            "SordinoDaemon",
            [
                "AudioPolicy", "AudioPolicyConfiguration", "EventLoop", "LinuxProcesses", "SessionBus",
                "SoundServerFinder", "SystemEventLoop", "CSystemd",
            ]),

        // Private servers, and what plays and listens on them.
        .target(name: "CSupervisor", cSettings: [.treatAllWarnings(as: .error)]),
        library("HeadlessAudio", ["CSupervisor"]),
        library("SoundRig", ["HeadlessAudio"]),
        tool("sordino-testplayer", path: "TestPlayer", linking: ["pulse", "m"]),
        tool("sordino-testmediaplayer", ["CSystemd"], path: "TestMediaPlayer", linking: ["systemd"]),
        library("SordinoDemo", ["HeadlessAudio", "SoundRig", "AudioPolicy", "SessionBus"]),

        // The command.
        library(
            "SordinoCommand",
            [
                "AudioPolicy", "AudioPolicyConfiguration", "AudioSession", "EventLoop", "HeadlessAudio", "SessionBus",
                "SordinoDaemon", "SordinoDemo", "SystemEventLoop",
            ]),
        .executableTarget(name: "sordino", dependencies: ["SordinoCommand"], swiftSettings: settings),

        // The benchmark, and the straight-line clients beside it.
        .executableTarget(
            name: "sordino-bench",
            dependencies: [
                "AudioPolicy", "AudioPolicyConfiguration", "AudioSession", "EventLoop", "HeadlessAudio",
                "LinuxProcesses", "PipeWireServer", "PulseAudioServer", "SordinoDaemon", "SoundRig", "SystemEventLoop",
            ], path: "Sources/SordinoBench", swiftSettings: settings),
        tool("sordino-bench-floor-pulse", ["CPulse"], path: "BenchFloors/Pulse", linking: ["pulse"]),
        tool("sordino-bench-floor-pipewire", ["CPipeWire"], path: "BenchFloors/PipeWire", linking: ["pipewire-0.3"]),
        tool("sordino-bench-player", ["CSystemd"], path: "BenchFloors/Player", linking: ["systemd"]),

        // The sources of docs/examples/player, which is a package of its own, compiled and tested here too.
        .target(
            name: "VoiceMessages", dependencies: ["AudioSession"],
            path: "docs/examples/player/Sources/VoiceMessages", swiftSettings: settings),
        .executableTarget(
            name: "player", dependencies: ["VoiceMessages", "AudioSession", "AudioSessionLinux"],
            path: "docs/examples/player/Sources/player", swiftSettings: settings),

        tests("AudioSessionTests", ["AudioSession", "AudioSessionTestHelper"]),
        tests("AudioPolicyTests", ["AudioPolicy", "AudioSession", "AudioSessionTestHelper", "EventLoop"]),
        tests(
            "AudioPolicyConfigurationTests", ["AudioPolicyConfiguration", "AudioPolicy", "AudioSession"],
            exclude: ["Fixtures"]),
        tests("LinuxProcessesTests", ["LinuxProcesses", "AudioPolicy"]),
        tests(
            "PulseAudioServerTests",
            ["PulseAudioServer", "AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse", "CPulseLoader"],
            linking: ["pulse"]),
        tests(
            "PipeWireServerTests",
            ["PipeWireServer", "AudioPolicy", "EventLoop", "SystemEventLoop", "sordino-testplayer"]),
        .target(
            name: "DaemonTestSupport",
            dependencies: [
                "AudioPolicy", "AudioSession", "AudioSessionTestHelper", "HeadlessAudio", "SoundRig",
                "SystemEventLoop", "CSystemd",
            ], path: "Tests/DaemonTestSupport", swiftSettings: settings),
        tests(
            "SoundServerFinderTests",
            ["SoundServerFinder", "AudioPolicy", "EventLoop", "SystemEventLoop", "DaemonTestSupport"]),
        tests(
            "AudioSessionLinuxTests",
            [
                "AudioSessionLinux", "AudioSessionTestHelper", "AudioPolicy", "AudioSession", "HeadlessAudio",
                "PipeWireServer", "PulseAudioServer", "SessionBus", "SoundRig", "SystemEventLoop",
                "DaemonTestSupport", "sordino",
            ]),
        tests(
            "ExampleTests",
            ["VoiceMessages", "AudioSession", "AudioSessionTestHelper", "DaemonTestSupport", "SoundRig", "player"]),
        tests(
            "SessionBusTests",
            [
                "SessionBus", "AudioPolicy", "AudioSession", "EventLoop", "SystemEventLoop", "DaemonTestSupport",
                "CSystemd",
            ]),
        tests(
            "SordinoDaemonTests",
            [
                "SordinoDaemon", "AudioPolicy", "EventLoop", "HeadlessAudio", "SoundRig", "SystemEventLoop",
                "DaemonTestSupport", "sordino", "sordino-testplayer",
            ]),
        tests("HeadlessAudioTests", ["HeadlessAudio", "SoundRig", "sordino"]),
        tests("SoundRigTests", ["SoundRig", "HeadlessAudio"]),
        tests("SordinoDemoTests", ["SordinoDemo", "HeadlessAudio", "SoundRig", "sordino"]),
        tests(
            "SordinoCommandTests",
            [
                "SordinoCommand", "SordinoDaemon", "SessionBus", "AudioPolicy", "AudioPolicyConfiguration",
                "AudioSession", "DaemonTestSupport",
            ]),
        tests(
            "ScenarioTests",
            [
                "AudioPolicy", "AudioSession", "HeadlessAudio", "SoundRig", "DaemonTestSupport", "sordino",
                "sordino-testplayer", "sordino-testmediaplayer",
            ]),
    ]
)
