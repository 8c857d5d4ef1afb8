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

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: settings)
}

let package = Package(
    name: "sordino",
    targets: [
        .systemLibrary(name: "CSystemd", path: "Modules/CSystemd", pkgConfig: "libsystemd"),
        .systemLibrary(name: "CPipeWire", path: "Modules/CPipeWire", pkgConfig: "libpipewire-0.3"),
        .systemLibrary(name: "CPulse", path: "Modules/CPulse"),

        .systemLibrary(name: "CSPAJSON", path: "Modules/CSPAJSON", pkgConfig: "libspa-0.2"),

        library("AudioSession"),
        library("EventLoop"),
        library("AudioPolicy", ["AudioSession", "EventLoop"]),
        library("AudioSessionTestHelper", ["AudioSession", "AudioPolicy", "EventLoop"]),
        library("AudioPolicyConfiguration", ["AudioPolicy", "AudioSession", "CSPAJSON"]),
        library("LinuxProcesses", ["AudioPolicy"]),
        library("SystemEventLoop", ["EventLoop", "CSystemd"]),
        library("PipeWireServer", ["AudioPolicy", "EventLoop", "SystemEventLoop", "CPipeWire"]),
        library("SessionBus", ["AudioPolicy", "SystemEventLoop", "CSystemd"]),
        library(
            "SordinoDaemon",
            [
                "AudioPolicy", "AudioPolicyConfiguration", "EventLoop", "LinuxProcesses", "PipeWireServer",
                "PulseAudioServer", "SessionBus", "SystemEventLoop", "CSystemd",
            ]),
        library(
            "SordinoCommand",
            ["AudioPolicy", "AudioPolicyConfiguration", "HeadlessAudio", "SessionBus", "SordinoDaemon", "SordinoDemo"]),
        .executableTarget(name: "sordino", dependencies: ["SordinoCommand"], swiftSettings: settings),

        tests("AudioSessionTests", ["AudioSession"]),
        tests("AudioPolicyTests", ["AudioPolicy", "AudioSession", "AudioSessionTestHelper", "EventLoop"]),
        tests("SordinoCommandTests", ["SordinoCommand", "AudioPolicy"]),
        tests("SessionBusTests", ["SessionBus", "AudioPolicy", "SystemEventLoop"]),
        tests("SordinoDaemonTests", ["SordinoDaemon", "AudioPolicy", "SystemEventLoop"]),
        .target(
            name: "DaemonTestSupport", dependencies: ["AudioPolicy", "HeadlessAudio", "SystemEventLoop"],
            path: "Tests/DaemonTestSupport", swiftSettings: settings),
        tests(
            "SordinoCommandTests",
            ["SordinoCommand", "SordinoDaemon", "SessionBus", "AudioPolicy", "DaemonTestSupport"]),
        tests("SessionBusTests", ["SessionBus", "AudioPolicy", "EventLoop", "SystemEventLoop", "DaemonTestSupport"]),
        tests("SordinoDaemonTests", ["SordinoDaemon", "AudioPolicy", "EventLoop", "HeadlessAudio", "SystemEventLoop", "DaemonTestSupport"]),
        tests("PipeWireServerTests", ["PipeWireServer", "AudioPolicy", "EventLoop", "SystemEventLoop", "sordino-testplayer"]),
        tests(
            "SordinoDaemonTests",
            [
                "SordinoDaemon", "AudioPolicy", "EventLoop", "HeadlessAudio", "SoundRig", "SystemEventLoop",
                "DaemonTestSupport", "sordino", "sordino-testplayer",
            ]),
        tests("PipeWireServerTests", ["PipeWireServer", "AudioPolicy", "EventLoop", "SystemEventLoop"]),

        .target(name: "CSupervisor", cSettings: [.treatAllWarnings(as: .error)]),
        library("HeadlessAudio", ["CSupervisor"]),
        .executableTarget(
            name: "sordino-testplayer", path: "Sources/TestPlayer", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("pulse"), .linkedLibrary("m")]),
        library("SoundRig", ["HeadlessAudio"]),
        library("SordinoDemo", ["HeadlessAudio", "SoundRig", "AudioPolicy", "SessionBus"]),
        tests("SoundRigTests", ["SoundRig", "HeadlessAudio"]),
        tests("SordinoDemoTests", ["SordinoDemo", "HeadlessAudio", "SoundRig", "sordino"]),
        tests("HeadlessAudioTests", ["HeadlessAudio", "SoundRig", "sordino"]),
        library("PulseAudioServer", ["AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse"]),
        tests("PulseAudioServerTests", ["PulseAudioServer", "AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse"]),

        .executableTarget(
            name: "sordino-bench",
            dependencies: [
                "AudioPolicy", "AudioPolicyConfiguration", "AudioSession", "EventLoop", "HeadlessAudio",
                "LinuxProcesses", "PipeWireServer", "PulseAudioServer", "SordinoDaemon", "SoundRig", "SystemEventLoop",
            ], path: "Sources/SordinoBench", swiftSettings: settings),
        .executableTarget(
            name: "sordino-bench-floor-pulse", dependencies: ["CPulse"], path: "Sources/BenchFloors/Pulse",
            cSettings: [.treatAllWarnings(as: .error)], linkerSettings: [.linkedLibrary("pulse")]),
        .executableTarget(
            name: "sordino-bench-floor-pipewire", dependencies: ["CPipeWire"], path: "Sources/BenchFloors/PipeWire",
            cSettings: [.treatAllWarnings(as: .error)], linkerSettings: [.linkedLibrary("pipewire-0.3")]),
        .executableTarget(
            name: "sordino-bench-player", dependencies: ["CSystemd"], path: "Sources/BenchFloors/Player",
            cSettings: [.treatAllWarnings(as: .error)], linkerSettings: [.linkedLibrary("systemd")]),

        tests("AudioPolicyTests", ["AudioPolicy", "AudioSession"]),
        tests(
            "AudioPolicyConfigurationTests", ["AudioPolicyConfiguration", "AudioPolicy", "AudioSession"],
            exclude: ["Fixtures"]),
        tests("LinuxProcessesTests", ["LinuxProcesses", "AudioPolicy"]),
    ]
)
