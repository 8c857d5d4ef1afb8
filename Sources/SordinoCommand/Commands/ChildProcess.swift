import AudioPolicy
import Glibc
import SordinoDaemon

/// A command that runs beside this process, with its terminal, its process group and its standard descriptors.
struct ChildProcess {
    let pid: pid_t

    /// - Parameter signals: the mask that the command begins with.
    init(_ command: [String], environment: [String: String], signals: sigset_t) throws(CommandFailure) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = signals
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, command[0], nil, &attributes, &arguments, &variables)
        guard result == 0 else {
            // As a shell has it.
            let code: Int32 = result == ENOENT ? 127 : 126
            throw CommandFailure(code, "\(command[0].shown(limit: 200)): \(String(cString: strerror(result)))")
        }
        self.pid = pid
    }

    func send(_ signal: Int32) { kill(pid, signal) }

    /// The status that a shell would give it, 128 + n for a signal; `nil` while it runs.
    func exitStatus() -> Int32? {
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
