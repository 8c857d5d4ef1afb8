import Foundation
import Testing

@testable import SessionBus

@Suite struct ServiceFileTests {
    private func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `The files for the bus and the service manager name what the daemon owns`() throws {
        let bus = try text("config/dbus/\(BusContract.name).service")
        #expect(bus.contains("\nName=\(BusContract.name)\n"))
        #expect(bus.contains("\nSystemdService=sordino.service\n"))
        #expect(try text("config/systemd/sordino.service").contains("\nBusName=\(BusContract.name)\n"))
    }
}
