"""centrality demo: fit, rank and draw on bundled data."""

import argparse
from pathlib import Path
from typing import TypedDict

from centrality.commands._display import shows_progress

HELP = "fit, rank, draw and make an explorer page, on data that comes with scikit-learn"


class Result(TypedDict):
    """Hold the paths of the pictures, the page and the model."""

    folder: str


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("centrality-demo"),
        metavar="FOLDER",
        help="where the pictures and the page go (default: centrality-demo)",
    )


def run(arguments: argparse.Namespace) -> Result:
    from centrality._optional import optional

    optional("matplotlib", "plots")  # before the models are fitted, not after
    from centrality.commands._demo import run

    run(
        arguments.output,
        progress=shows_progress(arguments),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return {"folder": str(arguments.output)}


def show(result: Result) -> str:
    return ""  # everything was printed while it ran
