"""Show the rows that a command has found: the first ones in the terminal, all of them in a file."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality.commands._arguments import require_output

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

WIDTH = 60  # characters of a row that are shown
SHOWN_COLUMNS = 4
SMALL = 0.05  # a column that lowers the centrality by less does not make a row odd by itself
AS_A_WHOLE = "no column alone, but its values together; most of all"


def rows_output(command: argparse.ArgumentParser, what: str) -> None:
    """Add to a command the option for a file of all rows found."""
    command.add_argument("-o", "--output", type=Path, metavar="ROWS", help=f"write {what} there")


def require_rows_output(arguments: argparse.Namespace, *inputs: str | Path | None) -> None:
    """Raise if the file of rows, if one is wanted, cannot be written. It is called before the work begins."""
    from centrality import tables

    if arguments.output is not None:
        tables.kind_to_write(arguments.output)
        require_output(arguments.output, *inputs)


def the_rest(result: Mapping[str, Any], found: int, shown: int, name: str) -> list[str]:
    """Return the last lines: how many rows or groups are not shown, and where all of them are."""
    lines = []
    if shown < found:
        lines.append(f"... and {found - shown:,} more" + ("" if "file" in result else ": -o ROWS writes them all"))
    return [*lines, f"{name}: {result['file']}"] if "file" in result else lines


def columns_to_print(model: "CentralityModel") -> list[str] | None:
    """Return the column of texts or images, if the model reads one, else None: all columns are printed."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).reading()
    return reading.columns if reading.kind in ("text", "images") else None


def in_words(found: Mapping[str, Any]) -> str:
    """Return the reasons for a row in one line; an empty one where it has none."""
    from centrality.scores.reasons import Reason

    reasons = found.get("reasons", [])
    whole = f"{AS_A_WHOLE}: " if reasons and odd_as_a_whole(reasons) else ""
    return whole + "; ".join(str(Reason(**reason)) for reason in reasons)


def odd_as_a_whole(reasons: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether no column alone lowers the row's centrality by much: its values are unusual together."""
    return all(reason["contribution"] > -SMALL for reason in reasons)


def excerpt(values: dict[str, object], only: list[str] | None) -> str:
    """Write a short excerpt of a row: the first words of a text, the path of an image, or the first few columns."""
    from centrality.scoring.ranking import cell_text

    if only is not None and len(only) == 1:
        return _short(str(values[only[0]]), WIDTH, keep_end="/" in str(values[only[0]]))
    parts = [f"{name}={_short(cell_text(value), 20)}" for name, value in list(values.items())[:SHOWN_COLUMNS]]
    return _short(" ".join(parts) + (" ..." if len(values) > SHOWN_COLUMNS else ""), 2 * WIDTH)


def _short(text: str, width: int, *, keep_end: bool = False) -> str:
    """Shorten a text to one line, cut after a word; with `keep_end` cut its beginning, as for paths."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    if keep_end and " " not in text:
        return "…" + text[-(width - 1) :]
    cut = text[: width - 1]
    inside_a_word = text[width - 1] != " " and " " in cut
    return (cut.rsplit(" ", 1)[0] if inside_a_word else cut) + "…"
