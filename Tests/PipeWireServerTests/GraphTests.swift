import AudioPolicy
import Foundation
import PipeWireServer
import Testing

@Suite(.serialized) struct GraphTests {
    @Test func theFirstGraphHasDevicesDefaultsAndStreamsWithTheirVolumes() throws {
        let server = try PrivateServer()
        let tone = try Tone(server.directory, frequency: 600)
        try server.start("pw-cat", "-p", "--volume", "0.5", "-P", "{ node.name = music }", tone.path)
        try wait("the stream") { try server.output("pactl", "list", "short", "sink-inputs").contains("PipeWire") }
        let watched = try Watched(server)
        #expect(watched.info == ServerInfo(kind: .pipewire, version: try version()))
        let spk = try #require(watched.device(named: "spk"))
        #expect(spk.description == "spk sink")
        #expect(watched.graph.defaultOutput == spk.id)
        let id = try watched.playing("music")
        #expect(try watched.stream(id).device == spk.id)
        #expect(try watched.stream(id).softGain == nil)
    }

    private func version() throws -> String {
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/pipewire")
        process.arguments = ["--version"]
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return try #require(text.split(separator: " ").last { $0.first?.isNumber == true }).trimmingCharacters(in: .newlines)
    }
}
