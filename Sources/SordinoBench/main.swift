import Glibc

let exitCode: Int32
switch BenchCommand.parse(Array(CommandLine.arguments.dropFirst())) {
case .measure(let options): exitCode = await Bench(options).run()
case .session(let kind, let victims): exitCode = runMeasuredSession(kind, victims: victims)
case .help:
    print(BenchCommand.helpText)
    exitCode = 0
case .wrong(let message):
    writeError("sordino-bench: \(message)")
    exitCode = 64
}
exit(exitCode)
