import Foundation
import Glibc

/// PipeWire with its PulseAudio server, and nothing else: enough to be asked who it is.
final class PrivatePipeWire {
    private let directory: String
    private var children: [Child] = []

    var address: String { "unix:\(directory)/pulse/native" }

    init() throws {
        var template = Array("/tmp/pipewire-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Failure("mkdtemp: \(errno)") }
        let directory = String(cString: made)
        self.directory = directory
        let environment = [
            "PATH": "/usr/bin:/bin", "HOME": directory, "XDG_RUNTIME_DIR": directory, "PIPEWIRE_RUNTIME_DIR": directory,
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
        ]
        children.append(try Child("pipewire", [], environment: environment))
        try waitUntil("PipeWire listens") { access("\(directory)/pipewire-0", F_OK) == 0 }
        children.append(try Child("pipewire-pulse", [], environment: environment))
        try waitUntil("its PulseAudio server listens") { access("\(directory)/pulse/native", F_OK) == 0 }
    }

    deinit {
        for child in children.reversed() { child.kill() }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
