// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "player",
    dependencies: [.package(name: "sordino", path: "../../..")],
    targets: [
        // What holds claims depends on the claims alone, so that tests can hand it a double.
        .target(name: "VoiceMessages", dependencies: [.product(name: "AudioSession", package: "sordino")]),
        // Where the program is put together, the manager is made.
        .executableTarget(
            name: "player",
            dependencies: ["VoiceMessages", .product(name: "AudioSessionLinux", package: "sordino")]),
    ]
)
