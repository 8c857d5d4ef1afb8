import AudioPolicy
import Foundation
import Testing

@testable import AudioPolicyConfiguration

/// Streams of real programs, as they showed them to real servers, with the right answer beside each.
@Suite struct RealProgramsTests {
    struct Label: Decodable {
        var capture: String?
        /// Any of these is right; `nil`: none.
        var kind: [String]?
        var plumbing: Bool
    }

    struct Labels: Decodable {
        var sinkInputs: [Label]
        var sourceOutputs: [Label]
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/clients")
    static let labels: [String: Labels] = {
        let data = (try? Data(contentsOf: folder.appending(path: "labels.json"))) ?? Data()
        return (try? JSONDecoder().decode([String: Labels].self, from: data)) ?? [:]
    }()
    static let settings = PolicyConfiguration.load(directories: []).settings

    @Test func `every fixture is labelled and every label has a fixture`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasSuffix(".json") && $0 != "labels.json" }
        #expect(Set(files) == Set(Self.labels.keys))
        #expect(files.count > 130)
    }

    @Test(arguments: labels.keys.sorted())
    func `each stream of a real program is taken for what it is`(file: String) throws {
        let labels = try #require(Self.labels[file])
        let found = try classifyDump(Self.folder.appending(path: file).path, settings: Self.settings)
        let outputs = found.filter { $0.direction == "output" }
        let inputs = found.filter { $0.direction == "input" }
        try #require(outputs.count == labels.sinkInputs.count)
        try #require(inputs.count == labels.sourceOutputs.count)
        for (stream, label) in zip(outputs + inputs, labels.sinkInputs + labels.sourceOutputs) {
            #expect(stream.plumbing == label.plumbing, "\(stream)")
            #expect(stream.capture == label.capture, "\(stream)")
            let isRight = stream.kind.map { label.kind?.contains($0) == true } ?? (label.kind == nil)
            #expect(isRight, "\(stream) should be \(label.kind ?? [])")
        }
    }
}
