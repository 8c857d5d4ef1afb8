import AudioSession
import AudioSessionTestHelper
import EventLoop
import Testing

@testable import AudioPolicy

/// Classification, triggers, routing and virtual streams, through the whole core.
struct DriverTests {
    // MARK: Classification

    @Test(arguments: bothKinds)
    func `CLS-03 a silent voice room lets music play on, and the next track starts as the first did`(kind: ServerKind) {
        let desk = Desk(kind)
        let room = desk.play("phone", "room") { $0.setSilent() }
        let first = desk.play("music", "one")
        desk.session.pass(.seconds(60))
        #expect(desk.isHeard(first, at: 0))
        desk.server.stop(first)
        let second = desk.play("music", "two")
        desk.settle()
        #expect(desk.isHeard(second, at: 0))
        desk.server.setLoudness(room, 0.5)
        desk.settle()
        #expect(desk.isHeard(second, at: -20))
        desk.server.setLoudness(room, 0)
        desk.session.pass(.seconds(33))
        #expect(desk.isHeard(second, at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `CLS-07 twenty chimes touch no music`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        desk.settle()
        for round in 0..<20 {
            let bell = desk.play("event", "bell\(round)")
            desk.session.pass(.milliseconds(100))
            desk.server.stop(bell)
            desk.session.pass(.milliseconds(100))
            #expect(desk.isHeard(music, at: 0))
        }
        #expect(desk.server.log.isEmpty)
    }

    // MARK: Triggers

    @Test(arguments: bothKinds)
    func `TRG-03 a trigger that is corked or muted does not count`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let call = desk.play("phone", isCorked: true)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        for _ in 0..<2 {
            desk.server.cork(call, false)
            desk.settle()
            #expect(desk.isHeard(music, at: -20))
            desk.server.setMute(call, true)
            desk.settle()
            #expect(desk.isHeard(music, at: 0))
            desk.server.setMute(call, false)
            desk.settle()
            #expect(desk.isHeard(music, at: -20))
            desk.server.cork(call, true)
            desk.settle()
            #expect(desk.isHeard(music, at: 0))
        }
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `A11-01 media dips while a speech service speaks and is never paused`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let speech = desk.play("a11y") { $0.setSilent() }
        desk.session.pass(.seconds(5))
        for _ in 0..<4 {
            desk.server.setLoudness(speech, 0.5)
            desk.session.pass(.milliseconds(1000))
            #expect(desk.isHeard(music, at: -14))
            desk.server.setLoudness(speech, 0)
            desk.session.pass(.milliseconds(2000))
            #expect(desk.isHeard(music, at: 0) && desk.server[music]?.isCorked == false)
        }
        #expect(desk.isHeard(speech, at: 0))
    }

    @Test(arguments: bothKinds)
    func `the ear hears a trigger within the design's time`(kind: ServerKind) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let speech = desk.play("a11y") { $0.setSilent() }
        desk.session.pass(.seconds(5))
        desk.server.setLoudness(speech, 0.5)
        let start = desk.loop.now
        while desk.isHeard(music, at: 0), desk.loop.now - start < .seconds(1) { desk.session.pass(.milliseconds(1)) }
        #expect(desk.loop.now - start <= .milliseconds(80))
    }

    // MARK: Routing

    @Test(arguments: bothKinds)
    func `RTE-01 music on another output is left alone, and with scope everywhere it is not`(kind: ServerKind) {
        for scope in PolicySettings.Scope.allCases {
            let desk = Desk(kind) { $0.settings.scope = scope }
            let near = desk.play("music", "near")
            let far = desk.play("music", "far", on: desk.headset)
            let call = desk.play("phone")
            desk.settle()
            #expect(desk.isHeard(near, at: -20))
            #expect(desk.isHeard(far, at: scope == .everywhere ? -20 : 0))
            desk.server.stop(call)
            desk.settle()
            desk.expectNoTrace()
        }
    }

    @Test(arguments: bothKinds)
    func `RTE-02 a ducked stream that moves out of scope has its own level at once, and again its duck when it is back`(
        kind: ServerKind
    ) {
        let desk = Desk(kind)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.server.move(music, to: desk.headset)
        desk.session.pass(.milliseconds(20))
        #expect(desk.isHeard(music, at: 0))
        desk.server.move(music, to: desk.speakers)
        desk.session.pass(.milliseconds(20))
        #expect(desk.isHeard(music, at: -20))
        desk.server.move(music, to: desk.headset)
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        desk.server.move(music, to: desk.speakers)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds, [PolicySettings.pausing, .muting])
    func `RTE-03 a silenced stream that moves out of scope plays there`(kind: ServerKind, settings: PolicySettings) {
        let desk = Desk(kind) { $0.settings = settings }
        // The server's module forgets a stream that moves: a program that has stopped for it can only be unmuted.
        let music = desk.play("music") { $0.obeysCorkRequests = false }
        let film = desk.play("video")
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isSilent(music) && desk.isSilent(film))
        desk.server.move(music, to: desk.headset)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.server[music]?.isCorked == false)
        #expect(desk.isSilent(film))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0) && desk.isHeard(film, at: 0))
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `RTE-12 no device volume is ever written, whatever becomes of the devices`(kind: ServerKind) {
        let desk = Desk(kind)
        desk.server.setDeviceVolume(desk.speakers, 0.5)
        let music = desk.play("music")
        let call = desk.play("phone")
        desk.settle()
        desk.server.setDefault(desk.headset)
        desk.settle()
        desk.server.removeDevice(desk.speakers)
        desk.settle()
        let speakers = desk.server.addDevice("spk", volume: 0.5)
        desk.settle()
        desk.server.stop(call)
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        #expect(desk.server.devices[speakers]?.volume == [0.5, 0.5])
        #expect(desk.server.devices[desk.headset]?.volume == [1, 1])
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `the stream that starts under a duck is heard at its level from the start`(kind: ServerKind) {
        let desk = Desk(kind)
        let call = desk.play("phone")
        desk.settle()
        let late = desk.play("music")
        desk.session.pass(.milliseconds(10))
        #expect(desk.isHeard(late, at: -20))
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    // MARK: Virtual streams

    @Test(arguments: bothKinds)
    func `VIR-01 through a remap music is turned down once, at its own stream`(kind: ServerKind) {
        let desk = Desk(kind)
        let remap = desk.server.addDevice("rm", linkGroup: "remap-1")
        let leg = desk.server.start("remap", role: kind == .pulseaudio ? "filter" : nil, on: desk.speakers) {
            $0.setPlumbing(driver: "module-remap-sink.c", linkGroup: "remap-1")
        }
        let music = desk.play("music", on: remap)
        let other = desk.play("video", on: desk.headset)
        let call = desk.play("phone")
        desk.settle()
        #expect(desk.isHeard(music, at: -20) && desk.isHeard(leg, at: 0) && desk.isHeard(other, at: 0))
        desk.server.stop(call)
        desk.settle()
        #expect(desk.operations(on: leg).isEmpty)
        desk.expectNoTrace()
    }

    @Test(arguments: bothKinds)
    func `a combine sink is in the scope of all its outputs, and follows its legs`(kind: ServerKind) {
        let desk = Desk(kind)
        let combined = desk.server.addDevice("both", linkGroup: "combine-1")
        var legs: [StreamID] = []
        for device in [desk.speakers, desk.headset] {
            legs.append(
                desk.server.start("combine", role: kind == .pulseaudio ? "filter" : nil, on: device) {
                    $0.setPlumbing(driver: "module-combine-sink.c", linkGroup: "combine-1")
                })
        }
        let music = desk.play("music", on: combined)
        let call = desk.play("phone", on: desk.headset)
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
        desk.server.stop(legs[1])
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }

    @Test func `VIR-06 a compressed stream is never said to be ducked, and paused by a mute`() {
        let desk = Desk(.pulseaudio) { $0.settings.effects.cells[.groupCall]?[.mediaPlayback] = .mute }
        let film = desk.play("video") { $0.setPassthrough() }
        desk.settle()
        let call = desk.play("phone")
        desk.settle()
        let status = desk.session.status()?.streams.first { $0.id == film.description }
        #expect(status?.effect == nil && desk.operations(on: film).isEmpty && desk.isHeard(film, at: 0))
        desk.server.stop(call)
        desk.settle()
        desk.expectNoTrace()
    }
}
