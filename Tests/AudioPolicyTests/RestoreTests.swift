import AudioPolicy
import AudioSessionTestHelper
import EventLoop
import Testing

/// The class "restore" of the field cases, on the simulated servers.
struct RestoreTests {
    @Test(arguments: bothKinds)
    func `a call ducks music by 20 dB and gives it back to the bit`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music", volume: [0.3, 0.7])
        desk.settle()
        let before = desk.server[music]?.volume
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isHeard(call, at: 0))
        #expect(zip(desk.server.heard(music), [0.03, 0.07]).allSatisfy { abs($0 - $1) < 0.001 })
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server[music]?.volume == before && desk.server.heard(music) == before)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-01 the next stream of a player that ended while ducked starts at the player's own level`(kind: ServerKind)
    {
        let desk = Desk(kind)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.server.stop(music)
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(desk.play("music"), at: 0))
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-02 a duck reaches no other program of the same role through the store`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music", "a")
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(music)
        desk.server.stop(call)
        desk.settle()
        let other = desk.play("music", "b")
        #expect(desk.server[other]?.restoreKey == "sink-input-by-media-role:music")
        #expect(desk.isHeard(other, at: 0))
    }

    @Test func `RST-02 the store's entry is its own again within 50 ms of each write`() {
        let desk = Desk(.pulseaudio)
        let music = desk.play("music")
        desk.server.setVolume(music, [0.5, 0.5])
        desk.settle()
        let own = desk.server.store["sink-input-by-media-role:music"]?.volume
        #expect(own == desk.server[music]?.volume)
        let call = desk.play("phone")
        var wrongSince: LoopInstant?
        for _ in 0..<3000 {
            desk.session.pass(.milliseconds(1))
            if desk.server.store["sink-input-by-media-role:music"]?.volume == own {
                wrongSince = nil
            } else {
                let since = wrongSince ?? desk.loop.now
                wrongSince = since
                #expect(desk.loop.now - since < .milliseconds(50))
            }
        }
        // A change event of the ducked stream, whatever it is about, stores it again.
        desk.server.setMute(music, true)
        desk.session.pass(.milliseconds(50))
        #expect(desk.server.store["sink-input-by-media-role:music"]?.volume == own)
        #expect(desk.server.store["sink-input-by-media-role:music"]?.isMuted == true)
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-03 a volume that its user sets during a duck is there when it ends`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.server.setVolume(music, [0.216, 0.216])
        desk.settle()
        // PulseAudio's mixers show what is heard, PipeWire's what it is a duck of.
        let level = kind == .pulseaudio ? 0.216 : 0.0216
        #expect(desk.server.heard(music).allSatisfy { abs($0 - level) < 0.0005 })
        #expect(desk.session.isOverridden(music) == (kind == .pulseaudio))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server.heard(music).allSatisfy { abs($0 - 0.216) < 0.0005 })
        if kind == .pulseaudio {
            #expect(desk.server.store["sink-input-by-media-role:music"]?.volume == desk.server[music]?.volume)
        }
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-03 a volume set in the middle of a fade is kept although steps were under way`(kind: ServerKind) {
        for delay in stride(from: 110, through: 240, by: 1) {
            let desk = Desk(kind)
            desk.server.latency = { .milliseconds(7) }
            let music = desk.play("music")
            desk.settle()
            let call = desk.play("phone")
            desk.session.pass(.milliseconds(delay))
            var isOvertaken = false
            desk.server.onOvertaken = { _, what in isOvertaken = isOvertaken || what == .volume }
            desk.server.setVolume(music, [0.216, 0.216])
            desk.settle()
            desk.server.stop(call)
            desk.settle()
            // Nobody can know of what a write of ours replaced before anybody looked.
            let expected = isOvertaken ? 1 : 0.216
            #expect(desk.server.heard(music).allSatisfy { abs($0 - expected) < 0.0005 }, "after \(delay) ms")
            desk.expectNoTrace()
        }
    }

    @Test(arguments: bothKinds)
    func `RST-04 each stream goes back to its own level, never above`(kind: ServerKind) {
        let desk = Desk(kind)
        let levels = [0.003375, 0.216, 1.0]
        let streams = levels.enumerated().map { desk.play("music", "m\($0)", volume: [$1, $1]) }
        desk.settle()
        let before = streams.map { desk.server[$0]?.volume }
        let call = desk.play("phone")
        for _ in 0..<400 {
            desk.session.pass(.milliseconds(10))
            if desk.loop.now.nanoseconds > 4_000_000_000 { desk.server.stop(call) }
            for (stream, own) in zip(streams, before) {
                #expect((desk.server.heard(stream).max() ?? 1) <= (own?.max() ?? 0) + 1e-9)
            }
        }
        desk.settle()
        #expect(streams.map { desk.server[$0]?.volume } == before)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-05 claims that come and go faster than the fade never walk the level`(kind: ServerKind) {
        let desk = Desk(kind) {
            $0.settings.timing.attack = .zero
            $0.settings.timing.hold = .zero
        }
        let music = desk.play("music")
        desk.settle()
        for round in 0..<10 {
            let call = desk.play("phone", "call\(round)")
            desk.session.pass(.milliseconds(1000))
            #expect(desk.isHeard(music, at: -20))
            desk.server.stop(call)
            desk.session.pass(.milliseconds(50 + 17 * round))
        }
        desk.settle()
        #expect(desk.server.heard(music) == [1, 1])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-06 a stream that ends while muted by us leaves no mute behind`(kind: ServerKind) {
        let desk = Desk(kind) { $0.settings = .muting }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music))
        desk.server.stop(music)
        desk.settle()
        #expect(desk.server.store.values.allSatisfy { !$0.isMuted })
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(desk.play("music"), at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-07 silence is never volume 0`(kind: ServerKind) {
        let desk = Desk(kind) { $0.settings = .muting }
        let music = desk.play("music", volume: [0.25, 1])
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music) && desk.server[music]?.volume.allSatisfy { $0 > 0.2 } == true)
        desk.server.stop(music)
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server.store.values.allSatisfy { !$0.isMuted && $0.volume.allSatisfy { $0 > 0 } })
    }

    @Test func `RST-08 the hidden gain is never written, and named where somebody else left one`() {
        let desk = Desk(.pipewire)
        let music = desk.play("music") { $0.setHiddenGain(0.2) }
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server[music]?.hiddenGain == 0.2)
        #expect(desk.session.status()?.warnings.contains { $0.contains("no mixer shows") } == true)
    }

    @Test(arguments: bothKinds)
    func `RST-09 the balance is kept under a duck and after it`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music", volume: [0.064, 1])
        let surround = desk.play("music", "film", volume: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        desk.settle()
        let before = [desk.server[music]?.volume, desk.server[surround]?.volume]
        let call = desk.play("phone")
        desk.settle()
        #expect(zip(desk.server.heard(music), [0.0064, 0.1]).allSatisfy { abs($0 - $1) < 0.0002 })
        #expect(desk.server.heard(surround).count == 6)
        desk.server.stop(call)
        desk.settle()
        #expect([desk.server[music]?.volume, desk.server[surround]?.volume] == before)
    }

    @Test(arguments: [PolicySettings.muting, .pausing])
    func `RST-12 a stream that its user unmutes stays unmuted until the call is over`(settings: PolicySettings) {
        let desk = Desk(.pulseaudio) { $0.settings = settings }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music))
        desk.server.setMute(music, false)
        desk.settle()
        let bell = desk.play("event", "bell")
        desk.settle()
        desk.server.stop(bell)
        desk.settle()
        #expect(desk.server[music]?.isMuted == false && desk.session.isOverridden(music))
        #expect(desk.isHeard(music, at: 0))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test func `RST-12 on PipeWire a user's mute and unmute ends our mute`() {
        let desk = Desk(.pipewire) { $0.settings = .muting }
        let music = desk.play("music")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.setMute(music, true)
        desk.settle()
        #expect(desk.isSilent(music) && !desk.session.isOverridden(music))
        desk.server.setMute(music, false)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.session.isOverridden(music))
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [PolicySettings.muting, .pausing, PolicySettings()])
    func `RST-13 a stream that its user muted, before or during a call, stays muted after it`(
        kind: ServerKind, settings: PolicySettings
    ) {
        let desk = Desk(kind) { $0.settings = settings }
        let before = desk.play("music", "before")
        let during = desk.play("video", "during")
        desk.server.setMute(before, true)
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.setMute(during, false)
        desk.settle()
        desk.server.setMute(during, true)
        desk.settle()
        #expect(desk.isSilent(before) && desk.isSilent(during))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server[before]?.isMuted == true && desk.server[during]?.isMuted == true)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RST-18 a server that rounds volumes is not taken for a user`(kind: ServerKind) {
        let desk = Desk(kind) { $0.server.volumeStep = 1.0 / 16 }
        let music = desk.play("music", volume: [0.8, 0.45])
        desk.settle()
        let before = desk.server[music]?.volume
        let call = desk.play("phone")
        desk.settle()
        #expect(!desk.session.isOverridden(music))
        #expect(desk.server.heard(music).allSatisfy { $0 < 0.12 })
        desk.server.stop(call)
        desk.settle()
        #expect(desk.server[music]?.volume == before)
        desk.expectNoTrace()
    }

    @Test func `a stream that begins between a write and its healing gets its own level`() {
        let desk = Desk(.pulseaudio)
        desk.server.latency = { .milliseconds(3) }
        let music = desk.play("music", "a")
        desk.server.setVolume(music, [0.512, 0.512])
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        desk.server.stop(call)
        var late: [StreamID] = []
        for step in 0..<100 {
            desk.session.pass(.milliseconds(10))
            late.append(desk.play("music", "late\(step)"))
        }
        desk.settle()
        for stream in late { #expect(desk.server[stream]?.volume == desk.server[music]?.volume) }
        desk.expectNoTrace()
    }
}
