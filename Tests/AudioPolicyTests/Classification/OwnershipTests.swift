import AudioPolicy
import AudioSession
import Testing

@Suite struct OwnershipTests {
    @Test func `streams of one process are one owner's, streams of two are not`() throws {
        let world = ClassificationWorld()
        let a = world.open(pid: 10)
        let b = world.open(.input, pid: 10)
        let c = world.open(pid: 11)
        #expect(world.areOneOwner(a, b))
        #expect(!world.areOneOwner(a, c))
        #expect(world.classifier[a]?.owner.pid == 10)
        #expect(world.classifier.streams(of: try #require(world.classifier[a]).owner) == [a, b])
    }

    @Test func `two audio children of one program are its own`() {
        let world = ClassificationWorld()
        world.processes.add(5, "/usr/bin/bash", session: 5)
        world.processes.add(10, "/usr/lib/chromium/chromium", parent: 5)
        world.processes.add(11, "/usr/lib/chromium/chromium", parent: 10)
        world.processes.add(12, "/usr/lib/chromium/chromium", parent: 10)
        let a = world.open(pid: 11, binary: "chromium")
        let b = world.open(.input, pid: 12, binary: "chromium")
        #expect(world.areOneOwner(a, b))
        #expect(world.kind(a) == .groupCall)
    }

    @Test func `a process below another stream's process is that program's, in whichever order they come`() {
        for parentFirst in [true, false] {
            let world = ClassificationWorld()
            world.processes.add(10, "/usr/bin/chat")
            world.processes.add(11, "/bin/sh", parent: 10)
            world.processes.add(12, "/usr/bin/paplay", parent: 11)
            let opened = (parentFirst ? [10, 12] : [12, 10]).map { pid in
                world.open(pid: pid, binary: pid == 10 ? "chat" : "paplay")
            }
            #expect(world.areOneOwner(opened[0], opened[1]))
            let parent = parentFirst ? opened[0] : opened[1]
            let child = parentFirst ? opened[1] : opened[0]
            #expect(world.classifier[child]?.owner.key == "process:10")
            world.close(parent)
            #expect(world.classifier[child]?.owner.key == "process:12")
        }
    }

    @Test(arguments: [
        "/bin/bash", "/usr/bin/gnome-terminal-server", "/usr/bin/konsole", "/usr/lib/systemd/systemd",
        "/usr/bin/gnome-shell",
        "/usr/bin/tmux", "/usr/bin/plasmashell", "/usr/bin/xfce4-terminal",
    ])
    func `what a shell, terminal, desktop or service manager starts is not its own`(starter: String) {
        let world = ClassificationWorld()
        world.processes.add(5, starter, session: 5)
        world.processes.add(10, "/usr/bin/player", parent: 5)
        world.processes.add(11, "/usr/bin/recorder", parent: 5)
        let file = starter.split(separator: "/").last.map(String.init) ?? ""
        let bell = world.open(pid: 5, binary: file)
        let a = world.open(pid: 10, binary: "player")
        let b = world.open(.input, pid: 11, binary: "recorder")
        #expect(!world.areOneOwner(a, b))
        #expect(!world.areOneOwner(a, bell))
        #expect(world.kind(b) == .recording)
    }

    @Test func `a session leader is never the common ancestor, nor is an interpreter`() {
        let world = ClassificationWorld()
        world.processes.add(10, "/usr/bin/app", session: 10)
        world.processes.add(11, "/usr/bin/app", parent: 10)
        world.processes.add(12, "/usr/bin/app", parent: 10)
        world.processes.add(20, "/usr/bin/python3.11")
        world.processes.add(21, "/usr/bin/python3.11", parent: 20)
        world.processes.add(22, "/usr/bin/python3.11", parent: 20)
        #expect(!world.areOneOwner(world.open(pid: 11), world.open(pid: 12)))
        #expect(
            !world.areOneOwner(world.open(pid: 21, binary: "python3.11"), world.open(pid: 22, binary: "python3.11")))
    }

    @Test func `sandbox comes before unit, unit before process tree`() {
        let world = ClassificationWorld()
        let one = ProcessFacts.Sandbox(application: "org.example.Chat", instance: "1")
        let two = ProcessFacts.Sandbox(application: "org.example.Chat", instance: "2")
        world.processes.add(10, "/app/bin/chat", sandbox: one)
        world.processes.add(11, "/app/bin/helper", sandbox: one)
        world.processes.add(12, "/app/bin/chat", parent: 10, sandbox: two)
        let a = world.open(pid: 10, binary: "chat")
        let b = world.open(pid: 11, binary: "helper")
        let c = world.open(pid: 12, binary: "chat")
        #expect(world.areOneOwner(a, b))
        #expect(!world.areOneOwner(a, c))
        world.processes.add(20, "/usr/bin/x", unit: "app-x-20.scope")
        world.processes.add(21, "/usr/bin/y", unit: "app-x-20.scope")
        world.processes.add(22, "/usr/bin/z", parent: 20, unit: "app-z-22.scope")
        #expect(world.areOneOwner(world.open(pid: 20, binary: "x"), world.open(pid: 21, binary: "y")))
        #expect(!world.areOneOwner(world.open(pid: 20, binary: "x"), world.open(pid: 22, binary: "z")))
    }

    @Test func `a terminal's unit is not the unit of what was started in it`() {
        let world = ClassificationWorld()
        let unit = "app-org.kde.konsole-5.scope"
        world.processes.add(5, "/usr/bin/konsole", unit: unit)
        world.processes.add(6, "/bin/bash", parent: 5, session: 6, unit: unit)
        world.processes.add(10, "/usr/bin/mpv", parent: 6, unit: unit)
        world.processes.add(11, "/usr/bin/baresip", parent: 6, unit: unit)
        #expect(!world.areOneOwner(world.open(pid: 10, binary: "mpv"), world.open(pid: 11, binary: "baresip")))
        // A service whose start script is a shell is a unit of its own all the same.
        world.processes.add(19, "/usr/lib/systemd/systemd")
        world.processes.add(20, "/bin/sh", parent: 19, session: 20, unit: "app-chat.service")
        world.processes.add(21, "/opt/chat/chat", parent: 20, session: 20, unit: "app-chat.service")
        let chat = world.open(pid: 21, binary: "chat")
        #expect(world.classifier[chat]?.owner.key == "unit:app-chat.service")
    }

    @Test(arguments: ["dead", "foreign", "younger", "another program", "no binary"])
    func `a pid that the system does not confirm is unknown, and unknown is nobody's`(fault: String) {
        let world = ClassificationWorld()
        let binary = fault == "another program" ? "other" : "app"
        if fault != "dead" {
            world.processes.add(
                10, "/usr/bin/app", user: fault == "foreign" ? 0 : 1000, started: fault == "younger" ? 2000 : 1)
        }
        func stream(_ serial: UInt64, _ direction: AudioDirection) -> ServerStream {
            var properties = ["application.process.id": "10", "application.process.binary": binary]
            if fault == "no binary" { properties["application.process.binary"] = nil }
            var stream = ServerStream(id: StreamID(direction, serial), properties: properties)
            stream.client = serial
            stream.device = direction == .output ? DeviceID(.output, 0) : ClassificationWorld.microphone
            return stream
        }
        let playback = stream(500, .output)
        let capture = stream(501, .input)
        world.apply([.stream(playback), .stream(capture)])
        #expect(!world.areOneOwner(playback.id, capture.id))
        #expect(world.classifier[playback.id]?.owner.pid == nil)
        #expect(world.kind(playback.id) == .mediaPlayback)
        #expect(world.kind(capture.id) == .recording)
    }

    @Test(arguments: ["", "-1", "0", "12x", "99999999999999999999", "\u{1}10", " 10"])
    func `a pid that is no number is none`(text: String) {
        let world = ClassificationWorld()
        world.processes.add(10, "/usr/bin/app")
        let id = world.open(.output, ["application.process.id": text])
        #expect(world.classifier[id]?.owner.pid == nil)
    }

    @Test func `a client on another machine has no process here`() {
        let world = ClassificationWorld()
        let near = world.open(pid: 10, ["native-protocol.peer": "UNIX socket client"])
        let far = world.open(pid: 10, ["native-protocol.peer": "TCP/IP client from 10.0.0.7:1234"])
        #expect(world.classifier[near]?.owner.pid == 10)
        #expect(world.classifier[far]?.owner.pid == nil)
    }

    @Test func `one connection is one owner, whoever that is`() {
        let world = ClassificationWorld()
        let playback = world.open(client: 7)
        let capture = world.open(.input, client: 7)
        #expect(world.areOneOwner(playback, capture))
        #expect(world.kind(playback) == .groupCall)
    }

    @Test func `PER-03: Pulse clients on PipeWire are not told apart by the pid of pipewire-pulse`() {
        let world = ClassificationWorld(.pipewire)
        world.processes.add(50, "/usr/bin/pipewire-pulse")
        var streams: [StreamID] = []
        for pid in [Int32(10), 11] {
            let client = ServerClient(
                id: UInt64(pid), properties: ["client.api": "pipewire-pulse", "pipewire.sec.pid": "50"])
            world.apply([.client(client)])
            streams.append(world.open(pid: pid, client: UInt64(pid)))
        }
        #expect(!world.areOneOwner(streams[0], streams[1]))
        #expect(world.classifier[streams[0]]?.owner.pid == 10)
        // Without a pid of its own that can be believed, it has none.
        world.processes.known[10] = nil
        world.apply([
            .client(ServerClient(id: 60, properties: ["client.api": "pipewire-pulse", "pipewire.sec.pid": "50"]))
        ])
        let unknown = world.open(client: 60)
        #expect(world.classifier[unknown]?.owner.pid == nil)
    }

    @Test func `a native PipeWire stream's process is its client's, as the server knows it`() {
        let world = ClassificationWorld(.pipewire)
        world.processes.add(10, "/usr/bin/pw-cat")
        let id = world.open(client: 9)
        #expect(world.classifier[id]?.owner.pid == nil)
        let changed = world.apply([.client(ServerClient(id: 9, properties: ["pipewire.sec.pid": "10"]))])
        #expect(changed == [id])
        #expect(world.classifier[id]?.owner.pid == 10)
    }

    @Test func `a portal's application id is a sandbox that the program cannot choose`() {
        let world = ClassificationWorld(.pipewire)
        for (client, instance) in [(UInt64(1), "a"), (2, "a"), (3, "b")] {
            let properties = [
                "pipewire.access.portal.app_id": "org.example.Chat", "pipewire.access.portal.instance_id": instance,
            ]
            world.apply([.client(ServerClient(id: client, properties: properties))])
        }
        let first = world.open(client: 1)
        #expect(world.areOneOwner(first, world.open(client: 2)))
        #expect(!world.areOneOwner(first, world.open(client: 3)))
        #expect(world.classifier[first]?.owner.sandbox == "org.example.Chat")
        let liar = world.open(.output, ["pipewire.access.portal.app_id": "org.example.Chat"])
        #expect(world.classifier[liar]?.owner.sandbox == nil)
    }

    @Test
    func `CLS-01: six streams of one voice program are one session, and a role's coming and going changes no owner`() {
        let world = ClassificationWorld()
        world.processes.add(5, "/bin/bash", session: 5)
        let pids: [Int32] = [10, 11, 12, 13]
        for pid in pids { world.processes.add(pid, "/usr/bin/pacat", parent: 5) }
        let voices = pids.prefix(3).map { world.open(pid: $0, binary: "pacat", name: "chrome") }
        let capture = world.open(.input, pid: 13, binary: "pacat", name: "chrome")
        for id in voices + [capture] {
            #expect(world.areOneOwner(id, capture))
            #expect(world.kind(id) == .groupCall)
        }
        let asked = world.processes.questions
        let owner = world.classifier[voices[0]]?.owner
        #expect(world.change(voices[0]) { $0.properties["media.role"] = "phone" }.contains(voices[0]))
        #expect(world.kind(voices[0]) == .call)
        #expect(world.classifier[voices[0]]?.owner == owner)
        world.change(voices[0]) { $0.properties["media.role"] = nil }
        #expect(world.kind(voices[0]) == .groupCall)
        #expect(world.change(voices[0]) { $0.properties["media.title"] = "x" }.isEmpty)
        #expect(world.change(voices[0]) { $0.volume = [0.5, 0.5] }.isEmpty)
        #expect(world.processes.questions == asked)
    }

    @Test func `two tools that a shell has started under their own names are two programs`() {
        let world = ClassificationWorld()
        world.processes.add(5, "/bin/bash", session: 5)
        world.processes.add(10, "/usr/bin/pacat", parent: 5, name: "paplay")
        world.processes.add(11, "/usr/bin/pacat", parent: 5, name: "paplay")
        let a = world.open(pid: 10, binary: "pacat", name: "paplay")
        let b = world.open(pid: 11, binary: "pacat", name: "paplay")
        #expect(!world.areOneOwner(a, b))
    }
}

@Suite struct HolderTests {
    private func holder(_ pid: Int32, tag: String = "t", sandbox: ProcessFacts.Sandbox? = nil)
        -> StreamClassifier.Holder
    {
        .init(claim: ClaimID(number: UInt64(pid)), kind: .call, tag: tag, pid: pid, sandbox: sandbox)
    }

    @Test func `CLS-06: every stream of a holder and of what it started is its own, the untagged ones too`() {
        let world = ClassificationWorld()
        world.processes.add(5, "/bin/bash", session: 5)
        world.processes.add(10, "/usr/bin/sordino", parent: 5)
        world.processes.add(11, "/bin/sh", parent: 10)
        world.processes.add(12, "/usr/bin/paplay", parent: 11)
        let own = world.open(pid: 10, binary: "sordino")
        let child = world.open(pid: 12, binary: "paplay", role: "music")
        let other = world.open(pid: 13, binary: "mpv")
        #expect(world.setHolders([holder(10)]) == [own, child])
        let claims: Set<ClaimID> = [ClaimID(number: 10)]
        #expect(world.classifier[own]?.ownersClaims == claims)
        #expect(world.classifier[child]?.ownersClaims == claims)
        #expect(world.classifier[child]?.kind == .mediaPlayback)
        #expect(world.classifier[other]?.ownersClaims == [])
        #expect(world.classifier.streams(coveredBy: ClaimID(number: 10)) == [own, child])
        // What it starts later is its own as well.
        world.processes.add(14, "/usr/bin/paplay", parent: 10)
        let later = world.open(pid: 14, binary: "paplay")
        #expect(world.classifier[later]?.ownersClaims == claims)
        #expect(world.setHolders([]).isSuperset(of: [own, child]))
    }

    @Test func `what runs beside a holder below the same program is not the holder's`() {
        let world = ClassificationWorld()
        world.processes.add(9, "/usr/bin/sordino", name: "sordino")
        world.processes.add(10, "/usr/bin/sordino", parent: 9, name: "sordino")
        world.processes.add(11, "/usr/bin/mpv", parent: 9)
        let other = world.open(pid: 11, binary: "mpv")
        #expect(world.setHolders([holder(10)]).isEmpty)
        #expect(world.classifier[other]?.ownersClaims == [])
    }

    @Test func `a tag that is not its owner's to use says nothing`() {
        let world = ClassificationWorld()
        let thief = world.open(pid: 20, binary: "thief", role: "music", ["sordino.claim": "t"])
        let nobody = world.open(role: "music", ["sordino.claim": "t"])
        world.processes.add(10, "/usr/bin/app")
        #expect(world.setHolders([holder(10)]).isEmpty)
        #expect(world.kind(thief) == .mediaPlayback)
        #expect(world.kind(nobody) == .mediaPlayback)
        let rightful = world.open(pid: 10, role: "music", ["sordino.claim": "t"])
        #expect(world.kind(rightful) == .call)
        #expect(world.source(rightful) == .tag)
    }

    @Test func `a holder in a sandbox covers that instance, and one in a helper process its whole program`() {
        let world = ClassificationWorld()
        let sandbox = ProcessFacts.Sandbox(application: "org.example.Chat", instance: "1")
        world.processes.add(10, "/app/chat", sandbox: sandbox)
        world.processes.add(20, "/usr/bin/firefox")
        world.processes.add(21, "/usr/bin/firefox", parent: 20)
        let boxed = world.open(pid: 10, binary: "chat")
        let browser = world.open(pid: 20, binary: "firefox")
        #expect(world.setHolders([holder(99, sandbox: sandbox), holder(21)]) == [boxed, browser])
    }
}
