import AudioPolicy
import EventLoop
import PulseAudioServer
import Testing

@Suite struct HostileTests {
    @Test func `Whatever a program writes into its properties, nothing breaks`() throws {
        let pulse = try PrivatePulse()
        let client = try HostileClient(pulse.address)
        // The server itself takes no value of 64 KiB or more.
        let values: [[UInt8]] = [
            [], [0], Array("a\u{1b}[2Jb\n\u{0}c".utf8), [0xFF, 0xFE, 0x80, 0xC3], Array(repeating: 0x41, count: 65_000),
            Array(String(repeating: "ü", count: 32_500).utf8), Array(repeating: 0x80, count: 65_000),
            [0xF0, 0x9F, 0x98], (0...255).map { UInt8($0) },
        ]
        let watcher = try Watcher(pulse.address)
        for (number, value) in values.enumerated() {
            // As text with its end, the way libpulse's own setter stores it, and as bare bytes.
            try client.play(
                name: "hostile \(number)",
                [
                    ("media.role", value + [0]), ("application.name", value), ("bytes.\(number)", value),
                ])
        }
        try watcher.wait("all there") { watcher.outputs.count == values.count }
        let connected = try Watcher(pulse.address)
        #expect(connected.outputs.map(\.properties) == watcher.outputs.map(\.properties))
        for (number, stream) in watcher.outputs.enumerated() {
            #expect(stream.properties["media.name"] == "hostile \(number)")
            for value in stream.properties.values { #expect(value.utf8.count <= 3 * 4096, "cut, and repaired at most") }
        }
        #expect(watcher.outputs[2].properties["bytes.2"] == "a\u{1b}[2Jb\n\u{0}c")
        // In parentheses, so that a failure does not print them.
        #expect((watcher.outputs[4].properties["bytes.4"] == String(repeating: "A", count: 4096)))
        #expect((watcher.outputs[5].properties["bytes.5"] == String(repeating: "ü", count: 2048)))
        #expect(watcher.outputs[3].properties["bytes.3"] == "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}")
        let ids = watcher.outputs.map(\.id)
        watcher.server.perform(ids.map { .setMute($0, true) })
        try watcher.wait("all muted") { watcher.outputs.allSatisfy(\.isMuted) }
        #expect(watcher.failures.isEmpty)
    }
}
