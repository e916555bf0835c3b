"""centrality completion: print a script that completes commands, options and files in a shell."""

import argparse
import shlex
from typing import TypedDict

HELP = "print a script that completes commands and options in bash, zsh or fish"

Words = dict[str, dict[str, str]]  # of each command: its options, and what each does


class Result(TypedDict):
    """Holds the script, and the shell that runs it."""

    shell: str
    script: str


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def run(arguments: argparse.Namespace) -> Result:
    helps, words = _commands()
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](helps, words)
    return {"shell": arguments.shell, "script": script}


def show(result: Result) -> str:
    return result["script"]


def _commands() -> tuple[dict[str, str], Words]:
    """Return what each command does, and its options."""
    from centrality.commands import ALL

    words: Words = {}
    for name, module in ALL.items():
        command = argparse.ArgumentParser(prog=name)
        module.arguments(command)
        options = {
            option: str(action.help or "")
            for action in command._actions  # noqa: SLF001  (argparse has no public way to list them)
            for option in action.option_strings
            if option.startswith("--")
        }
        words[name] = options | {f"--{shared}": "" for shared in ("json", "quiet", "verbose", "traceback")}
    return {name: module.HELP for name, module in ALL.items()}, words


def _bash(helps: dict[str, str], words: Words) -> str:
    cases = "\n".join(f"        {name}) words='{' '.join(options)}' ;;" for name, options in words.items())
    return f"""\
_centrality() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{" ".join(helps)} --help --version'
    elif [[ "$current" == -* ]]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _centrality centrality"""


def _zsh(helps: dict[str, str], words: Words) -> str:
    commands = "\n".join(f"        {shlex.quote(f'{name}:{_plain(text)}')}" for name, text in helps.items())
    cases = "\n".join(f"            {name}) compadd -- {' '.join(options)} ;;" for name, options in words.items())
    return f"""\
#compdef centrality
_centrality() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
    elif [[ "$PREFIX" == -* ]]; then
        case "$words[2]" in
{cases}
        esac
    else
        _files
    fi
}}
compdef _centrality centrality"""


def _fish(helps: dict[str, str], words: Words) -> str:
    lines = [
        f"complete -c centrality -n __fish_use_subcommand -a {name} -d {shlex.quote(_plain(text))}"
        for name, text in helps.items()
    ]
    for name, options in words.items():
        for option, text in options.items():
            lines.append(
                f"complete -c centrality -n '__fish_seen_subcommand_from {name}' -l {option[2:]} "
                f"-d {shlex.quote(_plain(text))}"
            )
    return "\n".join(lines)


def _plain(text: str) -> str:
    return text.replace("%%", "%").replace(":", " -")
