"""centrality datasets: list the data sets that are known by name, or write one to a file."""

import argparse
from pathlib import Path

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import require_output
from centrality.apps.commands._terminal import Result, paint

HELP = "list the data sets known by name, or write one to a file"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME", help="the set to write; without it, the sets are listed")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=".csv, .parquet, .jsonl, ...")


def run(arguments: argparse.Namespace) -> Result:
    """Return the names and descriptions of data sets, or the file and number of rows of one that was written."""
    from centrality import datasets, tables
    from centrality.datasets import published

    if arguments.name is None:
        return {
            "bundled": {name: text for name, (_, text) in datasets.BUNDLED.items()},
            "published": {name: data_set.origin for name, data_set in published.SETS.items()},
        }
    if arguments.name not in datasets.BUNDLED and arguments.name not in published.SETS:
        names = ", ".join([*datasets.BUNDLED, *published.SETS])
        raise InputError(f"There is no data set called {arguments.name!r}; there are: {names}.")
    output = arguments.output or Path(f"{arguments.name}.csv")
    tables.kind_to_write(output)
    require_output(output, arguments)
    table = tables.read(arguments.name)
    tables.write(table, output)
    return {"file": str(output), "rows": table.num_rows, "columns": table.column_names}


def show(result: Result) -> str:
    if "file" in result:
        return f"Wrote {result['file']}: {result['rows']:,} rows, {len(result['columns'])} columns."
    lines = ["Every command takes these names in the place of a file."]
    for heading in ("bundled", "published"):
        explained = "no download" if heading == "bundled" else "from $CENTRALITY_DATA, the cache, or downloaded"
        sets: dict[str, str] = result[heading]
        lines += ["", paint(f"{heading} ({explained})", "heading"), *(f"  {n:<20}  {t}" for n, t in sets.items())]
    return "\n".join(lines)
