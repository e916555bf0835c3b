"""Rewrite Arrow's messages about text that it cannot parse, with column names and row numbers of the file."""

import re
from collections.abc import Sequence

HOW_TO_CONVERT = "Convert it first, for example: iconv -f latin1 -t utf-8 old > new"


def explained(message: str, names: Sequence[str], rows_before: int) -> str:
    """Return the message with columns by their names and rows by their number in the file, counted from 1.

    Arrow counts from the beginning of the block it was given, whose header line was taken off: its CSV reader counts
    rows from 1 and columns from 0, its JSON reader counts rows from 0.
    """
    if "UTF8" in message or "UTF-8" in message:
        return f"not UTF-8 throughout: {message}. {HOW_TO_CONVERT}"
    if "straddl" in message:  # what Arrow says if the text ends inside a quoted field
        return f"a quotation mark opens a field that never ends, somewhere after row {rows_before}"
    message = re.sub(r"Row #(\d+)", lambda row: f"row {int(row[1]) + rows_before}", message)
    message = re.sub(r"In CSV column #(\d+)", lambda column: f"column {names[int(column[1])]!r}", message)
    message = re.sub(r"Column\(/(.*?)\)", r"column '\1'", message)
    return re.sub(r"in row (\d+)", lambda row: f"in row {int(row[1]) + rows_before + 1}", message)


def is_about_a_value(message: str) -> bool:
    """Say whether the message is about a value of the wrong type, rather than about text that is no table."""
    return "conversion error" in message
