"""centrality copies: find exact and near copies among the rows, and show in which cells they differ."""

import argparse
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import DATA, column_names, count, reading_options, seed
from centrality.apps.commands._reading import (
    counting_line,
    footer_lines,
    require_rows_output,
    rows_output,
)
from centrality.apps.commands._terminal import Result, aligned, paint, shows_progress

if TYPE_CHECKING:
    import pyarrow as pa

    from centrality.selection.copies import Copies

HELP = "find copies: exact ones, near ones, and rows that are the same but for one column"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help=f"{DATA}; or - for stdin")
    reading_options(command)
    command.add_argument("--columns", metavar="a,b", help="the columns to compare (default: all)")
    command.add_argument(
        "--represent",
        metavar="WHAT",
        help="text:COL or images:COL compares the texts or images of one column (default: all cells; a folder of "
        "images by what they look like)",
    )
    command.add_argument("--corrupt", default="refuse", help="images that cannot be read: refuse (default) or skip")
    command.add_argument("--top", type=count, default=20, metavar="N", help="groups to show (default: 20)")
    rows_output(command, "the copies, group by group,")
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="of very many rows (default: 0)")


def run(arguments: argparse.Namespace) -> Result:
    """Return the groups of copies: their kind, the numbers of their rows, and the cells that differ."""
    from centrality import tables
    from centrality.selection.copies import copies

    require_rows_output(arguments, arguments.data)
    kind, _, column = (arguments.represent or "").partition(":")
    if kind not in ("", "text", "images") or (kind == "text" and not column):
        raise InputError(f"--represent must be text:COLUMN, images or images:COLUMN, got {arguments.represent!r}.")
    with tables.open_rows(arguments.data) as source:
        kind, column = ("images", "path") if source.kind == "images" else (kind, column or "path")
        table = source.table()
    if arguments.columns is not None:
        table = tables.select(table, column_names(arguments.columns))
    compared = tables.select(table, [column])[column].to_pylist() if kind else table
    found = copies(
        compared,
        corrupt=arguments.corrupt,
        random_state=arguments.random_state,
        progress=shows_progress(arguments),
    )
    result: Result = {
        "rows": found.rows,
        "rows_above": None if kind else source.rows_above,
        "summary": found.summary(),
        "shown": arguments.top,
        "groups": [{"kind": group.kind, "rows": list(group.rows), "differs": group.differs} for group in found],
    }
    if kind == "images":
        for group, plain in zip(found, result["groups"], strict=True):
            plain["names"] = list(group.names)
        result["skipped"] = found.skipped
    if arguments.output is not None:
        tables.write(_in_groups(table, found), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def _in_groups(table: "pa.Table", found: "Copies") -> "pa.Table":
    """Return the rows of all groups with new columns: the group's number and kind, and the row's number."""
    import numpy as np

    from centrality import tables

    rows = np.array([row for group in found for row in group.rows], dtype=np.int64)
    sizes = [len(group.rows) for group in found]
    new = {
        "group": np.repeat(np.arange(len(sizes)), sizes),
        "kind": np.repeat(np.array([group.kind for group in found], dtype=object), sizes),
        "row": rows,
    }
    copied: pa.Table = tables.with_columns(table.take(rows), new)
    return copied


def show(result: Result) -> str:
    from centrality.selection.copies import CopyGroup

    few = [
        CopyGroup(group["kind"], tuple(group["rows"]), group["differs"], tuple(group.get("names", ())))
        for group in result["groups"][: result["shown"]]
    ]
    lines = [paint(result["summary"], "heading")]
    if few and few[0].names:
        lines += aligned(["kind", "images"], [[group.kind, group.numbers()] for group in few], left=(0, 1))
    elif few:
        body = [[group.kind, group.numbers(), group.differences()] for group in few]
        lines += aligned(["kind", "rows", "where they differ"], body, left=(0, 1, 2))
        lines += counting_line(result, few[0].rows[-1:])
    return "\n".join([*lines, *footer_lines(result, len(result["groups"]), len(few), "Copies")])
