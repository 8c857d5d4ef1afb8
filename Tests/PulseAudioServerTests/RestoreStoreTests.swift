import AudioPolicy
import EventLoop
import PulseAudioServer
import Testing

@Suite struct RestoreStoreTests {
    private let key = "sink-input-by-media-role:music"

    @Test func `RST-02: a duck that the server stored is healed while the stream stays ducked`() throws {
        let pulse = try PrivatePulse()
        let player = try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        let music = try watcher.stream(role: "music")
        #expect(music.restoreKey == key)
        try watcher.wait("an entry") { watcher.graph.restoreEntries[key] != nil }
        let own = try #require(watcher.graph.restoreEntries[key])
        watcher.server.perform([.setVolume(music.id, [0.1, 0.1])])
        try watcher.wait("the duck is stored") { watcher.graph.restoreEntries[key] != own }
        watcher.server.perform([.writeRestoreEntry(own)])
        try watcher.wait("healed") { watcher.graph.restoreEntries[key] == own }
        #expect(watcher.graph.streams[music.id]?.volume.first.map { $0 < 0.2 } == true)
        player.kill()
        try watcher.wait("gone") { watcher.graph.streams[music.id] == nil }
        try pulse.play(role: "music")
        #expect(try watcher.stream(role: "music").volume == [1, 1])
        #expect(watcher.failures.isEmpty)
    }

    @Test func `An entry is written as it was read: device, mute, channels`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        let entries = [
            RestoreEntry(
                key: "sink-input-by-application-name:a", volume: [1, 0.125, 0, 8],
                channelMap: "front-left,front-right,rear-left,rear-right",
                isMuted: true, device: "hs"),
            RestoreEntry(
                key: "sink-input-by-application-name:b", volume: [], channelMap: "", isMuted: false, device: "spk"),
            RestoreEntry(
                key: "source-output-by-media-role:phone", volume: [0.001], channelMap: "mono", isMuted: false,
                device: nil),
        ]
        watcher.server.perform(entries.map { .writeRestoreEntry($0) })
        try watcher.wait("all") { entries.allSatisfy { watcher.graph.restoreEntries[$0.key] != nil } }
        for entry in entries.prefix(2) { #expect(watcher.graph.restoreEntries[entry.key] == entry) }
        let read = try Watcher(pulse.address).graph.restoreEntries
        #expect(read == watcher.graph.restoreEntries)
        watcher.changes = []
        watcher.server.perform(read.values.map { .writeRestoreEntry($0) })
        try watcher.settle()
        // Each write of ours is read back, and nothing has changed by it.
        for case .restoreEntry(let entry) in watcher.changes where read[entry.key] != nil {
            #expect(read[entry.key] == entry)
        }
        #expect(try Watcher(pulse.address).graph.restoreEntries.filter { read[$0.key] != nil } == read)
        watcher.server.perform([.deleteRestoreEntry(key: entries[0].key)])
        try watcher.wait("removed") { watcher.graph.restoreEntries[entries[0].key] == nil }
        #expect(watcher.changes.contains(.restoreEntryRemoved(entries[0].key)))
        #expect(watcher.failures.isEmpty)
    }

    @Test func `An entry that makes no sense is refused`() throws {
        let pulse = try PrivatePulse()
        let watcher = try Watcher(pulse.address)
        let wrong = RestoreEntry(key: "k", volume: [1, 1], channelMap: "mono", isMuted: false, device: nil)
        watcher.server.perform([.writeRestoreEntry(wrong)])
        try watcher.wait("refused") { watcher.failures.count == 1 }
        #expect(watcher.failures[0].operation == .writeRestoreEntry(wrong))
    }

    @Test func `A server without a store works, and one that gets it later is read`() throws {
        let pulse = try PrivatePulse(stores: false)
        try pulse.play(role: "music")
        let watcher = try Watcher(pulse.address)
        #expect(watcher.graph.restoreEntries.isEmpty)
        let music = try watcher.stream(role: "music")
        watcher.server.perform([.setMute(music.id, true)])
        try watcher.wait("muted") { watcher.graph.streams[music.id]?.isMuted == true }
        let module = try pulse.pactl("load-module", "module-stream-restore")
        try pulse.play(role: "video")
        try watcher.wait("stored") { watcher.graph.restoreEntries["sink-input-by-media-role:video"] != nil }
        try pulse.pactl("unload-module", module)
        try watcher.wait("forgotten") { watcher.graph.restoreEntries.isEmpty }
        #expect(watcher.failures.isEmpty)
        #expect(watcher.lost.isEmpty)
    }
}
