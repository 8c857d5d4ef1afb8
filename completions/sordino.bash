# bash completion for sordino; made by “sordino help --completions bash”.
_sordino() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} words="" files=""
    COMPREPLY=()
    # The shell makes a word of the = in --option=value.
    [[ $current == = ]] && current=""
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
    if [[ $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "run status monitor hold off on devices select restore ignore explain classify config headless demo help --help --version" -- "$current")
        return
    fi
    case $command in
        config) [[ $COMP_CWORD -gt 2 ]] && command="config ${COMP_WORDS[2]}" || words="check show reload" ;;
    esac
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ $command == @(hold|headless) && ${COMP_WORDS[i]} == -- ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif ((COMP_CWORD == i + 1)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$current")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        return
    done
    case "$command $previous" in
    "run --server") words="auto pipewire pulseaudio" ;;
    "run --config") files=1 ;;
    "hold --output") words="system speaker receiver" ;;
    "hold --name") ;;
    "hold --for") ;;
    "off --for") ;;
    "headless --server") words="pipewire pulseaudio" ;;
    "headless --sink") ;;
    "headless --source") ;;
    "headless --card") ;;
    "demo --server") words="pipewire pulseaudio" ;;
    "demo --svg") files=1 ;;
    "help --reference") words="man markdown" ;;
    "help --completions") words="bash zsh" ;;
    *)
        case $command in
        "run") words="--server --config --replace --help" ;;
        "status") words="--json --help" ;;
        "monitor") words="--json --help" ;;
        "hold") words="--output --name --for --interrupting --ducking-advanced --verbose --help ambient playback mediaPlayback game speech recording call groupCall alarm" ;;
        "off") words="--for --help" ;;
        "on") words="--help" ;;
        "devices") words="--json --help" ;;
        "select") words="--help" ;;
        "restore") words="--hidden-gain --help" ;;
        "ignore") words="--help" ;;
        "explain") words="--help" ;;
        "classify") words="--json --help" files=1 ;;
        "config check") words="--help" files=1 ;;
        "config show") words="--help" ;;
        "config reload") words="--help" ;;
        "headless") words="--server --sink --source --card --help" ;;
        "demo") words="--server --svg --help" ;;
        "help") words="--man --reference --completions --help run status monitor hold off on devices select restore ignore explain classify config headless demo help" ;;
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen ${files:+-f} -W "$words" -- "$current")
}
complete -o filenames -F _sordino sordino
