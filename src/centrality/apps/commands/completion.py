"""centrality completion: print a script that completes commands, options and files in a shell."""

import argparse

from centrality.apps.commands._terminal import Result

HELP = "print a script that completes commands and options in bash, zsh or fish"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def run(arguments: argparse.Namespace) -> Result:
    """Return the script, and the shell that runs it."""
    import shtab

    from centrality.apps.commands._parser import parser

    root = parser()
    for command in root.commands.values():
        for action in command._actions:  # noqa: SLF001  (argparse has no public way to list them)
            if action.nargs != 0 and not action.choices:
                vars(action)["complete"] = shtab.FILE  # most are files; other values cannot be completed
    return {"shell": arguments.shell, "script": shtab.complete(root, arguments.shell)}


def show(result: Result) -> str:
    return str(result["script"])
