import AudioPolicy
import AudioSession
import Foundation
import Testing

@testable import AudioPolicyConfiguration

@Suite final class ConfigurationFilesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func write(_ path: String, _ text: String) throws -> String {
        let file = folder.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    private func directory(_ name: String) -> String { folder.appending(path: name).path }

    @Test func `later files override earlier ones key by key, and rules add up with the nearest first`() throws {
        func rule(_ name: String) -> String {
            "rules = [ { name = \(name) matches = [ { application.name = x } ] actions = { kind = game } } ]"
        }
        _ = try write("share/sordino.conf", "levels = { minimum = -1 medium = -2 }\n" + rule("share"))
        _ = try write("etc/sordino.conf", "levels = { medium = -3 }")
        _ = try write("etc/sordino.conf.d/20-b.conf", rule("b"))
        _ = try write("etc/sordino.conf.d/10-a.conf", "levels = { medium = -4 }\n" + rule("a"))
        _ = try write("etc/sordino.conf.d/readme.txt", "not = read")
        _ = try write("own/sordino.conf.d/x.conf", "levels = { maximum = -50 }")
        let found = PolicyConfiguration.load(directories: ["share", "etc", "own", "none"].map(directory))
        #expect(found.problems == [])
        #expect(
            found.files.map { URL(filePath: $0).lastPathComponent } == [
                "sordino.conf", "sordino.conf", "10-a.conf", "20-b.conf", "x.conf",
            ])
        let levels = found.settings.effects.levels
        #expect(levels[.minimum] == Decibels(-1))
        #expect(levels[.medium] == Decibels(-4))
        #expect(levels[.maximum] == Decibels(-50))
        #expect(levels[.default] == Decibels(-14))
        #expect(found.settings.rules.map(\.name) == ["b", "a", "share"])
    }

    @Test func `a rule's effect takes the level that a later file gives`() throws {
        let rule =
            "rules = [ { matches = [ { application.name = x } ] actions = { effects = { call = medium } level = medium } } ]"
        let files = [try write("a.conf", rule), try write("b.conf", "levels = { medium = -33 }")]
        let found = PolicyConfiguration.load(files: files)
        #expect(found.settings.rules.first?.actions.effects == [.call: .duck(Decibels(-33))])
        #expect(found.settings.rules.first?.actions.level == Decibels(-33))
    }

    @Test func `an application table in a directory takes the built-in one's place, and drop-ins add to it`() throws {
        let entry = "{ name = n matches = [ { application.name = x } ] actions = { kind = game } }"
        _ = try write("own/applications.conf", "applications = [ \(entry) ]")
        #expect(PolicyConfiguration.load(directories: [directory("own")]).settings.applications.map(\.name) == ["n"])
        _ = try write(
            "own/sordino.conf.d/more.conf", "applications = [ \(entry.replacingOccurrences(of: "= n", with: "= m")) ]")
        #expect(
            PolicyConfiguration.load(directories: [directory("own")]).settings.applications.map(\.name) == ["m", "n"])
    }

    @Test func `a file that cannot be read, or is not text, is an error that names it`() throws {
        let missing = directory("none.conf")
        let absent = PolicyConfiguration.load(files: [missing])
        #expect(!absent.isUsable)
        #expect(absent.problems.first?.description.hasPrefix("\(missing):1: error: ") == true)
        let binary = folder.appending(path: "binary.conf")
        _ = try write("x", "")
        try Data([0xff, 0xfe, 0x00, 0xc3, 0x28]).write(to: binary)
        #expect(!PolicyConfiguration.load(files: [binary.path]).isUsable)
        #expect(!PolicyConfiguration.load(files: [folder.path]).isUsable)
    }

    @Test func `an error names the file that it is in`() throws {
        _ = try write("etc/sordino.conf", "levels = { minimum = -1 }")
        let bad = try write("etc/sordino.conf.d/bad.conf", "\n\nlevels = {\n minimun = -1 }")
        let found = PolicyConfiguration.load(directories: [directory("etc")])
        #expect(
            found.problems.map(\.description) == [
                "\(bad):4: error: there is no key levels.minimun; did you mean levels.minimum?"
            ])
        #expect(!found.isUsable)
    }
}
