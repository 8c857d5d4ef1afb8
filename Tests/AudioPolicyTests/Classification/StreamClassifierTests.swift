import AudioPolicy
import AudioSession
import Testing

@Suite struct StreamKindTests {
    @Test(
        arguments: [
            ("music", .mediaPlayback), ("Music", .mediaPlayback), ("video", .mediaPlayback), ("Movie", .mediaPlayback),
            ("phone", .call), ("Communication", .call), ("COMMUNICATION", .call), ("event", .ambient),
            ("Notification", .ambient), ("animation", .ambient), ("test", .ambient), ("Test", .ambient),
            ("game", .game),
            ("Game", .game), ("a11y", .speech), ("Accessibility", .speech), ("production", .mediaPlayback),
            ("Production", .mediaPlayback),
        ] as [(String, AudioSessionClientKind)])
    func `CLS-08: a role means the same in either server's spelling, in whatever case`(
        role: String, kind: AudioSessionClientKind
    ) {
        for server in [ServerKind.pulseaudio, .pipewire] {
            let world = ClassificationWorld(server)
            let id = world.open(role: role)
            #expect(world.kind(id) == kind)
            #expect(world.source(id) == .role)
        }
    }

    @Test(arguments: [
        "", "tphonon.streamid", "hex:00", "phone ", "banana", "\u{1}\u{2}", String(repeating: "x", count: 100_000),
    ])
    func `CLS-01: a role that no vocabulary has is none`(role: String) {
        let world = ClassificationWorld()
        let id = world.open(role: role)
        #expect(world.kind(id) == .mediaPlayback)
        #expect(world.source(id) == .fallback)
    }

    @Test func `direction comes before role: a recording labelled as music is a recording`() {
        let world = ClassificationWorld(.pipewire)
        let recorder = world.open(.input, role: "Music")
        #expect(world.kind(recorder) == .recording)
        #expect(world.classifier[recorder]?.capture == .microphone)
        let phone = world.open(.input, role: "Communication")
        #expect(world.kind(phone) == .call)
    }

    @Test func `CLS-07: an event sound is ambient, unless its id is one that calls somebody`() {
        let world = ClassificationWorld()
        #expect(world.kind(world.open(role: "event", ["event.id": "bell-window-system"])) == .ambient)
        #expect(world.kind(world.open(.output, ["event.id": "message-new-instant"])) == .ambient)
        for id in ["alarm-clock-elapsed", "phone-incoming-call", "phone-outgoing-calling"] {
            for role in ["event", "alarm", nil] {
                let stream = world.open(role: role, ["event.id": id])
                #expect(world.kind(stream) == .alarm)
                #expect(world.source(stream) == .event)
            }
        }
    }

    @Test func `capture and playback by one owner are a call, whichever comes first, and end with either`() {
        let world = ClassificationWorld()
        let music = world.open(pid: 10)
        #expect(world.kind(music) == .mediaPlayback)
        let capture = world.open(.input, pid: 10)
        #expect(world.kind(music) == .groupCall)
        #expect(world.kind(capture) == .groupCall)
        #expect(world.source(music) == .capturePlayback)
        let changed = world.close(capture)
        #expect(changed == [capture, music])
        #expect(world.kind(music) == .mediaPlayback)
        let other = world.open(.input, pid: 10)
        world.close(music)
        #expect(world.kind(other) == .recording)
    }

    @Test func `A11-02: what a program that speaks plays without a role is speech, as long as it speaks`() {
        let world = ClassificationWorld()
        let cue = world.open(pid: 10)
        let music = world.open(pid: 10, role: "music")
        let stranger = world.open(pid: 20)
        #expect(world.kind(cue) == .mediaPlayback)
        let speech = world.open(pid: 10, role: "a11y")
        #expect(world.kind(cue) == .speech)
        #expect(world.source(cue) == .ownersSpeech)
        #expect(world.kind(music) == .mediaPlayback)
        #expect(world.kind(stranger) == .mediaPlayback)
        #expect(world.close(speech) == [speech, cue])
        #expect(world.kind(cue) == .mediaPlayback)
    }

    @Test func `capture and playback by two owners are no call`() {
        let world = ClassificationWorld()
        let music = world.open(pid: 10, binary: "player")
        let capture = world.open(.input, pid: 20, binary: "recorder")
        #expect(world.kind(music) == .mediaPlayback)
        #expect(world.kind(capture) == .recording)
    }

    @Test func `where a capture and a playback share a name, the browser's other playback is its music`() {
        let world = ClassificationWorld()
        let call = world.open(pid: 10, binary: "firefox", media: "My Call")
        let music = world.open(pid: 10, binary: "firefox", media: "Some Song")
        let capture = world.open(.input, pid: 10, binary: "firefox", media: "My Call")
        #expect(world.kind(call) == .groupCall)
        #expect(world.kind(capture) == .groupCall)
        #expect(world.kind(music) == .mediaPlayback)
    }

    @Test func `a player that says what it plays stays that beside a capture of its own`() {
        let world = ClassificationWorld()
        let music = world.open(pid: 10, role: "music")
        let capture = world.open(.input, pid: 10)
        #expect(world.kind(music) == .mediaPlayback)
        #expect(world.kind(capture) == .recording)
    }

    @Test func `a call by role takes its owner's capture along`() {
        let world = ClassificationWorld()
        let voice = world.open(pid: 10, role: "phone")
        let capture = world.open(.input, pid: 10)
        #expect(world.kind(voice) == .call)
        #expect(world.kind(capture) == .call)
    }

    @Test func `monitor captures and meters trigger nothing and pair with nothing`() {
        let world = ClassificationWorld()
        let music = world.open(pid: 10)
        let monitor = world.open(.input, pid: 10, on: ClassificationWorld.monitor)
        let meter = world.open(.input, pid: 10)
        world.change(meter) { $0.resampleMethod = "peaks" }
        #expect(world.kind(music) == .mediaPlayback)
        #expect(world.kind(monitor) == nil)
        #expect(world.kind(meter) == nil)
        #expect(world.classifier[monitor]?.capture == .monitor)
        #expect(world.classifier[monitor]?.isPlumbing == false)
        #expect(world.classifier[meter]?.capture == .meter)
        #expect(world.classifier[meter]?.isPlumbing == true)
    }
}

@Suite struct RulePrecedenceTests {
    @Test func `a tag comes first, then the user's rules, the table, the role`() {
        var settings = PolicySettings()
        settings.rules = [.on(["application.name": "ruled"]) { $0.kind = .speech }]
        settings.applications = [
            .on(["application.name": "ruled"]) { $0.kind = .game },
            .on(["application.name": "tabled"]) { $0.kind = .game },
        ]
        let world = ClassificationWorld(settings: settings)
        let ruled = world.open(pid: 10, name: "ruled", role: "music", ["sordino.claim": "t1"])
        let tabled = world.open(name: "tabled", role: "music")
        #expect(world.kind(ruled) == .speech)
        #expect(world.source(ruled) == .rule("test.conf:1"))
        #expect(world.kind(tabled) == .game)
        #expect(world.source(tabled) == .table("test.conf:1"))
        let holder = StreamClassifier.Holder(claim: ClaimID(number: 1), kind: .call, tag: "t1", pid: 10)
        #expect(world.setHolders([holder]) == [ruled])
        #expect(world.kind(ruled) == .call)
        #expect(world.classifier[ruled]?.claim == ClaimID(number: 1))
        #expect(world.setHolders([]) == [ruled])
        #expect(world.kind(ruled) == .speech)
    }

    @Test func `of each action the first rule that gives it counts`() {
        var settings = PolicySettings()
        settings.rules = [
            .on(["application.name": "a"]) { $0.effects = [.call: .pause] },
            .on(["application.name": "a"]) {
                $0.kind = .playback
                $0.effects = [.call: .mute, .alarm: .none]
            },
            .on(["application.name": "a"]) {
                $0.kind = .game
                $0.ignore = true
            },
        ]
        let world = ClassificationWorld(settings: settings)
        let id = world.open(name: "a")
        #expect(world.kind(id) == .playback)
        #expect(world.classifier[id]?.actions.effects == [.call: .pause, .alarm: .none])
        #expect(world.classifier[id]?.actions.ignore == true)
        #expect(world.classifier[id]?.actions.ignoredBy == "test.conf:1")
    }

    @Test func `a recording workstation records and plays and is no call`() {
        var settings = PolicySettings()
        settings.applications = [.on(["application.process.binary": "ardour"]) { $0.kind = .recording }]
        let world = ClassificationWorld(settings: settings)
        let playback = world.open(pid: 10, binary: "ardour")
        let capture = world.open(.input, pid: 10, binary: "ardour")
        #expect(world.kind(playback) == .mediaPlayback)
        #expect(world.kind(capture) == .recording)
    }

    @Test func `rules see whether the owner captures`() {
        var settings = PolicySettings()
        settings.applications = [
            .on(["application.name": "phone", "sordino.owner-captures": "false"]) { $0.kind = .alarm },
            .on(["application.name": "phone"]) { $0.kind = .call },
        ]
        let world = ClassificationWorld(settings: settings)
        let ringing = world.open(pid: 10, name: "phone")
        #expect(world.kind(ringing) == .alarm)
        let capture = world.open(.input, pid: 10, name: "phone")
        #expect(world.kind(ringing) == .call)
        #expect(world.kind(capture) == .call)
    }

    @Test func `new settings are applied to the streams that are there`() {
        let world = ClassificationWorld()
        let id = world.open(name: "a")
        var settings = PolicySettings()
        settings.rules = [.on(["application.name": "a"]) { $0.kind = .speech }]
        #expect(world.classifier.setSettings(settings) == [id])
        #expect(world.kind(id) == .speech)
        #expect(world.classifier.setSettings(settings).isEmpty)
    }

    @Test func `CLS-02: of two streams with the same shared name only the tagged one is music`() {
        var settings = PolicySettings()
        settings.rules = [
            .on(["application.name": "Chromium", "media.role": "music"]) { $0.level = Decibels(-35) }
        ]
        let world = ClassificationWorld(settings: settings)
        let tagged = world.open(binary: "electron", name: "Chromium", role: "music")
        let other = world.open(binary: "electron", name: "Chromium")
        #expect(world.classifier[tagged]?.actions.level == Decibels(-35))
        #expect(world.classifier[other]?.actions.level == nil)
        #expect(!world.areOneOwner(tagged, other))
    }
}
