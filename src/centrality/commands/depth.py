"""centrality depth: add a classical depth to the rows."""

import argparse
from pathlib import Path

from centrality._checks import InputError
from centrality.commands._arguments import ScoresResult, column_names, require_output, seed, show_scores

HELP = "add a classical depth, depth_<NAME>, to a file of rows"
show = show_scores


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="mahalanobis, spatial, halfspace, projection, ...")
    command.add_argument("data", type=Path, metavar="DATA")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="SCORES")
    command.add_argument("--columns", metavar="a,b", help="the columns to use (default: all)")
    command.add_argument("--random-state", type=seed, metavar="SEED", help="a seed makes random directions repeatable")


def run(arguments: argparse.Namespace) -> ScoresResult:
    from centrality import tables
    from centrality.depths import BY_NAME

    if arguments.name not in BY_NAME:
        raise InputError(f"NAME must be one of {', '.join(BY_NAME)}, got {arguments.name!r}.")
    tables.kind_of(arguments.output)
    require_output(arguments.output, arguments.data)
    table = tables.read(arguments.data)
    rows = tables.numbers(table if arguments.columns is None else tables.select(table, column_names(arguments.columns)))
    model = BY_NAME[arguments.name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=arguments.random_state)
    column = f"depth_{arguments.name}"
    tables.write(tables.with_columns(table, {column: model.fit(rows).score_samples(rows)}), arguments.output)
    return {"scores": str(arguments.output), "rows": table.num_rows, "columns": [column]}
