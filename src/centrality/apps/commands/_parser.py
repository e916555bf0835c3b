"""Parse the command line: options, examples in every help, suggestions for wrong words."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from centrality import __version__
from centrality._internal.checks import InputError
from centrality.apps.commands import ALL
from centrality.apps.commands._arguments import name_tables

EXAMPLES: dict[str, tuple[str, ...]] = {
    "check": (
        "centrality check houses.csv --html report.html",
        "centrality check new.csv --against old.csv --label species --fail-on 1000",
    ),
    "fit": (
        "centrality fit houses.csv -o houses.safetensors",
        "centrality fit sensor.csv -o sensor.safetensors --represent series:value --window 60",
    ),
    "score": (
        "centrality score houses.safetensors houses.csv -o scores.csv --t 0,0.5,1 --explain",
        "centrality score houses.safetensors rows/ -o scores/ --resume --workers 4",
        "centrality score m.safetensors sqlite:shop.db --table orders -o sqlite:shop.db --into scores",
        "centrality score sensors.safetensors - --follow --state sensors.json",
    ),
    "rank": (
        "centrality rank houses.csv --top 10",
        "centrality rank houses.safetensors new.csv --by district",
        "centrality rank postgresql://localhost/shop --table orders",
        "centrality rank sensors.csv --time timestamp --save sensors.safetensors",
    ),
    "detect": (
        "centrality detect houses.safetensors new.csv --fdr 0.05",
        "centrality detect houses.safetensors new.csv --false-positives 10 -o outliers.csv",
        "centrality detect sensors.csv --time timestamp --by machine",
    ),
    "explain": (
        "centrality explain houses.csv",
        "centrality explain houses.safetensors houses.csv --rows 3,7",
    ),
    "pick": (
        "centrality pick houses.csv --diverse 100 -o picked.csv",
        "centrality pick houses.safetensors houses.csv --typical 10 --by district",
    ),
    "copies": (
        "centrality copies houses.csv",
        "centrality copies photos/ -o copies.csv",
    ),
    "similar": (
        "centrality similar products.csv --row 7",
        'centrality similar products.csv --phrase "red lamp" --block description',
    ),
    "refine": ("centrality refine houses.safetensors houses.csv --marks houses.houses.marks.csv -o wiser.safetensors",),
    "labels": ("centrality labels photos.parquet --by species -o doubtful.csv",),
    "drift": (
        "centrality drift houses.safetensors new.csv --window 500 --plot drift.png",
        "centrality drift last_year.csv this_year.csv",
    ),
    "watch": (
        "centrality watch houses.safetensors new.csv --state houses.watch",
        "centrality watch houses.safetensors new.csv --every 100000",
    ),
    "depth": ("centrality depth halfspace wine -o depths.csv --columns alcohol,hue", "centrality depth --list"),
    "plot": ("centrality plot map houses.safetensors houses.csv -o map.png",),
    "explore": (
        "centrality explore houses.csv",
        "centrality explore houses.safetensors houses.csv --export page.html",
    ),
    "inspect": ("centrality inspect houses.safetensors", "centrality inspect houses.safetensors --card card.md"),
    "export": ("centrality export wine.safetensors -o wine.onnx",),
    "serve": ("centrality serve houses.safetensors --port 8000",),
    "mcp": (
        "centrality mcp --folder tables/",
        "centrality mcp --database postgresql://localhost/shop --http 8001 --token-file token",
    ),
    "datasets": ("centrality datasets", "centrality datasets houses -o houses.csv"),
    "demo": ("centrality demo -o demo/",),
    "reproduce": ("centrality reproduce table1 --quick",),
    "completion": ("centrality completion bash >> ~/.bashrc",),
    "version": ("centrality version",),
}

DESCRIPTION = "What is odd in this file, and why? No labels, no rules: every row gets a number for how typical it is."
FIRST_STEPS = """\
first steps:
  centrality datasets houses -o houses.csv
  centrality check houses.csv
  centrality rank houses.csv --top 5
  centrality explore houses.csv
"""
SHARED = {
    "--json": "print the result as JSON",
    "--quiet": "no progress bars and no notes: only the result, and errors",
    "--verbose": "say on stderr what is done and how long it takes",
    "--traceback": "show where in the program an error arose",
}


class Parser(argparse.ArgumentParser):
    """Parses as argparse does, and suggests the nearest command or option for one that does not exist."""

    commands: "dict[str, Parser]"  # of the root alone: the parser of each command

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Return the arguments; for a wrong option, exit with the command's usage and suggest the nearest option."""
        parsed, unknown = self.parse_known_args(args, namespace)
        command: argparse.ArgumentParser = parsed.__dict__.pop("parser", self)  # workers get the rest, pickled
        lacks_model = parsed.__dict__.pop("model_may_be_left_out", False) and parsed.model is None
        if lacks_model and len(unknown) == 1 and unknown[0][:1] != "-":
            # Options stood between both: argparse took the first for the data, since the model may be left out.
            parsed.model = Path(parsed.data)
            parsed.data = unknown.pop()
        if unknown:
            guess = nearest(unknown[0].partition("=")[0], command._option_string_actions)  # noqa: SLF001
            too_many = f"too many arguments: {' '.join(unknown)}"
            command.error(f"there is no option {unknown[0]}{guess}" if unknown[0][:1] == "-" else too_many)
        try:
            name_tables(parsed)
        except InputError as error:
            command.error(str(error))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Exit with status 2; for a wrong command, suggest the nearest one."""
        if match := re.match(r"argument COMMAND: invalid choice: '(.*?)'", message):
            message = f"there is no command {match[1]!r}{nearest(match[1], ALL)} (centrality --help lists them)"
        super().error(message)


def nearest(word: str, words: Sequence[str] | dict[str, Any]) -> str:
    """Return "; did you mean X?" with the nearest of these words, or an empty string if none is near."""
    close = get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def parser() -> Parser:
    """Return the parser of all commands."""
    root = Parser(
        prog="centrality",
        description=DESCRIPTION,
        epilog=FIRST_STEPS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"centrality {__version__}")
    for option, text in SHARED.items():
        if option != "--json":
            root.add_argument(option, action="store_true", help=text)
    commands = root.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)
    for name, module in ALL.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog="examples:\n" + "\n".join(f"  {example}" for example in EXAMPLES[name]),
            formatter_class=_WithExamples,
        )
        for option, text in SHARED.items():
            # SUPPRESS: without it, the command's own default would undo an option that stands before the command.
            default = False if option == "--json" else argparse.SUPPRESS
            command.add_argument(option, action="store_true", default=default, help=text)
        module.arguments(command)
        brief = getattr(module, "show_quietly", module.show)  # what --quiet leaves of the result
        command.set_defaults(run=module.run, show=module.show, show_quietly=brief, parser=command)
    root.commands = commands.choices
    return root


class _WithExamples(argparse.HelpFormatter):
    """Wraps the description as usual, and leaves the examples on lines of their own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)
