import AudioPolicy
import EventLoop
import PulseAudioServer
import Testing

@Suite struct GraphTests {
    @Test func `A connection starts with everything that is there`() throws {
        let pulse = try PrivatePulse(extra: ["load-module module-remap-sink sink_name=remap master=hs"])
        try pulse.play(role: "music")
        try pulse.play(role: nil, name: "bare", sink: "hs")
        try waitUntil("both play") {
            (try? pulse.pactl("list", "short", "sink-inputs").split(separator: "\n").count) == 3
        }
        let watcher = try Watcher(pulse.address)
        #expect(watcher.info?.kind == .pulseaudio)
        #expect(watcher.info?.version == (try pulse.pactl("info")).serverVersion)
        let spk = try #require(watcher.device("spk"))
        let hs = try #require(watcher.device("hs"))
        #expect(watcher.graph.defaultOutput == spk.id)
        #expect(watcher.graph.defaultInput == watcher.device("spk.monitor")?.id)
        #expect(watcher.device("hs.monitor")?.monitorOf == hs.id)
        let music = try #require(watcher.output(role: "music"))
        #expect(music.device == spk.id)
        #expect(music.volume == [1, 1])
        #expect(music.client != nil)
        #expect(music.linkGroup == nil)
        #expect(music.driver == "protocol-native.c")
        #expect(music.properties["application.name"] == "player")
        #expect(music.restoreKey == "sink-input-by-media-role:music")
        // The remap sink and its stream belong together.
        let filter = try #require(watcher.outputs.first { $0.client == nil })
        #expect(filter.device == hs.id)
        #expect(filter.linkGroup != nil)
        #expect(watcher.device("remap")?.linkGroup == filter.linkGroup)
    }

    @Test func `A stream appears, changes and goes, with one report for each`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        let player = try pulse.play(role: "music")
        let music = try watcher.stream(role: "music")
        #expect(!music.isMuted)
        try pulse.pactl("set-sink-input-mute", music.id.description, "1")
        try watcher.wait("muted") { watcher.graph.streams[music.id]?.isMuted == true }
        try pulse.pactl("set-sink-input-volume", music.id.description, "30000", "60000")
        try watcher.wait("30000, 60000") {
            watcher.graph.streams[music.id]?.volume.map { ($0 * 1000).rounded() } == [96, 767]
        }
        player.kill()
        try watcher.wait("gone") { watcher.graph.streams[music.id] == nil }
        #expect(watcher.changes.filter { $0 == .streamRemoved(music.id) }.count == 1)
    }

    @Test func `PRF-01: bare calls of pactl cause nothing at all`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        try watcher.settle()
        watcher.changes = []
        for _ in 0..<20 { try pulse.pactl("info") }
        try watcher.settle()
        #expect(watcher.changes.count == 1, "only the marker: \(watcher.changes)")
    }

    @Test func `Sinks come and go, and the default follows`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        let module = try pulse.pactl("load-module", "module-null-sink", "sink_name=third")
        try watcher.wait("the sink") { watcher.device("third") != nil }
        try pulse.pactl("set-default-sink", "third")
        try watcher.wait("the default") { watcher.graph.defaultOutput == watcher.device("third")?.id }
        try pulse.pactl("unload-module", module)
        try watcher.wait("gone") { watcher.device("third") == nil && watcher.device("third.monitor") == nil }
        try watcher.wait("another default") {
            watcher.graph.defaultOutput.map { watcher.graph.devices[$0] != nil } ?? false
        }
    }

    @Test func `The user's role modules are listed, unloaded and loaded again`() throws {
        let pulse = try PrivatePulse(extra: ["load-module module-role-ducking trigger_roles=phone ducking_roles=music"])
        let watcher = try Watcher(pulse.address)
        let policy = try #require(watcher.graph.foreignPolicies.first)
        #expect(policy.name == "module-role-ducking")
        #expect(policy.arguments == "trigger_roles=phone ducking_roles=music")
        watcher.server.perform([.unloadPolicy(policy)])
        try watcher.wait("unloaded") { watcher.graph.foreignPolicies.isEmpty }
        watcher.server.perform([.loadPolicy(policy)])
        try watcher.wait("loaded") { watcher.graph.foreignPolicies.count == 1 }
        #expect(watcher.graph.foreignPolicies[0].arguments == policy.arguments)
        #expect(watcher.failures.isEmpty)
    }

    @Test func `A combine sink is joined to all its streams`() throws {
        let pulse = try PrivatePulse(extra: ["load-module module-combine-sink sink_name=both slaves=spk,hs"])
        let watcher = try Watcher(pulse.address)
        let group = try #require(watcher.device("both")?.linkGroup)
        let legs = watcher.outputs.filter { $0.linkGroup == group }
        #expect(Set(legs.compactMap(\.device)) == Set(["spk", "hs"].compactMap { watcher.device($0)?.id }))
    }
}

extension String {
    fileprivate var serverVersion: String? {
        split(separator: "\n").first { $0.hasPrefix("Server Version: ") }.map { String($0.dropFirst(16)) }
    }
}
