import AudioPolicy
import AudioSession
import DaemonTestSupport
import SessionBus
import SystemEventLoop

/// A daemon in this process, on a private bus: its session is told what to do.
actor FakeDaemon {
    private let loop: SystemEventLoop
    private let address: String
    private let processes = KnownProcesses()
    private let session = FakeSession()
    private var service: SessionBusService?

    init(_ address: String) throws {
        loop = try SystemEventLoop()
        self.address = address
        try loop.runOnItsOwnThread()
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    isolated deinit {
        service?.stop()
        loop.exit()
    }

    /// Takes the name.
    func start() throws {
        let service = SessionBusService(loop: loop, control: session, processes: processes, address: address)
        try service.start()
        self.service = service
    }

    /// Leaves the bus.
    func stop() {
        service?.stop()
        service = nil
    }

    private let phone = ObservedClaim.Key(owner: "phone", kind: .call)

    /// Somebody who holds no claim is in a call, or no longer.
    func setCall(_ isOn: Bool) {
        let call = ObservedClaim(key: phone, owner: ClaimOwner(name: "phone"), counts: true)
        session.core.receive(.observed(changed: isOn ? [call] : [], gone: isOn ? [] : [phone]))
        service?.emit(.init(time: 0, event: .winnerChanged))
    }

    /// The claims that programs hold, in the order of their acquisition.
    var claims: [Asked] {
        session.core.arbiter.entries.filter { $0.claim.origin == .explicit }.map {
            Asked($0.claim.kind.rawValue, $0.claim.output.rawValue, $0.claim.isActivated)
        }
    }
}
