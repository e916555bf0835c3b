"""centrality rank: show the most central and the most peripheral rows in the terminal."""

import argparse
from typing import TYPE_CHECKING, NotRequired, TypedDict

from centrality.commands._arguments import count, load_model, model_and_data, one_number
from centrality.commands._display import paint, shows_progress

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel
    from centrality.scoring.ranking import RankedRow

HELP = "show the most central and most peripheral rows"


class Result(TypedDict):
    """Holds the rows at both ends of the ranking at t; `shows` names the columns to print, None for all."""

    rows: int
    t: float
    shows: list[str] | None
    central: "list[RankedRow]"
    peripheral: "list[RankedRow]"
    unreadable: NotRequired[dict[str, dict[str, int]]]  # cells, by column and fault


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument("--top", type=count, default=20, metavar="N", help="rows of each kind (default: 20)")
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: the model's own)")


def run(arguments: argparse.Namespace) -> Result:
    from centrality.scoring import ranking

    model = load_model(arguments)
    t = model.t if arguments.t is None else arguments.t
    ranked = ranking.rank(model, arguments.data, t, arguments.top, progress=shows_progress(arguments))
    result: Result = {
        "rows": ranked.rows,
        "t": t,
        "shows": _columns_to_print(model),
        "central": ranked.best.rows(),
        "peripheral": ranked.worst.rows(),
    }
    if ranked.unreadable:
        result["unreadable"] = ranked.unreadable.cells
    return result


def _columns_to_print(model: "CentralityModel") -> list[str] | None:
    """Return the one column that says what a row is, where that is a text or an image; else None."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).reading()
    return reading.columns if reading.kind in ("text", "images") else None


def show(result: Result) -> str:
    from centrality.scoring import ranking

    lines = []
    for heading, rows in (("The most central", result["central"]), ("The most peripheral", result["peripheral"])):
        lines.append(paint(f"{heading} of {result['rows']:,} rows at t = {result['t']:g}", "heading"))
        lines.append(paint("      row  score   t 0-1  holds", "faint"))
        lines += [ranking.line_of(row, result["shows"], why=rows is result["peripheral"]) for row in rows] + [""]
    return "\n".join(lines[:-1])
