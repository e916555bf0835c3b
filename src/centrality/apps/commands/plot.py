"""centrality plot: draw a model's scores of some rows, or the losses of its training, into a picture file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import load_model, model_and_data, require_output, seed
from centrality.apps.commands._reading import row_names, rows_called
from centrality.apps.commands._terminal import Result, save_figure, shows_progress, working

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from centrality.model.interface import CentralityModel

HELP = "draw contours (two columns), a map, profiles along t, global against local scores, or the losses of training"
MOST_DRAWN = 20_000  # rows that a picture shows at most, drawn at random
DRAWN_AT = (0.0, 0.25, 0.5, 0.75, 1.0)  # values of t: a panel each


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=("contours", "map", "profile", "scores", "history"), help="what to draw")
    model_and_data(command, needed=False)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FIGURE", help=".png, .svg or .pdf")
    command.add_argument(
        "--rows",
        type=row_names,
        metavar="0,17",
        help="the rows whose profiles to draw, counted from 0, or by a text that only they hold",
    )
    command.add_argument("--method", default="pca", help="how rows are mapped: pca (default) or umap")
    command.add_argument("--random-state", type=seed, metavar="SEED", help="a seed makes a umap repeatable")


def run(arguments: argparse.Namespace) -> Result:
    """Return the figure's file, and how many rows it shows, if it shows rows."""
    from centrality._internal.checks import optional

    optional("matplotlib", "plots")
    require_output(arguments.output, arguments)
    endings = optional("matplotlib.backend_bases", "plots").FigureCanvasBase.get_supported_filetypes()
    ending = arguments.output.suffix
    if ending.lower().lstrip(".") not in endings:
        raise InputError(
            f"{arguments.output}: a file ending in .png, .svg or .pdf was wanted, got {ending or 'no ending'}."
        )
    model = load_model(arguments)
    result: Result = {"figure": str(arguments.output)}
    if arguments.kind == "history":
        from centrality import plots

        report = model.fitted_.report
        untrained = None if report is None else {head: losses["nothing"] for head, losses in report.losses.items()}
        figure = plots.history(model.fitted_.history, nothing=untrained)
    elif arguments.data is None:
        raise InputError(f"Say which rows to draw: centrality plot {arguments.kind} MODEL DATA -o FIGURE")
    else:
        with working(f"Drawing the {arguments.kind}", arguments):
            figure, result["rows"] = _figure_of_rows(arguments, model)
    save_figure(figure, arguments.output)
    return result


def _figure_of_rows(arguments: argparse.Namespace, model: "CentralityModel") -> tuple["Figure", int]:
    """Draw the figure that the arguments choose; return it, and how many rows it shows."""
    import numpy as np

    from centrality import maps, plots, tables
    from centrality.bulk.adapter import Adapter
    from centrality.bulk.score import vectors_of
    from centrality.model.explain import low_heads
    from centrality.model.interface import LOW
    from centrality.model.reader import reader_of
    from centrality.network.scaling import dense

    fitted = model.fitted_
    if arguments.kind == "contours" and (reader_of(model).input_spec().kind != "numbers" or fitted.width != 2):
        raise InputError("Contours need a model of two columns of numbers; for others, draw a map.")
    table = tables.read(arguments.data)
    adapter = Adapter(model, table.column_names)
    progress = shows_progress(arguments)
    if arguments.kind == "profile" and arguments.rows is not None:
        rows = rows_called(arguments.rows, table)
        units = adapter.units(vectors_of(adapter, table, progress=progress), table.num_rows)
        adapter.report()
        heads = fitted.mixing.squeeze(units)
        missing = [row for row in rows if np.isnan(heads[row]).any()]
        if missing:
            raise InputError(f"Row {missing[0]} has no score to draw: it could not be represented.")
        return plots.profile(heads, rows=rows, mixing=fitted.mixing), table.num_rows
    if table.num_rows > MOST_DRAWN:
        chosen = np.random.default_rng(arguments.random_state or 0).permutation(table.num_rows)[:MOST_DRAWN]
        table = table.take(np.sort(chosen))
    vectors = dense(vectors_of(adapter, table, progress=progress))
    vectors = vectors[~np.isnan(vectors).any(1)]  # without rows that could not be represented
    adapter.report()
    if arguments.kind == "contours":
        figure = plots.contours([maps.grid(fitted, vectors, DRAWN_AT)], DRAWN_AT, points=[vectors])
    elif arguments.kind == "map":
        scaled = fitted.scaling.apply(vectors)
        points = maps.embed(scaled, method=arguments.method, random_state=arguments.random_state, progress=progress)
        axes = maps.axis_names(scaled, points, arguments.method)
        figure = plots.homotopy_map(points, fitted.centrality(vectors, DRAWN_AT), DRAWN_AT, axes=axes)
    elif arguments.kind == "profile":
        figure = plots.profile(fitted.heads(vectors), t=model.t, mixing=fitted.mixing)
    else:
        heads = fitted.heads(vectors)
        bounds = fitted.bounds(LOW)
        figure = plots.scores(heads, kinds=low_heads(heads, bounds), bounds=bounds)
    return figure, table.num_rows


def show(result: Result) -> str:
    return f"Drew {result['rows']:,} rows: {result['figure']}" if "rows" in result else f"Drew {result['figure']}"
