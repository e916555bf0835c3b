"""centrality labels: find labels that are likely wrong."""

import argparse
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from centrality.commands._arguments import DATA, column_names, count, one_number, require_output, seed
from centrality.commands._display import aligned, paint, working
from centrality.scores.number_format import share

HELP = "find labels that are likely wrong: rows that are typical of another class and odd in their own"


class Result(TypedDict):
    """Holds the rows whose label is in doubt, the most doubtful first."""

    rows: int
    by: str
    shown: int
    doubtful: list[dict[str, Any]]
    file: NotRequired[str]


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help=f"{DATA}; or - for stdin")
    command.add_argument("--by", required=True, metavar="COLUMN", help="the column of the labels")
    command.add_argument("--columns", metavar="a,b", help="the columns to learn from (default: all others)")
    command.add_argument("--top", type=count, default=20, metavar="N", help="rows to show (default: 20)")
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: 0.5)")
    command.add_argument("-o", "--output", type=Path, metavar="ROWS", help="write all doubtful rows there")
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="of the fits (default: 0)")


def run(arguments: argparse.Namespace) -> Result:
    from centrality import tables
    from centrality.selecting.labels import wrong_labels

    if arguments.output is not None:
        tables.kind_to_write(arguments.output)
        require_output(arguments.output, arguments.data)
    table = tables.read(arguments.data)
    tables.require(table.column_names, [arguments.by])
    if arguments.columns is not None:
        names = [name for name in column_names(arguments.columns) if name != arguments.by]
        table = tables.select(table, [*names, arguments.by])
    with working("Fitting a model for each class", arguments):
        found = wrong_labels(table, arguments.by, t=arguments.t, random_state=arguments.random_state)
    new = ("row", "suggested", "p_label", "p_suggested")
    result: Result = {
        "rows": table.num_rows,
        "by": arguments.by,
        "shown": arguments.top,
        "doubtful": [{name: row.pop(name) for name in new} | {"holds": row} for row in found.to_pylist()],
    }
    if arguments.output is not None:
        tables.write(found, arguments.output)
        result["file"] = str(arguments.output)
    return result


def show(result: Result) -> str:
    from centrality.scoring.ranking import excerpt

    few, by = result["doubtful"][: result["shown"]], result["by"]
    said = f"{len(result['doubtful']):,} of {result['rows']:,} rows are more typical of another {by} than of their own"
    lines = [paint(said, "heading")]
    if few:
        body = [
            [f"{row['row']:,}", str(row["holds"][by]), str(row["suggested"]), share(row["p_label"]),
             share(row["p_suggested"]), excerpt({k: v for k, v in row["holds"].items() if k != by}, None)]
            for row in few
        ]  # fmt: skip
        lines += aligned(["row", by, "rather", "p of it", "p of rather", "holds"], body, left=(1, 2, 5))
    if len(few) < len(result["doubtful"]):
        more = len(result["doubtful"]) - len(few)
        lines.append(f"... and {more:,} more" + ("" if "file" in result else ": -o ROWS writes them all"))
    if "file" in result:
        lines.append(f"Doubtful rows: {result['file']}")
    return "\n".join(lines)
