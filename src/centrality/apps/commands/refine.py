"""centrality refine: let a model learn from rows that people marked, and say which to look at next."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality._internal.text import number, share
from centrality.apps.commands._arguments import count, load_model, model_and_data, model_path, require_output
from centrality.apps.commands._reading import columns_to_print, excerpt
from centrality.apps.commands._terminal import Result, aligned, paint

if TYPE_CHECKING:
    import pyarrow as pa

    from centrality.model.interface import CentralityModel

HELP = "learn from rows marked outlier or fine: the rest is ranked anew, and what is likely left is said"
FEW = 5  # with fewer marked outliers, what was learned is a guess
COLUMNS = 3  # columns named, of those that change scores now


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument(
        "--marks",
        type=Path,
        required=True,
        metavar="MARKS",
        help="a .csv file of marks with columns row (from 0) and mark (outlier, fine), as the explorer keeps it; "
        "or a page that was exported with marks",
    )
    command.add_argument(
        "--key", metavar="COLUMN", help="the column that told rows apart in the explorer (default: all cells together)"
    )
    command.add_argument("-o", "--output", type=model_path, required=True, metavar="NEW", help="the model that learned")
    command.add_argument("--top", type=count, default=10, metavar="N", help="rows to look at next (default: 10)")


def run(arguments: argparse.Namespace) -> Result:
    """Return what was learned, how many outliers are likely left, and the rows to look at next."""
    from centrality import tables
    from centrality.model.reader import reader_of

    require_output(arguments.output, arguments)
    model = load_model(arguments)
    table = tables.read(arguments.data)
    reader_of(model).require_rows_apart()
    marks, elsewhere, contradictory = _marks(arguments, table)
    review = model.review(table, marks)
    new_model = model.learn_marks(table, marks)
    new_model.save(arguments.output)
    left = review.left
    chance = review.chance
    assert left is not None  # `_marks` raises if nothing is marked
    assert chance is not None
    first = review.order[: arguments.top]
    return {
        "model": str(arguments.output),
        "rows": table.num_rows,
        "outlier": marks.count("outlier"),  # rows marked so
        "fine": marks.count("fine"),
        "elsewhere": elsewhere,  # marks of rows that are not in the data
        "contradictory": contradictory,  # rows marked both as outlier and as fine: they count as fine
        "columns": _changed_columns(new_model, table),
        "called": int((new_model.predict(table) == -1).sum()),  # rows that the new model calls outliers
        "left": {"rows": left.rows, "about": left.about, "low": left.low, "high": left.high},
        "left_in_words": str(left),
        "enough": left.enough,
        "error_rates": new_model.fitted_.inliers is not None,  # whether `detect` has rows to compare with
        "shows": columns_to_print(model),
        "next": [
            {"row": int(row), "chance": float(chance[row]), "holds": holds}
            for row, holds in zip(first, table.take(first).to_pylist(), strict=True)
        ],
    }


def _marks(arguments: argparse.Namespace, table: "pa.Table") -> tuple[list[str | None], int, list[int]]:
    """Return the mark of each row, the number of marks for rows that are not in the data, and rows marked both ways."""
    from centrality.apps.explorer.content import row_keys
    from centrality.apps.explorer.marks import read, rows_marked
    from centrality.model.refine import MARKS

    if not arguments.marks.exists():
        raise InputError(f"There is no file of marks {arguments.marks}: `centrality explore` makes one.")
    lines = [line for line in read(arguments.marks) if line["mark"] in MARKS]
    keys = row_keys(table, arguments.key) if arguments.key or any(line["key"] for line in lines) else ()
    marks: list[str | None] = [None] * table.num_rows
    taken = 0  # marks of rows that are in the data
    contradictory = []
    for what in MARKS:
        for row in rows_marked(what, lines, keys):
            if row < table.num_rows:
                if marks[row] not in (None, what):
                    contradictory.append(int(row))
                marks[row] = what  # of two for one row, `fine` counts
                taken += 1
    if not taken:
        which = f"none of its {len(lines):,} marks is of a row of {arguments.data}" if lines else "it has no such mark"
        raise InputError(
            f"{arguments.marks} was wanted to say outlier or fine of some rows, but {which}. Rows are known by all "
            "their cells, or by the column that --key names, or by their number where a mark has no key."
        )
    return marks, len(lines) - taken, contradictory


def _changed_columns(model: "CentralityModel", table: "pa.Table") -> list[dict[str, object]]:
    """Return the columns that change scores now, those that change them the most first.

    Each with a value that now makes rows odder than before, and one that makes them more typical.
    """
    import numpy as np

    from centrality.model.reader import reader_of

    reader = reader_of(model)
    if (features := reader.features()) is None:
        return []
    vectors = reader.vectors(table)
    parts = reader.by_feature(model.fitted_.refinement_by_column(vectors))
    values = reader.values(table, vectors)
    rows = np.flatnonzero(~np.isnan(parts).any(1))
    widest = np.argsort(-np.ptp(parts[rows], axis=0), kind="stable")[:COLUMNS]
    lowest = rows[parts[rows].argmin(0)]
    highest = rows[parts[rows].argmax(0)]
    return [
        {"column": features.names[j], "odder": _plain(values[j][lowest[j]]),
         "more_typical": _plain(values[j][highest[j]])}
        for j in widest.tolist()
    ]  # fmt: skip


def _plain(value: object) -> object:
    """Return a value as one that JSON can hold."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def show(result: Result) -> str:
    marks = f"{result['outlier']:,} outliers and {result['fine']:,} fine ones"
    lines = [paint(f"Learned from {marks} among {result['rows']:,} rows", "heading")]
    if result["elsewhere"]:
        lines.append(f"{result['elsewhere']:,} marks are of rows that are not in the data, and taught nothing.")
    if rows := result["contradictory"]:
        numbers = ", ".join(f"{row:,}" for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        lines.append(f"Marked as outlier and as fine, and taken as fine: row{'s' * (len(rows) > 1)} {numbers}.")
    for column in result["columns"]:
        odder = number(column["odder"])[:40]
        typical = number(column["more_typical"])[:40]
        lines.append(f"  {column['column']}: such as {odder} is odder than before, such as {typical} more typical")
    if result["outlier"] < FEW:
        lines.append(f"Fewer than {FEW} outliers are marked: take this as a first guess, and mark more.")
    lines.append(f"{result['called']:,} rows are likelier outliers than not.")
    lines.append(paint(result["left_in_words"], "heading"))
    if result["next"]:
        lines += ["", paint("Look at these next", "heading")]
        shows = result["shows"]
        body = [[f"{row['row']:,}", share(row["chance"]), excerpt(row["holds"], shows)] for row in result["next"]]
        lines += aligned(["row", "chance", "holds"], body, left=(2,))
    if not result["error_rates"]:
        lines.append("DATA are not the rows of the fit: before p-values and detect --fdr, calibrate on fresh rows.")
    return "\n".join([*lines, f"Model: {result['model']}"])
