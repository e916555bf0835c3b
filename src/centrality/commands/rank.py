"""centrality rank: the most central and the most peripheral rows, in the terminal."""

import argparse
from typing import TYPE_CHECKING, Any

from centrality.commands._arguments import count, loaded, model_and_data

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

HELP = "show the most central and most peripheral rows"


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument("--top", type=count, default=20, metavar="N", help="rows of each kind (default: 20)")
    command.add_argument("--t", type=float, help="default: the model's own")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality.scoring import ranking

    model = loaded(arguments)
    t = model.t if arguments.t is None else arguments.t
    rows, best, worst = ranking.rank(model, arguments.data, t, arguments.top)
    return {
        "rows": rows,
        "t": t,
        "shows": _what_to_show(model),
        "central": best.rows(),
        "peripheral": worst.rows(),
    }


def _what_to_show(model: "CentralityModel") -> list[str] | None:
    """The one column that says what a row is, if a text or an image is."""
    reading = model.reading()
    return reading.columns if reading.kind in ("text", "images") else None


def show(result: dict[str, Any]) -> str:
    from centrality.scoring import ranking

    lines = []
    for heading, key in (("The most central", "central"), ("The most peripheral", "peripheral")):
        lines += [f"{heading} of {result['rows']:,} rows at t = {result['t']:g}", "      row  score   t 0-1  holds"]
        lines += [ranking.line_of(row, result["shows"], why=key == "peripheral") for row in result[key]] + [""]
    return "\n".join(lines[:-1])
