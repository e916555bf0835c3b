"""Keep what readers say of rows, outlier, fine or later, and their notes: a CSV file of row, mark and note."""

import csv
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._atomic import write_atomically
from centrality._checks import InputError
from centrality.explorer.header import Mark

MARKS = ("outlier", "fine", "later")
LONGEST_NOTE = 1000


def checked(given: Any) -> list[Mark]:
    """Return marks as they came from a page, sorted by row; raise if they are none."""
    if not isinstance(given, list):
        raise InputError(f"A list of marks was wanted, got {type(given).__name__}.")
    marks: dict[int, Mark] = {}
    for one in given:
        row, mark, note = (one.get(name) if isinstance(one, dict) else None for name in ("row", "mark", "note"))
        if type(row) is not int or row < 0 or mark not in ("", *MARKS) or not isinstance(note, str):
            raise InputError(f"A mark has a row, one of {', '.join(MARKS)}, and a note; got {str(one)[:100]!r}.")
        marks[row] = {"row": row, "mark": mark, "note": note[:LONGEST_NOTE]}
    return [marks[row] for row in sorted(marks)]


def decoded(body: bytes) -> list[Mark]:
    """Return the marks in the body of a request."""
    try:
        return checked(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise InputError(f"These are no marks: {error}") from None


def write(marks: Iterable[Mark], path: str | os.PathLike[str]) -> None:
    """Write marks to a CSV file, completely or not at all."""
    with write_atomically(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, ["row", "mark", "note"])
        lines.writeheader()
        lines.writerows(marks)


def read(path: str | os.PathLike[str]) -> list[Mark]:
    """Read marks from a CSV file, as the page saves it and as the server keeps it."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        try:
            return checked(_marks_in(csv.DictReader(file), path))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path} holds no marks: a CSV file in UTF-8 was wanted: {error}.") from None


def _marks_in(lines: "csv.DictReader[str]", path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    if not {"row", "mark"} <= set(lines.fieldnames or ()):
        raise InputError(f"{path} holds no marks: columns row, mark and note were wanted.")
    found = list(lines)
    try:
        return [{"row": int(line["row"]), "mark": line["mark"], "note": line.get("note") or ""} for line in found]
    except (TypeError, ValueError):
        raise InputError(f"{path} holds no marks: a row was wanted by its number.") from None


def rows_marked(mark: str, marks: Iterable[Mark] | str | os.PathLike[str]) -> NDArray[np.int64]:  # (k,)
    """Return the numbers of the rows that were given this mark, of marks or of a file of them.

    >>> rows_marked("fine", [{"row": 7, "mark": "fine", "note": ""}, {"row": 9, "mark": "outlier", "note": ""}])
    array([7])
    """
    if mark not in MARKS:
        raise InputError(f"mark must be one of {', '.join(MARKS)}, got {mark!r}.")
    known = read(marks) if isinstance(marks, str | os.PathLike) else marks
    return np.array(sorted(one["row"] for one in known if one["mark"] == mark), dtype=np.int64)
