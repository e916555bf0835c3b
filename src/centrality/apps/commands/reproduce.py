"""centrality reproduce: measure the paper's tables and figures again, and show them beside the paper's numbers.

It is the door to `python -m paper`: the scripts live in the repository, and not in the installed package.
"""

import argparse
import os
import sys
from pathlib import Path

from centrality.apps.commands._terminal import Result, shows_progress

HELP = "measure the paper's tables and figures again, ours beside theirs"
CLONE = (
    "The scripts of the paper are in the repository, not in the installed package: clone it, install it with "
    "pip install -e '.[test]', and run this command in its folder."
)
NAMES = "contours, table1, runtime, cifar, mnist, forda, tweeteval, table3, schemes, or all (default)"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("item", nargs="?", default="all", metavar="NAME", help=NAMES)
    command.add_argument("--data", type=Path, metavar="DIR", help="folder of data sets (default: $CENTRALITY_DATA)")
    command.add_argument("--quick", action="store_true", help="small samples and one seed, to see that everything runs")
    command.add_argument("--only", metavar="SETTINGS", help="paper, ours or default: leave the other rows as they are")
    command.add_argument("--again", action="store_true", help="measure anew what is known from an earlier run")
    command.add_argument("--workers", type=int, default=1, metavar="N", help="processes that measure side by side")
    where = "for results, figures and pages (default: paper/, with --quick paper/quick/)"
    command.add_argument("-o", "--output", type=Path, metavar="FOLDER", help=where)


def run(arguments: argparse.Namespace) -> Result:
    """Return how many cells were measured, and the pages that show them."""
    root = checkout()
    if arguments.data is not None:
        if not arguments.data.is_dir():
            raise FileNotFoundError(f"--data: there is no folder {arguments.data}.")
        os.environ["CENTRALITY_DATA"] = str(arguments.data.resolve())
    sys.path.insert(0, str(root))
    from paper import ITEMS  # from the repository: it is no part of this package
    from paper.run import reproduce

    result: Result = reproduce(
        ITEMS if arguments.item == "all" else [arguments.item],
        arguments.output or root / "paper" / ("quick" if arguments.quick else ""),
        quick=arguments.quick,
        only=arguments.only,
        again=arguments.again,
        workers=arguments.workers,
        progress=shows_progress(arguments),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return result


def checkout() -> Path:
    """Return the repository's folder: the one this package is installed from, else the current folder."""
    for root in (Path(__file__).parents[4], Path.cwd()):
        if (root / "paper" / "lab.py").is_file():
            return root
    raise FileNotFoundError(CLONE)


def show(result: Result) -> str:
    return f"Measured {result['measured']} cells. Read {result['pages'][0]}"
