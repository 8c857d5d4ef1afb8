import Glibc
import HeadlessAudio

// `headless-probe SERVER COMMAND…`: an owner of a private server that tests can kill.
let arguments = CommandLine.arguments
guard arguments.count > 2, let kind = HeadlessServerKind(rawValue: arguments[1]) else { exit(64) }
do {
    exit(try runHeadless(HeadlessOptions(server: kind), command: Array(arguments[2...])))
} catch {
    let text = "\(error)\n"
    write(STDERR_FILENO, text, text.utf8.count)
    exit(69)
}
