import DaemonTestSupport
import Foundation
import SoundRig
import Testing

/// The daemon as the bus starts it.
@Suite struct ActivationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Runs `sordino` on a bus; its exit code and all that it says.
    private func sordino(_ arguments: String..., on bus: PrivateBus) async throws -> (code: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try product("sordino"))
        process.arguments = arguments
        process.environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address, "PATH": "/usr/bin:/bin"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return try await onThread {
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: data, as: UTF8.self))
        }
    }

    @Test func `The bus starts the daemon for whoever acquires a claim, and for no question`() async throws {
        let file = try String(
            contentsOf: Self.root.appending(path: "config/dbus/org.sordino.AudioSession1.service"), encoding: .utf8)
        let bus = try PrivateBus(service: file.replacing("/usr/bin/sordino", with: try product("sordino")))
        let question = try await sordino("status", on: bus)
        #expect(question.code == 69, "\(question.text)")
        let held = try await sordino("hold", "playback", "--for", "0.1", "--verbose", on: bus)
        #expect(held.code == 0)
        #expect(held.text.contains("playback is held as c1"), "\(held.text)")
        let status = try await sordino("status", "--json", on: bus)
        #expect(status.code == 0)
        #expect(status.text.contains("\"claims\":[]"), "\(status.text)")
        bus.end()
    }
}
