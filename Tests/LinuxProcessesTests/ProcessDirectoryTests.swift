import AudioPolicy
import Foundation
import Glibc
import Testing

@testable import LinuxProcesses

@Suite struct ProcessDirectoryTests {
    @Test func `this process is what the system says it is`() throws {
        let directory = ProcessDirectory()
        let facts = try #require(directory.facts(of: getpid()))
        #expect(facts.parent == getppid())
        #expect(facts.userID == getuid())
        #expect(facts.sessionID == getsid(0))
        #expect(facts.executable == (try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")))
        #expect(!facts.name.isEmpty)
        #expect(facts.started <= directory.now)
        #expect(facts.started > directory.now - 86_400)
    }

    @Test func `a process that is gone or never was has no facts`() throws {
        let directory = ProcessDirectory()
        var pid: pid_t = 0
        var arguments = [strdup("sleep"), strdup("60"), nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawn(&pid, "/bin/sleep", nil, nil, &arguments, environ) == 0)
        let facts = try #require(directory.facts(of: pid))
        #expect(facts.parent == getpid())
        #expect(facts.started >= directory.now - 60)
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        #expect(directory.facts(of: pid) == nil)
        #expect(directory.facts(of: 0) == nil)
        #expect(directory.facts(of: -1) == nil)
    }

    private func stat(_ text: String) -> ProcessStat? { Array(text.utf8).withUnsafeBytes { ProcessStat($0) } }

    @Test func `a name with blanks and parentheses does not confuse the fields`() {
        let stat = stat("77 (a) b) (c d) S 12 77 55 0 -1 4 0 0 0 0 1 1 0 0 20 0 1 0 4711 0 0")
        #expect(stat?.name == "a) b) (c d")
        #expect(stat?.parent == 12)
        #expect(stat?.session == 55)
        #expect(stat?.startTicks == 4711)
        #expect(self.stat("77 (x") == nil)
        #expect(self.stat("") == nil)
        #expect(self.stat("77 (dead) Z 12 77 55 0 -1 4 0 0 0 0 1 1 0 0 20 0 1 0 4711 0 0") == nil)
    }

    @Test(
        arguments: [
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope\n",
                "app-gnome-firefox-4242.scope"
            ),
            ("12:cpu:/\n1:name=systemd:/user.slice/app-org.kde.konsole-12.scope\n", "app-org.kde.konsole-12.scope"),
            ("0::/user.slice/user@1000.service/app.slice/app-org.kde.konsole-12.scope/tab(13).scope\n", nil),
            ("0::/user.slice/user-1000.slice/session-2.scope\n", nil),
            ("0::/\n", nil),
            ("", nil),
        ] as [(String, String?)])
    func `only an application's own leaf cgroup is a unit`(text: String, unit: String?) {
        let leaf = Array(text.utf8).withUnsafeBytes { ControlGroup.leaf($0) }
        #expect(leaf.flatMap { ControlGroup.isApplication($0) ? $0 : nil } == unit)
    }

    @Test func `Flatpak and Snap sandboxes are recognised by what the system keeps of them`() {
        let info = "[Application]\nname=org.mozilla.firefox\nruntime=r\n\n[Instance]\ninstance-id=123456\n"
        #expect(Sandboxes.flatpak(info) == .init(application: "org.mozilla.firefox", instance: "123456"))
        #expect(Sandboxes.flatpak("garbage") == nil)
        let unit = "snap.discord.discord-0e7a.scope"
        for label in ["snap.discord.discord (enforce)\n", "unconfined\n", nil] {
            #expect(
                Sandboxes.snap(label: label, unit: unit)
                    == .init(application: "discord", instance: "discord.discord-0e7a"))
        }
        #expect(Sandboxes.snap(label: "unconfined\n", unit: "x") == nil)
    }

    @Test func `a process of a PID namespace is found by its inner pid and executable, if it is the only one`() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        try make(101, in: root, inner: 5, executable: "/app/bin/discord")
        try make(102, in: root, inner: 6, executable: "/app/bin/discord")
        try make(103, in: root, inner: 5, executable: "/app/bin/other")
        let directory = ProcessDirectory(root: root.path, userID: 1000)
        #expect(directory.process(namespaced: 5, executable: "discord")?.pid == 101)
        #expect(directory.process(namespaced: 9, executable: "discord") == nil)
        try make(104, in: root, inner: 5, executable: "/app/bin/discord")
        #expect(directory.process(namespaced: 5, executable: "discord") == nil)
    }

    private func make(_ pid: Int, in root: URL, inner: Int, executable: String) throws {
        let folder = root.appending(path: "\(pid)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let stat = "\(pid) (app) S 1 1 1 0 -1 4 0 0 0 0 1 1 0 0 20 0 1 0 100 0 0"
        try Data(stat.utf8).write(to: folder.appending(path: "stat"))
        let status = "Name:\tapp\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t\(pid)\t\(inner)\n"
        try Data(status.utf8).write(to: folder.appending(path: "status"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: "exe").path, withDestinationPath: executable)
    }
}
