"""centrality depth: add a classical depth to the rows."""

import argparse
from pathlib import Path

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import DATA, column_names, reading_options, seed, show_scores
from centrality.apps.commands._reading import require_rows_output
from centrality.apps.commands._terminal import Result, aligned

HELP = "add a classical depth, depth_<NAME>, to a file of rows"


def show(result: Result) -> str:
    if "depths" in result:
        return "\n".join(aligned(["name", "what it is"], [[n, t] for n, t in result["depths"].items()], left=(0, 1)))
    return show_scores(result)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME", help="mahalanobis, spatial, ...; --list names them all")
    command.add_argument("data", nargs="?", metavar="DATA", help=DATA)
    reading_options(command)
    command.add_argument("-o", "--output", type=Path, metavar="SCORES", help="a file: the rows and their depths")
    command.add_argument("--list", action="store_true", help="list the depths, and what each is")
    command.add_argument("--columns", metavar="a,b", help="the columns to use (default: all)")
    command.add_argument("--random-state", type=seed, metavar="SEED", help="a seed makes random directions repeatable")


def run(arguments: argparse.Namespace) -> Result:
    from centrality import tables
    from centrality.depths import BY_NAME

    if arguments.list:
        return {"depths": {name: (kind.__doc__ or "").partition("\n")[0] for name, kind in BY_NAME.items()}}
    if arguments.name is None or arguments.data is None or arguments.output is None:
        raise InputError("NAME, DATA and -o SCORES were wanted; centrality depth --list names the depths.")
    if arguments.name not in BY_NAME:
        raise InputError(f"NAME must be one of {', '.join(BY_NAME)}, got {arguments.name!r}.")
    require_rows_output(arguments)
    table = tables.read(arguments.data)
    rows = tables.numbers(table if arguments.columns is None else tables.select(table, column_names(arguments.columns)))
    model = BY_NAME[arguments.name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=arguments.random_state)
    column = f"depth_{arguments.name}"
    tables.write(tables.with_columns(table, {column: model.fit(rows).score_samples(rows)}), arguments.output)
    return {"scores": str(arguments.output), "rows": table.num_rows, "columns": [column]}
