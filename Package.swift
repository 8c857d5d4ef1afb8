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
        library("SordinoDaemon", ["AudioPolicy", "EventLoop", "SystemEventLoop", "SessionBus", "CSystemd"]),
        library("SordinoCommand", ["AudioPolicy", "SessionBus", "SordinoDaemon"]),
        .executableTarget(name: "sordino", dependencies: ["SordinoCommand"], swiftSettings: settings),

        tests("AudioSessionTests", ["AudioSession"]),
        .target(
            name: "DaemonTestSupport", dependencies: ["AudioPolicy", "HeadlessAudio", "SystemEventLoop"],
            path: "Tests/DaemonTestSupport", swiftSettings: settings),
        tests("SordinoCommandTests", ["SordinoCommand", "SordinoDaemon", "SessionBus", "AudioPolicy", "DaemonTestSupport"]),
        tests("SessionBusTests", ["SessionBus", "AudioPolicy", "EventLoop", "SystemEventLoop", "DaemonTestSupport"]),
        tests("SordinoDaemonTests", ["SordinoDaemon", "AudioPolicy", "EventLoop", "HeadlessAudio", "SystemEventLoop", "DaemonTestSupport"]),
        tests("PipeWireServerTests", ["PipeWireServer", "AudioPolicy", "EventLoop", "SystemEventLoop"]),

        .target(name: "CSupervisor", cSettings: [.treatAllWarnings(as: .error)]),
        library("HeadlessAudio", ["CSupervisor"]),
        .executableTarget(
            name: "sordino-testplayer", path: "Sources/TestPlayer", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("pulse"), .linkedLibrary("m")]),
        library("SoundRig", ["HeadlessAudio"]),
        library("SordinoDemo", ["HeadlessAudio", "SoundRig", "AudioPolicy", "SessionBus"]),
        tests("SoundRigTests", ["SoundRig", "HeadlessAudio"]),
        tests("SordinoDemoTests", ["SordinoDemo"]),
        .executableTarget(
            name: "headless-probe", dependencies: ["HeadlessAudio"], path: "Sources/HeadlessProbe",
            swiftSettings: settings),
        tests("HeadlessAudioTests", ["HeadlessAudio", "headless-probe"]),
        library("PulseAudioServer", ["AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse"]),
        tests("PulseAudioServerTests", ["PulseAudioServer", "AudioPolicy", "EventLoop", "SystemEventLoop", "CPulse"]),

        tests("AudioPolicyTests", ["AudioPolicy", "AudioSession", "AudioSessionTestHelper", "EventLoop"]),
        tests(
            "AudioPolicyConfigurationTests", ["AudioPolicyConfiguration", "AudioPolicy", "AudioSession"],
            exclude: ["Fixtures"]),
        tests("LinuxProcessesTests", ["LinuxProcesses", "AudioPolicy"]),
    ]
)
