import Foundation
import HeadlessAudio
import SoundRig
import Testing

/// What a command left in the file: one number per line.
private func numbers(_ path: String) -> [pid_t] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
}

/// Whether a process has ended; one that waits to be collected by whoever adopted it counts as ended.
private func hasEnded(_ process: pid_t) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
    return status.split(separator: ")").last?.hasPrefix(" Z") == true
}

/// `sordino headless`, as a process that can be killed.
@Suite struct HeadlessCommandTests {
    private let notes: URL
    private let keeper: Supervisor

    init() throws {
        keeper = try Supervisor(prefix: "headless-tests")
        notes = URL(filePath: keeper.directory)
    }

    private func run(_ kind: HeadlessServerKind, _ command: String...) throws -> SupervisedProcess {
        let environment = ProcessInfo.processInfo.environment.merging(["NOTES": notes.path]) { $1 }
        return try keeper.spawn(
            [product("sordino"), "headless", "--server", kind.rawValue, "--"] + command, environment: environment,
            standard: .init())
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `the command's exit status is passed on`(kind: HeadlessServerKind) throws {
        #expect(try run(kind, "sh", "-c", "pactl info >/dev/null && exit 7").wait(timeout: .seconds(20)) == .exited(7))
        #expect(try run(kind, "sh", "-c", "kill -9 $$").wait(timeout: .seconds(20)) == .exited(137))
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal is passed on, and the command decides`(signal: Int32) throws {
        let script = "trap 'exit 5' INT TERM; echo $$ > $NOTES/ready; while :; do sleep 0.01; done"
        let process = try run(.pulseaudio, "sh", "-c", script)
        #expect(eventually { !numbers(notes.path + "/ready").isEmpty })
        process.signal(signal)
        #expect(process.wait(timeout: .seconds(20)) == .exited(5))
    }

    @Test func `a signal that the command does not handle ends both`() throws {
        let process = try run(.pulseaudio, "sh", "-c", "echo $$ > $NOTES/ready; exec sleep 1000")
        #expect(eventually { !numbers(notes.path + "/ready").isEmpty })
        process.signal(SIGTERM)
        #expect(process.wait(timeout: .seconds(20)) == .exited(128 + SIGTERM))
    }

    @Test(arguments: HeadlessServerKind.allCases)
    func `when the owner is killed nothing is left, not even what the command put into the background`(
        kind: HeadlessServerKind
    ) throws {
        let script = """
            setsid sleep 1000 & echo $! >> $NOTES/pids
            (setsid sh -c 'echo $$ >> $NOTES/pids; sleep 1000; true' &)
            echo $XDG_RUNTIME_DIR > $NOTES/directory
            echo $PPID >> $NOTES/pids; echo $$ >> $NOTES/pids
            for p in /proc/[0-9]*; do grep -qs "$XDG_RUNTIME_DIR" $p/environ && echo ${p#/proc/} >> $NOTES/pids; done
            echo 1 > $NOTES/ready
            exec sleep 1000
            """
        let process = try run(kind, "sh", "-c", script)
        #expect(eventually { !numbers(notes.path + "/ready").isEmpty })
        let processes = numbers(notes.path + "/pids")
        let directory = try String(contentsOfFile: notes.path + "/directory", encoding: .utf8).dropLast()
        #expect(processes.count >= 6)
        #expect(!processes.contains { hasEnded($0) && kill($0, 0) == 0 })
        process.kill()
        #expect(eventually { processes.allSatisfy(hasEnded) })
        #expect(eventually { !FileManager.default.fileExists(atPath: String(directory)) })
    }

    @Test func `when the keeper is killed its processes are, and its owner clears up`() throws {
        let server = try HeadlessServer.start(HeadlessOptions(server: .pipewire))
        let processes = server.processIDs
        let stat = try String(contentsOfFile: "/proc/\(processes[0])/stat", encoding: .utf8)
        let fields = try #require(stat.split(separator: ")").last).split(separator: " ")
        kill(try #require(pid_t(fields[1])), SIGKILL)
        #expect(eventually { processes.allSatisfy(hasEnded) })
        #expect(server.process(.server)?.wait(timeout: .seconds(5)) == .signalled(SIGKILL))
        server.stop()
        #expect(!FileManager.default.fileExists(atPath: server.directory))
    }
}
