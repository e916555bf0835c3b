"""centrality copies: find exact and near copies among the rows, and show in which cells they differ."""

import argparse

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import DATA, column_names, count, reading_options, rows_option, seed
from centrality.apps.commands._reading import (
    counting_line,
    footer_lines,
    require_rows_output,
    rows_output,
)
from centrality.apps.commands._terminal import Result, aligned, paint, shows_progress

HELP = "find copies: exact ones, near ones, and rows that are the same but for one column"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help=f"{DATA}; or - for stdin")
    reading_options(command)
    rows_option(command)
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
    import numpy as np

    from centrality import tables
    from centrality.selection.copies import copies

    require_rows_output(arguments)
    kind, _, column = (arguments.represent or "").partition(":")
    if kind not in ("", "text", "images") or (kind == "text" and not column):
        raise InputError(f"--represent must be text:COLUMN, images or images:COLUMN, got {arguments.represent!r}.")
    with tables.open_rows(arguments.data) as source:
        kind, column = ("images", "path") if source.kind == "images" else (kind, column or "path")
        table = source.table()
    if arguments.columns is not None:
        table = tables.select(table, column_names(arguments.columns))
    compared = tables.select(table, [column])[column].to_pylist() if kind else table
    groups = copies(
        compared,
        corrupt=arguments.corrupt,
        random_state=arguments.random_state,
        progress=shows_progress(arguments),
    )
    result: Result = {
        "rows": groups.rows,
        "rows_above": None if kind else source.rows_above,
        "summary": groups.summary(),
        "shown": arguments.top,
        "groups": [{"kind": group.kind, "rows": list(group.rows), "differs": group.differs} for group in groups],
    }
    if kind == "images":
        for group, plain in zip(groups, result["groups"], strict=True):
            plain["names"] = list(group.names)
        result["skipped"] = groups.skipped
    if arguments.output is not None:
        rows = np.array([row for group in groups for row in group.rows], dtype=np.int64)
        sizes = [len(group.rows) for group in groups]
        new = {
            "group": np.repeat(np.arange(len(sizes)), sizes),
            "kind": np.repeat(np.array([group.kind for group in groups], dtype=object), sizes),
            "row": rows,
        }
        tables.write(tables.with_columns(table.take(rows), new), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def show(result: Result) -> str:
    from centrality.selection.copies import CopyGroup

    groups = [
        CopyGroup(group["kind"], tuple(group["rows"]), group["differs"], tuple(group.get("names", ())))
        for group in result["groups"][: result["shown"]]
    ]
    lines = [paint(result["summary"], "heading")]
    if groups and groups[0].names:
        lines += aligned(["kind", "images"], [[group.kind, group.numbers()] for group in groups], left=(0, 1))
    elif groups:
        body = [[group.kind, group.numbers(), group.differences()] for group in groups]
        lines += aligned(["kind", "rows", "where they differ"], body, left=(0, 1, 2))
        lines += counting_line(result, groups[0].rows[-1:])
    return "\n".join([*lines, *footer_lines(result, len(result["groups"]), len(groups), "Copies")])
