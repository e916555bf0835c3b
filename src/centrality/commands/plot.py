"""centrality plot: what a model says of some rows, or how its training went, as a picture file."""

import argparse
from pathlib import Path
from typing import Any

from centrality.commands._arguments import loaded, model_and_data, require_folder

HELP = "draw contours (two columns), a map, profiles along t, global against local scores, or the losses of training"
MAPPED = 20_000  # rows that a picture shows at most, drawn at random
TS = (0.0, 0.25, 0.5, 0.75, 1.0)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=("contours", "map", "profile", "scores", "history"))
    model_and_data(command, needed=False)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FIGURE", help=".png, .svg or .pdf")
    command.add_argument("--rows", type=row_numbers, metavar="0,17", help="of profile: which rows, counted from 0")
    command.add_argument("--method", default="pca", help="of a map: pca, or umap (default: pca)")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes a umap repeatable")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality._atomic import written_whole
    from centrality._optional import optional

    optional("matplotlib", "plots")
    require_folder(arguments.output)
    model, rows = loaded(arguments), None
    if arguments.kind == "history":
        figure = _history(model)
    elif arguments.data is None:
        raise ValueError(f"Say which rows to draw: centrality plot {arguments.kind} MODEL DATA -o FIGURE")
    else:
        figure, rows = _of_rows(arguments, model)
    with written_whole(arguments.output) as beside:
        figure.savefig(beside)
    return {"figure": str(arguments.output), **({} if rows is None else {"rows": rows})}


def _history(model: Any) -> Any:
    from centrality import plots

    fitted = getattr(model, "model_", model)
    report = fitted._report
    nothing = None if report is None else {head: losses["nothing"] for head, losses in report.losses.items()}
    return plots.history(fitted.history_, nothing=nothing)


def _of_rows(arguments: argparse.Namespace, model: Any) -> tuple[Any, int]:
    import numpy as np

    from centrality import plots, tables
    from centrality.scoring.adapter import reader_of

    table = tables.read(arguments.data)
    reader = reader_of(model, table.schema)
    if arguments.kind == "profile" and arguments.rows is not None:
        return plots.profile(_chosen(reader, table, arguments.rows), rows=arguments.rows), table.num_rows
    if table.num_rows > MAPPED:
        chosen = np.random.default_rng(arguments.random_state or 0).permutation(table.num_rows)[:MAPPED]
        table = table.take(np.sort(chosen))
    rows = table.select(reader.columns)
    if arguments.kind == "contours":
        figure = _contours(model, rows)
    elif arguments.kind == "map":
        figure = _map(arguments, model, reader, rows)
    else:
        heads = finite(reader.heads(rows))
        figure = plots.profile(heads, t=model.t) if arguments.kind == "profile" else _scores(model, heads)
    return figure, table.num_rows


def _chosen(reader: Any, table: Any, numbers: list[int]) -> Any:
    import numpy as np

    beyond = [number for number in numbers if number >= table.num_rows]
    if beyond:
        raise ValueError(f"--rows counts from 0 to {table.num_rows - 1} here, got {beyond[0]}.")
    heads = reader.heads(table.select(reader.columns))
    missing = [number for number in numbers if np.isnan(heads[number]).any()]
    if missing:
        raise ValueError(f"Row {missing[0]} has no score to draw: it could not be represented.")
    return heads


def _contours(model: Any, rows: Any) -> Any:
    from centrality import maps, plots, tables
    from centrality.chain import Chain
    from centrality.scoring.adapter import without_names

    if isinstance(model, Chain) or model.n_features_in_ != 2:
        raise ValueError("Contours need a model of two columns of numbers; for others, draw a map.")
    points = tables.numbers(rows)
    return plots.contours([maps.grid(without_names(model), points, TS)], TS, points=[points])


def _map(arguments: argparse.Namespace, model: Any, reader: Any, rows: Any) -> Any:
    from centrality import maps, plots, tables
    from centrality.chain import Chain
    from centrality.scores.calibration import blend

    if isinstance(model, Chain):
        Z = finite(model.represent(rows))
        heads = model.model_.heads(Z)
    else:
        Z, heads = model._scaling.apply(tables.numbers(rows)), reader.heads(rows)
    points = maps.embed(Z, method=arguments.method, random_state=arguments.random_state)
    return plots.homotopy_map(points, blend(heads, TS), TS)


def _scores(model: Any, heads: Any) -> Any:
    from centrality import plots
    from centrality.model.explanations import LOW, kinds

    bounds = getattr(model, "model_", model)._bounds(LOW)
    return plots.scores(heads, kinds=kinds(heads, bounds), bounds=bounds)


def finite(rows: Any) -> Any:
    import numpy as np

    return rows[~np.isnan(rows).any(1)]


def row_numbers(text: str) -> list[int]:
    found = [int(part) for part in text.split(",")]
    if min(found) < 0:
        raise argparse.ArgumentTypeError(f"row numbers from 0 on were wanted, got {text}")
    return found


def show(result: dict[str, Any]) -> str:
    return f"Drew {result['rows']:,} rows: {result['figure']}" if "rows" in result else f"Drew {result['figure']}"
