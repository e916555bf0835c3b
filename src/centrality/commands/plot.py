"""centrality plot: contours, a map or profiles, as a picture file."""

import argparse
from pathlib import Path
from typing import Any

from centrality.commands._arguments import loaded, model_and_data, require_folder

HELP = "draw contours (two columns), a map coloured by centrality, or profiles along t"
MAPPED = 20_000  # rows that a picture shows at most, drawn at random
TS = (0.0, 0.25, 0.5, 0.75, 1.0)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=("contours", "map", "profile"))
    model_and_data(command)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FIGURE", help=".png, .svg or .pdf")
    command.add_argument("--method", default="pca", help="of a map: pca, or umap (default: pca)")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes a umap repeatable")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from centrality import planar, plots, scoring, tables
    from centrality._files import written_whole
    from centrality.calibration import blend
    from centrality.chain import Chain

    require_folder(arguments.output)
    model, table = loaded(arguments), tables.read(arguments.data)
    if table.num_rows > MAPPED:
        chosen = np.random.default_rng(arguments.random_state or 0).permutation(table.num_rows)[:MAPPED]
        table = table.take(np.sort(chosen))
    reader = scoring.reader_of(model, table.schema)
    rows = table.select(reader.columns)
    if arguments.kind == "contours":
        if isinstance(model, Chain) or model.n_features_in_ != 2:
            raise ValueError("Contours need a model of two columns of numbers; for others, draw a map.")
        points, plain = tables.numbers(rows), scoring.without_names(model)
        figure = plots.contours([planar.grid(plain, points, TS)], TS, points=[points])
    elif arguments.kind == "profile":
        figure = plots.profile(finite(reader.heads(rows)), t=model.t)
    else:
        if isinstance(model, Chain):
            Z = finite(model.represent(rows))
            heads = model.model_.heads(Z)
        else:
            Z, heads = model._scaling.apply(tables.numbers(rows)), reader.heads(rows)
        points = planar.embed(Z, method=arguments.method, random_state=arguments.random_state)
        figure = plots.homotopy_map(points, blend(heads, TS), TS)
    with written_whole(arguments.output) as beside:
        figure.savefig(beside)
    return {"figure": str(arguments.output), "rows": table.num_rows}


def finite(rows: Any) -> Any:
    import numpy as np

    return rows[~np.isnan(rows).any(1)]


def show(result: dict[str, Any]) -> str:
    return f"Drew {result['rows']:,} rows: {result['figure']}"
