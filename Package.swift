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

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

let package = Package(
    name: "sordino",
    targets: [
        .systemLibrary(name: "CSystemd", path: "Modules/CSystemd", pkgConfig: "libsystemd"),

        library("AudioSession"),
        library("EventLoop"),
        library("AudioPolicy", ["AudioSession", "EventLoop"]),
        library("SystemEventLoop", ["EventLoop", "CSystemd"]),

        .target(name: "CSupervisor", cSettings: [.treatAllWarnings(as: .error)]),
        library("HeadlessAudio", ["CSupervisor"]),
        .executableTarget(
            name: "sordino-testplayer", path: "Sources/TestPlayer", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("pulse"), .linkedLibrary("m")]),
        library("SoundRig", ["HeadlessAudio"]),
        tests("SoundRigTests", ["SoundRig", "HeadlessAudio"]),
        .executableTarget(
            name: "headless-probe", dependencies: ["HeadlessAudio"], path: "Sources/HeadlessProbe",
            swiftSettings: settings),
        tests("HeadlessAudioTests", ["HeadlessAudio", "headless-probe"]),
    ]
)
