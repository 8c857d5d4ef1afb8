import AudioPolicy
import AudioSession
import Testing

@Suite struct PlumbingTests {
    @Test(
        arguments: [
            ("module-loopback.c", "abstract"), ("module-remap-sink.c", "filter"), ("module-combine-sink.c", "filter"),
            ("module-echo-cancel.c", "filter"), ("module-rtp-recv.c", "stream"), ("module-anything.c", nil),
            ("protocol-native.c", "filter"),
        ] as [(String, String?)])
    func `VIR-02: on PulseAudio, module streams and filter roles are plumbing in either direction`(
        driver: String, role: String?
    ) {
        for direction in [AudioDirection.output, .input] {
            let world = ClassificationWorld()
            let id = world.open(direction, role: role)
            world.change(id) {
                $0.client = nil
                $0.driver = driver
            }
            #expect(world.classifier[id]?.isPlumbing == true)
            #expect(world.classifier[id]?.capture == nil)
            #expect(world.kind(id) == nil)
            #expect(world.source(id) == .server)
        }
    }

    @Test func `VIR-02: a sample of the cache has no client and is still played for somebody`() {
        let world = ClassificationWorld()
        let id = world.open(role: "event", ["event.id": "mysample"])
        world.change(id) {
            $0.client = nil
            $0.driver = "play-memchunk.c"
        }
        #expect(world.classifier[id]?.isPlumbing == false)
        #expect(world.kind(id) == .ambient)
    }

    @Test(arguments: [["node.virtual": "true"], ["node.link-group": "loopback-1"], ["media.category": "Filter"]])
    func `VIR-02: on PipeWire, virtual nodes and link groups are plumbing`(properties: [String: String]) {
        for direction in [AudioDirection.output, .input] {
            let world = ClassificationWorld(.pipewire)
            let id = world.open(direction, properties)
            #expect(world.classifier[id]?.isPlumbing == true)
            #expect(world.kind(id) == nil)
        }
    }

    @Test func `VIR-02: another sound server's tunnel and our own streams are plumbing`() {
        let world = ClassificationWorld()
        let tunnel = world.open(binary: "pulseaudio", name: "PulseAudio")
        let bridge = world.open(.input, binary: "pipewire", name: "PipeWire")
        let ours = world.open(pid: 9, binary: "sordino", [PropertyName.internalStream: "trigger"])
        for id in [tunnel, bridge, ours] { #expect(world.classifier[id]?.isPlumbing == true) }
    }

    @Test(arguments: ["stream.monitor", "resample.peaks"])
    func `REC-01: a meter is never a recorder`(property: String) {
        let world = ClassificationWorld(.pipewire)
        let music = world.open(pid: 10, binary: "mixer")
        let meter = world.open(.input, pid: 10, binary: "mixer", [property: "true"])
        #expect(world.classifier[meter]?.capture == .meter)
        #expect(world.classifier[meter]?.isPlumbing == true)
        #expect(world.kind(meter) == nil)
        #expect(world.kind(music) == .mediaPlayback)
    }

    @Test func `REC-02: what records the speakers is no recorder of somebody's voice`() {
        let pulse = ClassificationWorld()
        let byDevice = pulse.open(.input, on: ClassificationWorld.monitor)
        #expect(pulse.classifier[byDevice]?.capture == .monitor)
        #expect(pulse.kind(byDevice) == nil)
        let pipewire = ClassificationWorld(.pipewire)
        let byProperty = pipewire.open(.input, ["stream.capture.sink": "true"])
        let byLink = pipewire.open(.input, on: DeviceID(.output, 0))
        #expect(pipewire.classifier[byProperty]?.capture == .monitor)
        #expect(pipewire.classifier[byLink]?.capture == .monitor)
    }

    @Test func `REC-02: a recorder that moves between microphone and monitor is followed`() {
        let world = ClassificationWorld()
        let id = world.open(.input)
        #expect(world.kind(id) == .recording)
        world.change(id) { $0.device = ClassificationWorld.monitor }
        #expect(world.classifier[id]?.capture == .monitor)
        world.change(id) { $0.device = ClassificationWorld.microphone }
        #expect(world.kind(id) == .recording)
    }

    @Test func `REC-02: a source that turns out to be a monitor after the stream did`() {
        let world = ClassificationWorld()
        let source = DeviceID(.input, 77)
        let id = world.open(.input, on: source)
        #expect(world.classifier[id]?.capture == .microphone)
        var device = ServerDevice(id: source, name: "x.monitor")
        device.monitorOf = DeviceID(.output, 0)
        #expect(world.apply([.device(device)]) == [id])
        #expect(world.classifier[id]?.capture == .monitor)
    }

    @Test func `REC-03: the echo canceller's legs are plumbing and who records from its source is the recorder`() {
        let world = ClassificationWorld()
        let leg = world.open(.input, role: "filter")
        world.change(leg) {
            $0.client = nil
            $0.driver = "module-echo-cancel.c"
            $0.linkGroup = "7"
        }
        var virtual = ServerDevice(id: DeviceID(.input, 9), name: "esrc")
        virtual.linkGroup = "7"
        world.apply([.device(virtual)])
        let recorder = world.open(.input, on: virtual.id)
        #expect(world.classifier[leg]?.isPlumbing == true)
        #expect(world.classifier[recorder]?.capture == .microphone)
        #expect(world.kind(recorder) == .recording)
    }
}
