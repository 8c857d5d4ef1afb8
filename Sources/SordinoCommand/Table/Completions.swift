/// Completions for two shells, made from the table.
enum Completions {
    /// The first words of commands, each once.
    private static var firstWords: [String] {
        CommandTable.commands.map { $0.name.words[0] }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func secondWords(of first: String) -> [String] {
        CommandTable.commands.map(\.name.words).filter { $0.count == 2 && $0[0] == first }.map { $0[1] }
    }

    private static var families: [String] { firstWords.filter { !secondWords(of: $0).isEmpty } }

    // MARK: bash

    static func bash() -> String {
        let families = families.map { family in
            """
                    \(family)) [[ $COMP_CWORD -gt 2 ]] && command="\(family) ${COMP_WORDS[2]}" \
            || words="\(secondWords(of: family).joined(separator: " "))" ;;
            """
        }.joined(separator: "\n")
        return """
            # bash completion for sordino; made by “sordino help --completions bash”.
            _sordino() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                local command=${COMP_WORDS[1]} words="" files=""
                COMPREPLY=()
                # The shell makes a word of the = in --option=value.
                [[ $current == = ]] && current=""
                [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
                if [[ $COMP_CWORD -eq 1 ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "\(firstWords.joined(separator: " ")) --help --version" -- "$current")
                    return
                fi
                case $command in
            \(families)
                esac
            \(bashPrograms)
                case "$command $previous" in
            \(CommandTable.commands.flatMap(bashValues).joined(separator: "\n"))
                *)
                    case $command in
            \(CommandTable.commands.map(bashWords).joined(separator: "\n"))
                    esac ;;
                esac
                mapfile -t COMPREPLY < <(compgen ${files:+-f} -W "$words" -- "$current")
            }
            complete -o filenames -F _sordino sordino

            """
    }

    /// After `--` a command line begins anew.
    private static var bashPrograms: String {
        let commands = CommandTable.commands.filter { $0.program != nil }.map(\.name.rawValue)
        return """
                local i
                for ((i = 2; i < COMP_CWORD; i++)); do
                    [[ $command == @(\(commands.joined(separator: "|"))) && ${COMP_WORDS[i]} == -- ]] || continue
                    if declare -F _command_offset >/dev/null; then
                        _command_offset $((i + 1))
                    elif ((COMP_CWORD == i + 1)); then
                        mapfile -t COMPREPLY < <(compgen -c -- "$current")
                    else
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    fi
                    return
                done
            """
    }

    private static func bashValues(_ spec: CommandSpec) -> [String] {
        spec.options.compactMap { option in
            guard let (_, kind) = option.value else { return nil }
            let pattern = "    \"\(spec.name.rawValue) --\(option.name)\")"
            return switch kind {
            case .choice(let words): "\(pattern) words=\"\(words.joined(separator: " "))\" ;;"
            case .file: "\(pattern) files=1 ;;"
            case .word, .seconds: "\(pattern) ;;"
            }
        }
    }

    private static func bashWords(_ spec: CommandSpec) -> String {
        var words = spec.options.map { "--\($0.name)" } + ["--help"]
        words += argumentWords(spec)
        let files = spec.argument?.kind == .file ? " files=1" : ""
        return "        \"\(spec.name.rawValue)\") words=\"\(words.joined(separator: " "))\"\(files) ;;"
    }

    /// What the argument can be, where that is known.
    private static func argumentWords(_ spec: CommandSpec) -> [String] {
        if spec.name == .help { return firstWords }
        guard case .choice(let words) = spec.argument?.kind else { return [] }
        return words
    }

    // MARK: zsh

    static func zsh() -> String {
        let single = CommandTable.commands.filter { $0.name.words.count == 1 }
        let described = firstWords.map { word in
            let summary = families.contains(word) ? secondWords(of: word).joined(separator: ", ") : summary(of: word)
            return "        '\(zshQuoted("\(word):\(summary)"))'"
        }
        return """
            #compdef sordino
            # zsh completion for sordino; made by “sordino help --completions zsh”.
            _sordino() {
                local context state state_descr line
                typeset -A opt_args
                # Not “commands”, which is the shell's own.
                local -a subcommands=(
            \(described.joined(separator: "\n"))
                )
                _arguments -C '(-)--help[explain]' '(-)--version[print the version]' '1:command:->command' '*::argument:->rest'
                case $state in
                command) _describe command subcommands ;;
                rest)
                    case $words[1] in
            \(single.map { zshCase($0, pattern: $0.name.rawValue) }.joined(separator: "\n"))
            \(families.map(zshFamily).joined(separator: "\n"))
                    esac ;;
                esac
            }
            _sordino "$@"

            """
    }

    private static func summary(of word: String) -> String {
        CommandName(rawValue: word).map { CommandTable.spec($0).summary } ?? ""
    }

    private static func zshFamily(_ family: String) -> String {
        let cases = CommandTable.commands.filter { $0.name.words.count == 2 && $0.name.words[0] == family }
            .map { zshCase($0, pattern: $0.name.words[1]) }
        return """
                    \(family))
                        if (( CURRENT == 2 )); then
                            _values command \(secondWords(of: family).joined(separator: " "))
                        else
                            shift words; (( CURRENT-- ))
                            case $words[1] in
            \(cases.joined(separator: "\n"))
                            esac
                        fi ;;
            """
    }

    private static func zshCase(_ spec: CommandSpec, pattern: String) -> String {
        var specs = spec.options.map(zshOption) + ["'--help[explain]'"]
        if let argument = spec.argument {
            let words = argumentWords(spec)
            let action =
                argument.kind == .file ? "_files" : words.isEmpty ? "" : "(\(words.joined(separator: " ")))"
            switch argument.count {
            case .one, .optional: specs.append("'1:\(argument.placeholder):\(action)'")
            case .any, .oneOrMore: specs.append("'*:\(argument.placeholder):\(action)'")
            }
        }
        // Options end at `--`; what follows is a command line of its own.
        if spec.program != nil { specs = ["-S"] + specs + ["'*:::command:_normal'"] }
        return "        \(pattern)) _arguments \(specs.joined(separator: " ")) ;;"
    }

    private static func zshOption(_ option: OptionSpec) -> String {
        let name = "\(option.repeats ? "*" : "")--\(option.name)"
        let summary = zshQuoted(option.summary)
        guard let (placeholder, kind) = option.value else { return "'\(name)[\(summary)]'" }
        let action =
            switch kind {
            case .choice(let words): "(\(words.joined(separator: " ")))"
            case .file: "_files"
            case .word, .seconds: ""
            }
        return "'\(name)=[\(summary)]:\(placeholder):\(action)'"
    }

    private static func zshQuoted(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "'" ? "'\\''" : String($1) }
    }
}
