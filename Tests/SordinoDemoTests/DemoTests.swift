import Foundation
import HeadlessAudio
import SoundRig
import Testing

@Suite struct DemoTests {
    @Test(arguments: HeadlessServerKind.allCases)
    func `the demonstration ends with all streams at their baseline`(kind: HeadlessServerKind) async throws {
        let slot = await ServerSlot.take()
        defer { withExtendedLifetime(slot) {} }
        let keeper = try Supervisor(prefix: "demo-tests")
        let output = keeper.directory + "/output"
        let image = keeper.directory + "/plot.svg"
        let descriptor = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let process = try keeper.spawn(
            [product("sordino"), "demo", "--server", kind.rawValue, "--svg", image],
            environment: ProcessInfo.processInfo.environment,
            standard: .init(input: 0, output: descriptor, error: descriptor))
        #expect(await eventually(within: .seconds(150)) { !process.isRunning })
        let text = try String(contentsOfFile: output, encoding: .utf8)
        #expect(process.wait() == .exited(0), "\(text)")
        #expect(text.hasSuffix("\nall streams at their baseline\n"))
        // Each is turned down by its own level; the call lasts long enough to be heard so on a busy machine too.
        let lines = text.split(separator: "\n")
        #expect(
            lines.contains {
                $0.contains("Music   ducked by 20.0 dB because of Call (call)") && $0.contains("−40.0 dB")
            })
        #expect(lines.contains { $0.contains("Game    ducked by 14.0 dB because of Alarm (alarm)") })
        #expect(try String(contentsOfFile: image, encoding: .utf8).contains("<polyline"))
    }
}
