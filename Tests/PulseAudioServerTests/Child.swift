import Foundation
import Glibc

/// One process of a test's.
final class Child {
    let pid: pid_t
    private var status: Int32?

    init(_ program: String, _ arguments: [String], environment: [String: String], output: String = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var environ = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for string in argv + environ { free(string) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, "/usr/bin/\(program)", &actions, nil, &argv, &environ)
        guard result == 0 else { throw Failure("\(program): \(String(cString: strerror(result)))") }
        self.pid = pid
    }

    /// Its exit status, once it has ended.
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
        let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -1
        self.status = status
        return status
    }

    /// Ends it at once, as a crash would.
    func kill() {
        guard status == nil else { return }
        Glibc.kill(pid, SIGKILL)
        _ = wait()
    }
}
