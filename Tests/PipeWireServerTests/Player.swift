import Foundation
import Testing

/// A client of the pulse server that does what it is told, line by line.
final class Player {
    private let process: Process
    private let input = Pipe()
    private let said: URL

    init(_ server: PrivateServer) throws {
        process = Process()
        let directory = try #require(Bundle.main.executableURL).deletingLastPathComponent()
        var program = directory
        while !FileManager.default.fileExists(atPath: program.appending(path: "sordino-testplayer").path) {
            program = program.deletingLastPathComponent()
            guard program.path != "/" else { throw Failure("sordino-testplayer has not been built") }
        }
        process.executableURL = program.appending(path: "sordino-testplayer")
        process.environment = server.environment
        process.standardInput = input
        said = server.directory.appending(path: "player-\(UInt32.random(in: 0...UInt32.max))")
        _ = FileManager.default.createFile(atPath: said.path, contents: nil)
        process.standardOutput = try FileHandle(forWritingTo: said)
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { PrivateServer.end(process) }

    /// Whether it has said a line that begins so.
    func hasSaid(_ words: String...) -> Bool {
        let text = (try? String(contentsOf: said, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").contains { $0.hasPrefix(words.joined(separator: "\t")) }
    }

    func send(_ fields: String...) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((fields.joined(separator: "\t") + "\n").utf8))
    }
}
