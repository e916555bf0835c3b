"""centrality plot: draw a model's scores of some rows, or the losses of its training, into a picture file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import load_model, model_and_data, require_output, seed
from centrality.apps.commands._reading import row_names, rows_called
from centrality.apps.commands._terminal import Result, save_figure, shows_progress, working

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from centrality._internal.input import CheckedRows
    from centrality.bulk.adapter import Adapter
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
    require_output(arguments.output, arguments.model, arguments.data or "-")
    _require_picture_ending(arguments.output)
    model, rows = load_model(arguments), None
    if arguments.kind == "history":
        figure = _history(model)
    elif arguments.data is None:
        raise InputError(f"Say which rows to draw: centrality plot {arguments.kind} MODEL DATA -o FIGURE")
    else:
        with working(f"Drawing the {arguments.kind}", arguments):
            figure, rows = _figure_of_rows(arguments, model)
    save_figure(figure, arguments.output)
    return {"figure": str(arguments.output)} if rows is None else {"figure": str(arguments.output), "rows": rows}


def _require_picture_ending(path: Path) -> None:
    """Raise if the file's ending names no kind of picture. It is called before the work begins."""
    from centrality._internal.checks import optional

    known = optional("matplotlib.backend_bases", "plots").FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in known:
        raise InputError(f"{path}: a file ending in .png, .svg or .pdf was wanted, got {path.suffix or 'no ending'}.")


def _history(model: "CentralityModel") -> "Figure":
    from centrality import plots

    report = model.fitted_.report
    nothing = None if report is None else {head: losses["nothing"] for head, losses in report.losses.items()}
    return plots.history(model.fitted_.history, nothing=nothing)


def _figure_of_rows(arguments: argparse.Namespace, model: "CentralityModel") -> tuple["Figure", int]:
    """Draw the figure that the arguments choose; return it, and how many rows it shows."""
    import numpy as np

    from centrality import maps, plots, tables
    from centrality.bulk.adapter import Adapter
    from centrality.bulk.score import vectors_of
    from centrality.network.scaling import dense

    if arguments.kind == "contours":
        _require_two_columns(model)
    table = tables.read(arguments.data)
    adapter, progress = Adapter(model, table.column_names), shows_progress(arguments)
    if arguments.kind == "profile" and arguments.rows is not None:
        rows = rows_called(arguments.rows, table)
        heads = _heads_to_draw(adapter, vectors_of(adapter, table, progress=progress), table.num_rows, rows)
        return plots.profile(heads, rows=rows, mixing=model.fitted_.mixing), table.num_rows
    if table.num_rows > MOST_DRAWN:
        chosen = np.random.default_rng(arguments.random_state or 0).permutation(table.num_rows)[:MOST_DRAWN]
        table = table.take(np.sort(chosen))
    vectors = dense(vectors_of(adapter, table, progress=progress))
    vectors = vectors[~np.isnan(vectors).any(1)]  # without rows that could not be represented
    adapter.report()
    if arguments.kind == "contours":
        figure = plots.contours([maps.grid(model.fitted_, vectors, DRAWN_AT)], DRAWN_AT, points=[vectors])
    elif arguments.kind == "map":
        figure = _map(arguments, model, vectors)
    else:
        heads, profile = model.fitted_.heads(vectors), arguments.kind == "profile"
        figure = plots.profile(heads, t=model.t, mixing=model.fitted_.mixing) if profile else _scores(model, heads)
    return figure, table.num_rows


def _heads_to_draw(
    adapter: "Adapter", vectors: "CheckedRows", rows: int, numbers: list[int]
) -> "NDArray[np.float64]":  # (n, 2)
    """Return the heads of all rows; raise if a row of these numbers has none."""
    import numpy as np

    heads = adapter.fitted.mixing.squeeze(adapter.units(vectors, rows))
    adapter.report()
    missing = [number for number in numbers if np.isnan(heads[number]).any()]
    if missing:
        raise InputError(f"Row {missing[0]} has no score to draw: it could not be represented.")
    return heads


def _require_two_columns(model: "CentralityModel") -> None:
    from centrality.model.reader import reader_of

    if reader_of(model).input_spec().kind != "numbers" or model.fitted_.width != 2:
        raise InputError("Contours need a model of two columns of numbers; for others, draw a map.")


def _map(arguments: argparse.Namespace, model: "CentralityModel", vectors: "NDArray[np.float64]") -> "Figure":
    from centrality import maps, plots

    scaled = model.fitted_.scaling.apply(vectors)
    points = maps.embed(
        scaled, method=arguments.method, random_state=arguments.random_state, progress=shows_progress(arguments)
    )
    axes = maps.axis_names(scaled, points, arguments.method)
    return plots.homotopy_map(points, model.fitted_.centrality(vectors, DRAWN_AT), DRAWN_AT, axes=axes)


def _scores(model: "CentralityModel", heads: "NDArray[np.float64]") -> "Figure":
    from centrality import plots
    from centrality.model.explain import low_heads
    from centrality.model.interface import LOW

    bounds = model.fitted_.bounds(LOW)
    return plots.scores(heads, kinds=low_heads(heads, bounds), bounds=bounds)


def show(result: Result) -> str:
    return f"Drew {result['rows']:,} rows: {result['figure']}" if "rows" in result else f"Drew {result['figure']}"
