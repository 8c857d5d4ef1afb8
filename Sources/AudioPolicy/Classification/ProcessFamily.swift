/// Which executables can stand for the programs that they run, and which never can.
enum ProcessFamily {
    /// Programs whose children are other programs: terminals, service managers, desktops, launchers. What they start is
    /// not theirs.
    static func startsOthers(_ process: ProcessFacts) -> Bool {
        let name = fileName(of: process)
        return starters.contains(name) || name.hasSuffix("-session") || name.contains("terminal")
    }

    /// Shells, and the small programs that only run another: never an owner, and nothing ends at them by itself.
    static func runsAnother(_ process: ProcessFacts) -> Bool {
        let name = fileName(of: process)
        return shells.contains(name) || wrappers.contains(name)
    }

    /// Whether two processes with this executable need not be the same program.
    static func isInterpreter(_ process: ProcessFacts) -> Bool {
        let name = fileName(of: process)
        return interpreters.contains { name == $0 || (name.hasPrefix($0) && name.dropFirst($0.count).isVersion) }
    }

    static func fileName(of process: ProcessFacts) -> String {
        guard !process.executable.isEmpty else { return process.name }
        return lastComponent(process.executable)
    }

    /// The program's name: of a script its own, not its interpreter's.
    static func programName(of process: ProcessFacts) -> String {
        isInterpreter(process) && !process.name.isEmpty ? process.name : fileName(of: process)
    }

    static func lastComponent(_ path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    private static let shells: Set<String> = [
        "sh", "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "pwsh", "rc",
        "tcsh", "xonsh", "yash", "zsh",
    ]

    /// Programs that others run to play or record one stream, under a name of their own choosing.
    static let soundTools: Set<String> = ["pacat", "paplay", "parec", "pw-cat", "pw-play", "pw-record"]

    private static let wrappers: Set<String> = [
        "bwrap", "env", "nice", "nohup", "setsid", "stdbuf", "systemd-inhibit", "systemd-run", "time", "timeout",
        "xvfb-run",
    ]

    private static let starters: Set<String> = [
        // service managers and whoever opens a session
        "systemd", "init", "runit", "runsvdir", "runsv", "s6-svscan", "dinit", "openrc-init", "launchd", "login",
        "agetty",
        "sshd", "sshd-session", "su", "sudo", "doas", "dbus-daemon", "dbus-broker", "dbus-run-session", "cron", "atd",
        "gdm", "sddm", "lightdm", "ly", "greetd", "xinit", "containerd-shim", "conmon", "docker-init", "tini",
        "xdg-dbus-proxy", "xdg-desktop-portal", "gnome-keyring-daemon", "ssh-agent", "supervisord",
        // this very program, which holds a claim for another or runs it beside a private server
        "sordino",
        // desktops
        "gnome-shell", "gnome-session-binary", "plasmashell", "kwin_x11", "kwin_wayland", "kdeinit5", "klauncher",
        "krunner", "kded5", "kded6", "xfce4-panel", "xfdesktop", "xfwm4", "cinnamon", "mate-panel", "lxpanel",
        "lxqt-panel",
        "budgie-panel", "cosmic-comp", "cosmic-panel", "sway", "i3", "Hyprland", "river", "niri", "wayfire", "labwc",
        "weston", "openbox", "fluxbox", "awesome", "bspwm", "sxhkd", "dwm", "qtile", "rofi", "wofi", "fuzzel",
        "dmenu_run",
        "Xorg", "Xwayland", "nautilus", "dolphin", "thunar", "nemo", "caja", "pcmanfm", "phosh", "gala", "wingpanel",
        // terminals
        "konsole", "yakuake", "kgx", "xterm", "uxterm", "urxvt", "rxvt", "st", "foot", "footclient", "alacritty",
        "kitty",
        "wezterm-gui", "wezterm", "ghostty", "tilix", "terminator", "guake", "tilda", "ptyxis", "ptyxis-agent",
        "lxterminal",
        "qterminal", "sakura", "terminology", "cool-retro-term", "tmux", "screen", "zellij", "script", "expect",
        "mosh-server",
        "gnome-terminal-", "gnome-terminal-server", "blackbox",
    ]

    private static let interpreters: [String] = [
        "python", "pypy", "perl", "ruby", "node", "nodejs", "bun", "deno", "java", "php", "lua", "luajit", "gjs",
        "gjs-console",
        "mono", "dotnet", "guile", "tclsh", "wish", "ld-linux-x86-64.so.", "wine-preloader", "wine64-preloader",
        "qemu-x86_64",
    ]
}

extension Substring {
    /// Digits and dots only.
    fileprivate var isVersion: Bool { utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") } }
}
