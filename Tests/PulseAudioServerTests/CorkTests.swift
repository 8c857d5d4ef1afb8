import AudioPolicy
import EventLoop
import PulseAudioServer
import Testing

@Suite struct CorkTests {
    @Test func `Streams of the named roles are asked to pause, and to go on`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        try pulse.play(role: "video")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        let video = try watcher.stream(role: "video")
        watcher.server.perform([.setCorkedRoles(["music"])])
        try watcher.wait("paused") { watcher.graph.streams[music.id]?.isCorked == true }
        #expect(watcher.graph.streams[video.id]?.isCorked == false)
        watcher.server.perform([.setCorkedRoles(["video"])])
        try watcher.wait("the other way round") {
            watcher.graph.streams[music.id]?.isCorked == false && watcher.graph.streams[video.id]?.isCorked == true
        }
        watcher.server.perform([.setCorkedRoles([])])
        try watcher.wait("both go on") {
            watcher.outputs.allSatisfy { !$0.isCorked && !$0.isMuted }
        }
        try watcher.settle()
        #expect(watcher.inputs.isEmpty, "the trigger is no part of the graph")
        #expect(watcher.graph.foreignPolicies.isEmpty)
        #expect(!watcher.graph.restoreEntries.keys.contains { $0.contains("sordino-cork") })
        #expect(!(try pulse.pactl("list", "short", "modules")).contains("module-role-cork"))
        #expect(watcher.failures.isEmpty)
        // Nor does anything of it stay behind in the store, which hides it from the graph.
        watcher.server.stop()
        let other = try Watcher(pulse.address)
        #expect(other.graph.streams.count == 2)
    }

    @Test func `Changes of mind in quick succession end as the last one says`() throws {
        let pulse = try PrivatePulse()
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        for _ in 0..<5 {
            watcher.server.perform([.setCorkedRoles(["video"]), .setCorkedRoles([]), .setCorkedRoles(["music"])])
            try watcher.wait("paused") { watcher.graph.streams[music.id]?.isCorked == true }
            watcher.server.perform([.setCorkedRoles(["a"]), .setCorkedRoles(["b", "c"]), .setCorkedRoles([])])
            try watcher.wait("plays") { watcher.graph.streams[music.id]?.isCorked == false }
        }
        try watcher.wait("unloaded") { (try? pulse.pactl("list", "short", "modules"))?.contains("role-cork") == false }
        #expect(watcher.failures.isEmpty)
    }

    @Test func `The user's own cork module stays, and the request is turned down`() throws {
        let pulse = try PrivatePulse(extra: ["load-module module-role-cork"])
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        _ = try watcher.stream(role: "music")
        watcher.server.perform([.setCorkedRoles(["music"])])
        try watcher.wait("turned down") { watcher.failures.count == 1 }
        #expect(watcher.failures[0].operation == .setCorkedRoles(["music"]))
        #expect(watcher.graph.foreignPolicies.map(\.name) == ["module-role-cork"])
        watcher.server.perform([.setCorkedRoles([])])
        try watcher.settle()
        #expect(watcher.failures.count == 1)
        #expect(watcher.outputs.allSatisfy { !$0.isCorked })
    }

    @Test func `The sink that holds the trigger may go`() throws {
        let pulse = try PrivatePulse()
        let first = try pulse.pactl("list", "short", "modules").split(separator: "\n").first {
            $0.contains("sink_name=spk")
        }
        let module = try #require(first?.split(separator: "\t").first.map(String.init))
        try pulse.play(role: "music", sink: "hs")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        watcher.server.perform([.setCorkedRoles(["music"])])
        try watcher.wait("paused") { watcher.graph.streams[music.id]?.isCorked == true }
        try pulse.pactl("unload-module", module)
        try watcher.wait("gone") { watcher.device("spk") == nil }
        try watcher.settle()
        try watcher.wait("still paused") { watcher.graph.streams[music.id]?.isCorked == true }
        watcher.server.perform([.setCorkedRoles([])])
        try watcher.wait("plays") { watcher.graph.streams[music.id]?.isCorked == false }
        #expect(watcher.failures.isEmpty)
    }

    @Test func `What a crash left of it is taken away at the next start`() throws {
        let pulse = try PrivatePulse()
        try pulse.pactl(
            "load-module", "module-role-cork", "trigger_roles=sordino-cork", "cork_roles=music", "global=true",
            "use_source_trigger=true")
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        #expect(watcher.graph.foreignPolicies.isEmpty)
        // Also at once, while the server has yet to unload it.
        watcher.server.perform([.setCorkedRoles(["music"])])
        try watcher.wait("paused") { watcher.graph.streams[music.id]?.isCorked == true }
        #expect(watcher.failures.isEmpty)
    }

    @Test func `A role that would be another argument of the module is turned down`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        for role in ["", "a b", "music global=false", "x\"", "é", "a,b"] {
            watcher.failures = []
            watcher.server.perform([.setCorkedRoles([role])])
            try watcher.wait("turned down: \(role)") { watcher.failures.count == 1 }
        }
    }
}
