import Foundation
import HeadlessAudio
import SoundRig

/// What PipeWire and its session manager know beside what `pactl` shows.
extension Desktop {
    private struct Object: Decodable {
        struct Info: Decodable {
            var props: [String: Value]?
            var params: Params?
        }
        struct Params: Decodable {
            var props: [NodeProps]?
            private enum CodingKeys: String, CodingKey {
                case props = "Props"
            }
        }
        /// A property; other forms than text do not matter here.
        enum Value: Decodable {
            case number(UInt64)
            case other

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(UInt64.self) {
                    self = .number(number)
                } else if let text = try? container.decode(String.self), let number = UInt64(text) {
                    self = .number(number)
                } else {
                    self = .other
                }
            }
        }
        var id: UInt32
        var type: String
        var info: Info?
    }

    /// The gains of a stream's node.
    struct NodeProps: Decodable {
        var volume: Double?
        var channelVolumes: [Double]?
        var softVolumes: [Double]?
    }

    private func object(of stream: TestPlayer.Stream) async throws -> Object {
        let text = try await run(["pw-dump"]).lines.joined(separator: "\n")
        let objects = try JSONDecoder().decode([Object].self, from: Data(text.utf8))
        let found = objects.first { object in
            guard object.type.hasSuffix(":Node"), case .number(let serial) = object.info?.props?["object.serial"] else {
                return false
            }
            return serial == UInt64(stream.index)
        }
        guard let found else { throw SoundRigError("there is no node with the serial \(stream.index)") }
        return found
    }

    /// The stream's id, by which PipeWire's own tools name it.
    func node(of stream: TestPlayer.Stream) async throws -> UInt32 { try await object(of: stream).id }

    func nodeProps(of stream: TestPlayer.Stream) async throws -> NodeProps {
        let all = try await object(of: stream).info?.params?.props ?? []
        guard let props = all.first(where: { $0.channelVolumes != nil }) else {
            throw SoundRigError("the node of \(stream.name) has no volumes")
        }
        return props
    }

    /// Everything that WirePlumber has stored of streams.
    func sessionManagersStore() -> String {
        let directory = server.environment["XDG_STATE_HOME", default: ""] + "/wireplumber"
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
        return (names ?? []).compactMap { try? String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8) }
            .joined(separator: "\n")
    }
}
