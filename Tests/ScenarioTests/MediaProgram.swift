import Foundation
import HeadlessAudio
import SoundRig

/// A program that owns media players on the session bus and whose sound comes from a child of its process.
struct MediaProgram: Sendable {
    let program: TestPlayer
    private let desktop: Desktop

    init(_ desktop: Desktop, name: String = "radio") async throws {
        self.desktop = desktop
        program = try await TestPlayer(
            in: desktop.server, name: name, executable: product("sordino-testmediaplayer"))
    }

    /// A player on the bus with a tone of its own.
    /// - Parameter manners: as `sordino-testmediaplayer` has them.
    func player(
        _ name: String, _ manners: String = "honest", status: String = "Playing", tone frequency: Double
    ) async throws -> Player {
        var options = TestPlayer.Options(frequency: frequency, role: "music")
        options.corked = status != "Playing"
        // As most players, it has ears for its buttons alone.
        options.stubborn = true
        let stream = try await program.play(name, options)
        try program.lines.send("player\t\(name)\t\(manners)\t\(status)\t\(name)")
        _ = try await program.lines.line { $0 == "player\t\(name)" }
        return Player(
            program: program, name: name, playing: Playing(player: program, stream: stream, frequency: frequency))
    }

    struct Player: Sendable {
        let program: TestPlayer
        let name: String
        let playing: Playing

        /// The methods that were called, in their order.
        var calls: [String] {
            program.lines.lines.filter { $0.hasPrefix("called\t\(name)\t") }.map {
                String($0.split(separator: "\t")[2])
            }
        }

        /// Its user presses a button; returns when it has said so.
        func press(_ status: String) async throws {
            let start = program.lines.lines.count
            try program.lines.send("press\t\(name)\t\(status)")
            _ = try await program.lines.line(from: start) { $0 == "told\t\(name)\t\(status)" }
        }

        /// Waits until this and nothing else has been called.
        func waitForCalls(_ expected: [String]) async throws {
            guard await eventually(within: .seconds(10), { calls == expected }) else {
                throw SoundRigError("\(name) was called \(calls) and not \(expected)")
            }
        }
    }
}
