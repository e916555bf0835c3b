"""centrality demo: fit, rank and draw on bundled data."""

import argparse
import sys
from pathlib import Path
from typing import Any

HELP = "fit, rank, draw and make an explorer page, on data that comes with scikit-learn"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", type=Path, default=Path("centrality-demo"), metavar="FOLDER")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality._optional import optional

    optional("matplotlib", "plots")  # before the models are fitted, not after
    from centrality.commands._demo import run

    run(
        arguments.output,
        progress=sys.stderr.isatty(),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return {"folder": str(arguments.output)}


def show(result: dict[str, Any]) -> str:
    return ""  # it told its story as it went
