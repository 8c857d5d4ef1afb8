import Glibc

/// The directories and variables that stand between a private server and the machine's own.
struct Surroundings: Sendable {
    /// The supervisor's directory, which holds all the others.
    let root: String

    var runtime: String { root + "/runtime" }
    var config: String { root + "/config" }
    var logs: String { root + "/log" }
    var busSocket: String { runtime + "/bus" }
    var pulseSocket: String { runtime + "/pulse/native" }
    var pipeWireSocket: String { runtime + "/pipewire-0" }

    func log(_ name: String) -> String { "\(logs)/\(name).log" }
    func file(_ name: String) -> String { "\(root)/\(name)" }

    func create() throws(HeadlessError) {
        for name in [
            "runtime", "runtime/pulse", "config", "config/pulse", "state", "data", "data/dbus-1",
            "data/dbus-1/services", "cache", "home", "log",
        ]
        where mkdir("\(root)/\(name)", 0o700) < 0 {
            throw HeadlessError("\(root)/\(name): \(errorText(errno))")
        }
    }

    /// The same for either server, so that one can take the other's place.
    func variables(bus: Bool) -> [String: String] {
        [
            "HOME": root + "/home",
            "XDG_RUNTIME_DIR": runtime,
            "XDG_CONFIG_HOME": config,
            "XDG_STATE_HOME": root + "/state",
            "XDG_DATA_HOME": root + "/data",
            "XDG_CACHE_HOME": root + "/cache",
            "PULSE_SERVER": "unix:" + pulseSocket,
            "PULSE_RUNTIME_PATH": runtime + "/pulse",
            "PULSE_STATE_PATH": config + "/pulse",
            "PULSE_CONFIG": file("daemon.conf"),
            "PULSE_CLIENTCONFIG": file("client.conf"),
            "PIPEWIRE_RUNTIME_DIR": runtime,
            "PIPEWIRE_REMOTE": "pipewire-0",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + (bus ? busSocket : runtime + "/no-bus"),
            // A place where nobody listens: the machine's own must not be asked.
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=" + runtime + "/no-system-bus",
        ]
    }

    /// The owner's environment without what leads to the machine's sound and buses, and with the private one's.
    static func merged(_ variables: [String: String], over inherited: [String: String]) -> [String: String] {
        let foreign = ["PULSE_", "PIPEWIRE_", "WIREPLUMBER_", "DBUS_", "XDG_SESSION_", "XDG_CONFIG_DIRS"]
        let kept = ["PIPEWIRE_MODULE_DIR", "WIREPLUMBER_MODULE_DIR", "WIREPLUMBER_DATA_DIR"]
        return
            inherited
            .filter { name, _ in kept.contains(name) || !foreign.contains(where: name.hasPrefix) }
            .merging(variables) { $1 }
    }

    /// A bus with nothing of the machine's to activate; what its user puts into `XDG_DATA_HOME/dbus-1/services` is.
    var busConfiguration: String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
          "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(busSocket)</listen>
          <auth>EXTERNAL</auth>
          <servicedir>\(root)/data/dbus-1/services</servicedir>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
    }
}
