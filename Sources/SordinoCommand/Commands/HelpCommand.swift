import AudioPolicy
import SordinoDaemon

enum HelpCommand {
    static func run(_ invocation: Invocation, _ context: Context) throws(CommandFailure) {
        if invocation.has("man") { return context.out(ManPage.text(version: Sordino.version)) }
        switch invocation.value("reference") {
        case "man": return context.out(ConfigurationPage.man(version: Sordino.version))
        case "markdown": return context.out(ConfigurationPage.markdown())
        default: break
        }
        switch invocation.value("completions") {
        case "bash": return context.out(Completions.bash())
        case "zsh": return context.out(Completions.zsh())
        default: break
        }
        let asked = invocation.arguments.joined(separator: " ")
        if asked.isEmpty { return context.out(HelpText.overview()) }
        if let name = CommandName(rawValue: asked) { return context.out(HelpText.command(CommandTable.spec(name))) }
        let families = CommandName.allCases.filter { $0.words.count == 2 }.map { $0.words[0] }
        if families.contains(asked) { return context.out(HelpText.family(asked)) }
        let names = CommandName.allCases.map(\.rawValue) + families
        throw CommandFailure(
            ExitCode.usage, "there is no command “\(asked.shown())”" + suggestion(for: asked, among: names))
    }
}
