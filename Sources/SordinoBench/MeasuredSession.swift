import AudioPolicy
import AudioPolicyConfiguration
import Glibc
import LinuxProcesses
import PipeWireServer
import PulseAudioServer
import SordinoDaemon
import SystemEventLoop

/// A sound server that tells how long its session takes from the server's word of a stream to the last write queued.
private final class MeasuredServer: SoundServer {
    private let server: any SoundServer
    private let victims: Int
    private var noticed: (time: Double, isNew: Bool)?

    init(_ kind: ServerKind, loop: SystemEventLoop, victims: Int) {
        self.victims = victims
        switch kind {
        case .pulseaudio:
            let pulse = PulseAudioServer(loop: loop)
            server = pulse
            pulse.onStreamNotice = { [unowned self] in self.notice(isNew: $0) }
        case .pipewire:
            let pipeWire = PipeWireServer(loop: loop)
            server = pipeWire
            pipeWire.onStreamNotice = { [unowned self] in self.notice(isNew: $0) }
        }
    }

    private func notice(isNew: Bool) { noticed = (monotonic(), isNew) }

    var kind: ServerKind { server.kind }
    var onEvent: ((SoundServerEvent) -> Void)? {
        get { server.onEvent }
        set { server.onEvent = newValue }
    }
    func start() { server.start() }
    func stop() { server.stop() }
    func setMeters(_ streams: Set<StreamID>) { server.setMeters(streams) }

    func perform(_ operations: [ServerOperation]) -> UInt64 {
        let batch = server.perform(operations)
        let end = monotonic()
        let count = operations.count { operation in
            switch operation {
            case .setVolume, .setSoftGain, .clearSoftGain: true
            default: false
            }
        }
        if count >= victims, let noticed {
            say("\(noticed.isNew ? "duck" : "restore") \(count) \((end - noticed.time) * 1000)")
        }
        return batch
    }
}

/// The session as `sordino run` has it, with the shipped configuration and the ledger in a file, without the bus.
func runMeasuredSession(_ kind: ServerKind, victims: Int) -> Int32 {
    do {
        let loop = try SystemEventLoop()
        let settings = PolicyConfiguration.load().settings
        let directory = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/tmp"
        let store = try FileLedgerStore(directory + "/bench-ledger", copy: nil)
        let session = PolicySession(
            loop: loop, settings: settings, processes: ProcessDirectory(), store: store, loadSettings: { settings })
        session.onEvent = { event in
            guard event.event == .serverConnected else { return }
            say("ready")
        }
        session.driver.attach(MeasuredServer(kind, loop: loop, victims: victims))
        return try loop.run()
    } catch {
        writeError("\(error)")
        return 1
    }
}
