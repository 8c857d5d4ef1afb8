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

        .systemLibrary(name: "CSPAJSON", path: "Modules/CSPAJSON", pkgConfig: "libspa-0.2"),

        library("AudioSession"),
        library("EventLoop"),
        library("AudioPolicy", ["AudioSession", "EventLoop"]),
        library("AudioPolicyConfiguration", ["AudioPolicy", "AudioSession", "CSPAJSON"]),
        library("LinuxProcesses", ["AudioPolicy"]),
        library("SystemEventLoop", ["EventLoop", "CSystemd"]),

        tests("AudioPolicyTests", ["AudioPolicy", "AudioSession"]),
        tests(
            "AudioPolicyConfigurationTests", ["AudioPolicyConfiguration", "AudioPolicy", "AudioSession"],
            exclude: ["Fixtures"]),
        tests("LinuxProcessesTests", ["LinuxProcesses", "AudioPolicy"]),
    ]
)
