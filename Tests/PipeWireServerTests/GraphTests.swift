import AudioPolicy
import Foundation
import PipeWireServer
import Testing

@Suite(.serialized) struct GraphTests {
    @Test func theFirstGraphHasDevicesDefaultsAndStreamsWithTheirVolumes() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            try server.start("pw-cat", "-p", "--volume", "0.5", "-P", "{ node.name = music }", tone.path)
            try wait("the stream") { try server.output("pactl", "list", "short", "sink-inputs").contains("PipeWire") }
            let watched = try Watched(server)
            #expect(watched.info?.kind == .pipewire)
            #expect(watched.info?.version == (try version(server)))
            let spk = try #require(watched.device(named: "spk"))
            #expect(spk.description == "spk sink")
            #expect(watched.graph.defaultOutput == spk.id)
            #expect(watched.graph.devices.values.contains { $0.name == "mic" && $0.id.direction == .input })
            let id = try watched.playing("music")
            #expect(try watched.stream(id).device == spk.id)
            #expect(try watched.stream(id).softGain == nil)
        }
    }

    @Test func aNewStreamIsReportedFromItsRegistryEventWithItsRole() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            watched.forget()
            let process = try server.start("pw-cat", "-p", "--media-role", "Communication", tone.path)
            let id = try watched.playing("pw-cat")
            let reports = watched.events.flatMap { event -> [ServerStream] in
                guard case .changed(let changes) = event else { return [] }
                return changes.compactMap { if case .stream(let stream) = $0, stream.id == id { stream } else { nil } }
            }
            let first = try #require(reports.first)
            #expect(first.properties["media.role"] == "Communication")
            #expect(first.properties["media.name"] == nil)
            #expect(first.volume.isEmpty && !first.isCorked)
            // It never seems corked on its way to its first sound.
            #expect(reports.allSatisfy { !$0.isCorked })
            // A native stream's process is its client's.
            #expect(first.properties["pipewire.sec.pid"] == String(process.processIdentifier))
            let stream = try watched.stream(id)
            #expect(stream.properties["application.process.id"] == String(process.processIdentifier))
            #expect(stream.properties["application.process.binary"] == "pw-cat")
            let client = try #require(stream.client.flatMap { watched.graph.clients[$0] })
            #expect(client.properties["pipewire.sec.pid"] == String(process.processIdentifier))
        }
    }

    @Test func aStreamThatStopsIsCorkedAndOneThatEndsIsGone() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            let process = try server.start("pw-cat", "-p", "-P", "{ node.name = music }", tone.path)
            let id = try watched.playing("music")
            PrivateServer.end(process)
            try watched.wait("the end") { $0.graph.streams[id] == nil }
            #expect(watched.graph.devices.count == 3)
        }
    }

    @Test(arguments: [
        ("module-remap-sink sink_name=virtual master=spk", ["spk"]),
        ("module-combine-sink sink_name=virtual slaves=spk,hs", ["spk", "hs"]),
        ("module-echo-cancel sink_name=virtual source_name=esrc sink_master=spk source_master=mic", ["spk"]),
    ])
    func plumbingSharesTheLinkGroupOfItsDevice_VIR(module: String, outputs: [String]) async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            try server.output(["pactl", "load-module"] + module.split(separator: " ").map(String.init))
            try watched.wait("the legs of \(module)") { watched in
                guard let group = watched.device(named: "virtual")?.linkGroup else { return false }
                let legs = watched.graph.streams.values.filter { $0.linkGroup == group && $0.id.direction == .output }
                let reached = legs.compactMap { $0.device.flatMap { watched.graph.devices[$0]?.name } }
                return reached.sorted() == outputs.sorted()
            }
        }
    }

    @Test func aLoopbackIsPlumbingAndAMonitorCaptureIsOnTheSink_REC02() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            try server.output("pactl", "load-module", "module-loopback", "source=mic", "sink=spk")
            try watched.wait("the loopback") { watched in
                let legs = watched.graph.streams.values.filter { $0.linkGroup != nil }
                return Set(legs.map(\.id.direction)).count == 2 && Set(legs.map(\.linkGroup)).count == 1
            }
            try server.start("parec", "-d", "spk.monitor", "--property=node.name=visualiser", "--raw")
            let id = try watched.playing("visualiser", .input)
            let spk = try #require(watched.device(named: "spk"))
            #expect(try watched.stream(id).device == spk.id)
            #expect(try watched.stream(id).properties["stream.capture.sink"] == "true")
            try server.start("parec", "-d", "mic", "--property=node.name=voice", "--raw")
            let voice = try watched.playing("voice", .input)
            let mic = try #require(watched.device(named: "mic"))
            #expect(try watched.stream(voice).device == mic.id)
            #expect(mic.id.direction == .input)
        }
    }

    @Test func aRolePolicyOfTheSessionManagersIsToldWithTheSinksThatItTurnsDown() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let watched = try Watched(server)
            func load(_ name: String, _ properties: String) throws -> String {
                let module = try server.output(
                    "pactl", "load-module", "module-null-sink", "sink_name=\(name)", "sink_properties=\(properties)")
                return module.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            _ = try load(
                "role.multimedia",
                "policy.role-based.priority=10 policy.role-based.action.lower-priority=mix device.intended-roles=Music")
            try watched.wait("a sink") { _ in watched.device(named: "role.multimedia") != nil }
            #expect(watched.graph.foreignPolicies.isEmpty, "it turns nothing down")
            let sink = try #require(watched.device(named: "role.multimedia"))
            let module = try load(
                "role.phone",
                "policy.role-based.priority=25 policy.role-based.action.lower-priority=duck "
                    + "device.intended-roles='[\"Communication\",\"Phone\"]'")
            try watched.wait("the policy") { !$0.graph.foreignPolicies.isEmpty }
            #expect(
                watched.graph.foreignPolicies == [
                    ForeignPolicy(
                        name: "wireplumber-role-policy",
                        arguments: "trigger_roles=Communication,Phone ducking_sinks=\(sink.id.serial)")
                ])
            try server.output("pactl", "unload-module", module)
            try watched.wait("its end") { $0.graph.foreignPolicies.isEmpty }
        }
    }

    @Test func hostilePropertiesAreTakenAsText() async throws {
        try await onOwnThread {
            let server = try PrivateServer()
            let tone = try Tone(server.directory, frequency: 600)
            let watched = try Watched(server)
            let huge = String(repeating: "x", count: 50_000)
            try server.start(
                "pacat", "-p", "--file-format=wav", "--property=node.name=hostile", "--property=media.role=",
                "--property=huge=\(huge)", "--property=controls=\u{1B}]0;x\u{07}\n\r\t", "--property=braces={[\"\\",
                "--property=object.serial=1", "--property=client.id=nobody", tone.path)
            let id = try watched.playing("hostile")
            let stream = try watched.stream(id)
            #expect(stream.properties["huge"]?.count == 50_000)
            #expect(stream.properties["controls"] == "\u{1B}]0;x\u{07}\n\r\t")
            #expect(stream.properties["braces"] == "{[\"\\")
            let gain = SoftGain(volume: [0.1, 0.1], isMuted: false)
            try watched.hold(gain, on: id)
        }
    }

    private func version(_ server: PrivateServer) throws -> String {
        let text = try server.output("pipewire", "--version")
        return try #require(text.split { $0 == " " || $0 == "\n" }.last.map(String.init))
    }
}
