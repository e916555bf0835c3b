"""Write the command line reference from the parsers: a page for each command, with what --help prints as tables."""

import argparse
import os
from pathlib import Path
from typing import Any

from centrality.apps.commands import ALL
from centrality.apps.commands._parser import EXAMPLES, SHARED, parser

os.environ["COLUMNS"] = "84"  # argparse breaks its lines for a terminal: let it be the same one everywhere

GROUPS = {
    "Begin": ("check",),
    "Learn and score": ("fit", "score", "rank", "detect", "explain", "drift", "watch"),
    "Finish the job": ("refine", "pick", "copies", "similar", "labels"),
    "Look": ("plot", "explore", "inspect", "depth"),
    "Elsewhere": ("export", "serve", "mcp"),
    "Try and set up": ("datasets", "demo", "completion", "version", "reproduce"),
}


def _parsers() -> dict[str, argparse.ArgumentParser]:
    action = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%").replace("<", "&lt;").replace("$", "\\$")


def _shown(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if action.choices and not action.metavar:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    names = ", ".join(action.option_strings)
    return f"`{names} {value}`".replace(" `", "`") if names else f"`{value}`"


def page(name: str, command: argparse.ArgumentParser) -> str:
    """Return the page of a command: what it does, examples, and its arguments."""
    usage = command.format_usage().removeprefix("usage: ").rstrip()
    lines = [f"# centrality {name}", "", _cell(ALL[name].HELP[0].upper() + ALL[name].HELP[1:]) + ".", ""]
    lines += ["```console", *(f"$ {example}" for example in EXAMPLES[name]), "```", "", "```text", usage, "```", ""]
    for group in command._action_groups:
        actions = [
            a
            for a in group._group_actions
            if a.help != argparse.SUPPRESS and not set(a.option_strings) & {*SHARED, "-h"}
        ]
        if actions:
            lines += [f"## {(group.title or 'options').capitalize()}", "", "| argument | what it means |", "|---|---|"]
            lines += [f"| {_shown(a)} | {_cell(a.help or '')} |" for a in actions] + [""]
    return "\n".join([*lines, "All commands take [these options](index.md#options-of-every-command), too.", ""])


INTRODUCTION = """\
# Command line

`centrality COMMAND ...`, or `python -m centrality COMMAND ...`. Every command takes `--help`. It exits 0 on success, 2
when the usage or the input is wrong (with a sentence that says how), and 1 when the program is wrong (with a
traceback). A file is written whole or not at all.
"""
COMPLETION = """\
Progress bars and colours appear on a terminal only. `NO_COLOR=1` turns colours off.

## Completion in your shell

```console
$ centrality completion bash >> ~/.bashrc
$ centrality completion zsh > "${fpath[1]}/_centrality"
$ centrality completion fish > ~/.config/fish/completions/centrality.fish
```
"""


def index() -> str:
    """Return the page that lists the commands."""
    lines = [INTRODUCTION]
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", "", "| command | what it does |", "|---|---|"]
        lines += [*(f"| [{name}]({name}.md) | {_cell(ALL[name].HELP)} |" for name in names), ""]
    lines += ["## Options of every command", "", "| option | what it means |", "|---|---|"]
    lines += [*(f"| `{option}` | {_cell(text)} |" for option, text in SHARED.items()), "", COMPLETION]
    pages = [name for names in GROUPS.values() for name in names]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *pages, "```", ""])


def write(folder: Path) -> None:
    """Write all pages; what has not changed keeps its date."""
    folder.mkdir(exist_ok=True)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(ALL), "a command is in no group"
    pages = {"index.md": index()} | {f"{name}.md": page(name, command) for name, command in _parsers().items()}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    write(Path(app.srcdir) / "cli")
    return {"parallel_read_safe": True}
