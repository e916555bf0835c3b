"""centrality labels: find labels that are likely wrong."""

import argparse

from centrality._internal.text import share
from centrality.apps.commands._arguments import DATA, column_names, count, reading_options, rows_option, seed
from centrality.apps.commands._reading import excerpt, footer_lines, require_rows_output, rows_output
from centrality.apps.commands._terminal import Result, aligned, paint, working

HELP = "find labels that are likely wrong: rows that rather belong to another class"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help=f"{DATA}; or - for stdin")
    reading_options(command)
    rows_option(command)
    command.add_argument("--by", required=True, metavar="COLUMN", help="the column of the labels")
    command.add_argument("--columns", metavar="a,b", help="the columns to learn from (default: all others)")
    command.add_argument("--top", type=count, default=20, metavar="N", help="rows to show (default: 20)")
    rows_output(command, "all doubtful rows")
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="of the fits (default: 0)")


def run(arguments: argparse.Namespace) -> Result:
    """Return the rows whose label is in doubt, the most doubtful first."""
    from centrality import tables
    from centrality.selection.labels import wrong_labels

    require_rows_output(arguments)
    table = tables.read(arguments.data)
    tables.require(table.column_names, [arguments.by])
    if arguments.columns is not None:
        names = [name for name in column_names(arguments.columns) if name != arguments.by]
        table = tables.select(table, [*names, arguments.by])
    with working("Comparing with the other rows", arguments):
        doubtful_rows = wrong_labels(table, arguments.by, random_state=arguments.random_state)
    new = ("row", "suggested", "p_label", "p_suggested")
    result: Result = {
        "rows": table.num_rows,
        "by": arguments.by,
        "shown": arguments.top,
        "doubtful": [{name: row.pop(name) for name in new} | {"holds": row} for row in doubtful_rows.to_pylist()],
    }
    if arguments.output is not None:
        tables.write(doubtful_rows, arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def show(result: Result) -> str:
    rows = result["doubtful"][: result["shown"]]
    by = result["by"]
    heading = f"{len(result['doubtful']):,} of {result['rows']:,} rows rather belong to another {by}"
    lines = [paint(heading, "heading")]
    if rows:
        body = [
            [f"{row['row']:,}", str(row["holds"][by]), str(row["suggested"]), share(row["p_label"]),
             share(row["p_suggested"]), excerpt({k: v for k, v in row["holds"].items() if k != by}, None)]
            for row in rows
        ]  # fmt: skip
        lines += aligned(["row", by, "rather", "chance", "of rather", "holds"], body, left=(1, 2, 5))
    return "\n".join([*lines, *footer_lines(result, len(result["doubtful"]), len(rows), "Doubtful rows")])
