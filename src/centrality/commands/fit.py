"""centrality fit: learn from rows, write a model."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality._checks import InputError
from centrality.commands._arguments import DATA, auto_or_number, auto_or_numbers, count, names, require_folder, seed

if TYPE_CHECKING:
    from centrality.fuse import FUSE

MANY = 5  # times as many rows as a fit needs: then a sample is read, not everything

HELP = f"learn from rows: {DATA}"
REPRESENTATIONS = ("table", "text:COLUMN", "images:COLUMN", "series", "series:COLUMN")


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a file, a folder, or - for stdin")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="MODEL", help="a .safetensors file")
    command.add_argument("--columns", metavar="a,b", help="the columns to learn from (default: all)")
    command.add_argument(
        "--represent",
        metavar="WHAT",
        help="table (mixed columns, dates, gaps), text:COL, images:COL, series (one a row), "
        "series:COL (with --window); default: columns of numbers as they are",
    )
    command.add_argument("--encoder", metavar="NAME", help="of text or images: a model's name or folder")
    command.add_argument("--pooling", default="auto", help="of text: cls, mean, max, or auto")
    command.add_argument("--download", action="store_true", help="fetch an encoder's weights if they are not on disk")
    command.add_argument("--cache", metavar="FOLDER", help="keep the vectors of images there")
    command.add_argument("--corrupt", default="refuse", help="images that cannot be read: refuse (default) or skip")
    command.add_argument("--window", type=count, metavar="N", help="of a long series: the windows' length")
    command.add_argument("--step", type=count, metavar="N", help="from one window to the next (default: half of it)")
    command.add_argument("--sample", type=count, metavar="N", help="learn from N rows (default: 200,000 if very many)")
    command.add_argument("--second-pass", action="store_true", help="set quantiles by all rows, not by the sample")
    command.add_argument("--t", type=float, default=0.5, help="the model's own t (default: 0.5)")
    command.add_argument("--metric", default="euclidean", help="euclidean, manhattan or cosine")
    command.add_argument(
        "--noise-scale", type=auto_or_numbers, default="auto", metavar="ETA", help="auto, a number, or several: .5,1"
    )
    command.add_argument("--scaling", default="auto", help="auto, standard or none")
    command.add_argument("--max-steps", type=int, metavar="N", help="the training budget")
    command.add_argument("--contamination", type=auto_or_number, default="auto", help="share of outliers, or auto")
    command.add_argument("--holdout", type=float, metavar="SHARE", help="rows kept aside, so that scores have p-values")
    command.add_argument("--novelty", action="store_true", help="the rows are known to hold no outliers")
    command.add_argument("--random-state", type=seed, metavar="SEED", help="a seed makes fits repeatable")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables

    require_folder(arguments.output)
    if arguments.second_pass:
        _require_second_pass(arguments)
    representation = _representation(arguments)  # a wrong name is said before the data is read
    rows, total = _rows(arguments)
    if representation is None:
        tables.numbers(rows.slice(0, 1))  # says at once if a column is not made of numbers
    elif arguments.represent == "images" and "path" not in rows.column_names:
        raise tables.TableError("Say which column holds the images: --represent images:COLUMN")

    from centrality.chain import Chain
    from centrality.fuse import FUSE

    fuse = FUSE(
        t=arguments.t,
        metric=arguments.metric,
        noise_scale=arguments.noise_scale,
        scaling=arguments.scaling,
        max_steps=arguments.max_steps,
        contamination=arguments.contamination,
        novelty=arguments.novelty,
        holdout=arguments.holdout,
        device=arguments.device,
        random_state=arguments.random_state,
        progress=sys.stderr.isatty(),
    )
    model = fuse.fit(rows) if representation is None else Chain(representation, fuse).fit(rows)
    if arguments.second_pass:
        _second_pass(model, arguments.data)
    model.save(arguments.output)
    fitted = model if representation is None else model.model_
    said = {} if representation is None else {"representation": model.representation_.describe()}
    count = {"rows": total} if total == rows.num_rows else {"rows": total, "sampled": rows.num_rows}
    return {"model": str(arguments.output), **count, **_summary(fitted), **said}


def _rows(arguments: argparse.Namespace) -> tuple[Any, int]:
    """What to learn from, and of how many rows: all of them, or a uniform sample where they are very many."""
    from centrality import tables
    from centrality.scoring import sampling

    columns = names(arguments.columns) if arguments.columns else None
    whole_series = arguments.window is not None
    if arguments.data != "-" and not whole_series:
        with tables.open_rows(arguments.data) as source:
            total, width = source.rows or 0, len(columns or source.schema.names)
        size = arguments.sample or sampling.enough(width)
        if total > (size if arguments.sample else MANY * size):
            import numpy as np

            rng = np.random.default_rng(arguments.random_state)
            return sampling.sample(arguments.data, size, rng, columns), total
    table = tables.read(arguments.data)
    return tables.select(table, columns) if columns else table, table.num_rows


def _require_second_pass(arguments: argparse.Namespace) -> None:
    """What would stop it is said before the fit, not after it."""
    from centrality.scoring import sketches

    sketches.require(arguments.holdout)
    if arguments.data == "-" or arguments.window is not None:
        raise InputError("--second-pass wants rows that can be read again, one by one: no stdin, no --window.")


def _second_pass(model: Any, data: str) -> None:
    from functools import partial

    from centrality.scoring import sketches, workers

    sketches.second_pass(model, data, partial(workers.run, workers=workers.cores()), progress=sys.stderr.isatty())


def _representation(arguments: argparse.Namespace) -> Any:
    """The transformer that --represent names, or None for numbers as they are."""
    if arguments.represent is None:
        return None
    kind, _, column = arguments.represent.partition(":")
    encoder = {} if arguments.encoder is None else {"model": arguments.encoder}
    run = {"download": arguments.download, "device": arguments.device, "progress": sys.stderr.isatty()}

    from centrality import representations

    if kind == "table" and not column:
        return representations.Table()
    if kind == "text" and column:
        return representations.Text(column=column, pooling=arguments.pooling, **encoder, **run)
    if kind == "images":
        return representations.Images(
            column=column or "path", corrupt=arguments.corrupt, cache=arguments.cache, **encoder, **run
        )
    if kind == "series":
        if column and arguments.window is None:
            raise InputError("A column that holds one long series needs windows: --window N")
        columns = names(column) if column else None
        return representations.Series(window=arguments.window, step=arguments.step, column=columns)
    raise InputError(f"--represent must be one of {', '.join(REPRESENTATIONS)}, got {arguments.represent!r}.")


def _summary(model: "FUSE") -> dict[str, Any]:
    return {
        "features": model.n_features_in_,
        "noise_scale": list(model.noise_scale_),
        "global_loss": [model.history_["global"][0], model.history_["global"][-1]],
        "local_loss": [model.history_["local"][0], model.history_["local"][-1]],
    }


def _of(result: dict[str, Any]) -> str:
    return f"{result['sampled']:,} of " if "sampled" in result else ""


def show(result: dict[str, Any]) -> str:
    first, last = zip(result["global_loss"], result["local_loss"], strict=True)
    return (
        f"Fitted {_of(result)}{result['rows']:,} rows of {result['features']} columns, "
        f"noise scale {', '.join(f'{eta:.3g}' for eta in result['noise_scale'])}.\n"
        f"Loss, first to last: global {first[0]:.4f} to {last[0]:.4f}, local {first[1]:.4f} to {last[1]:.4f}.\n"
        + "".join(f"{name}: {said}\n" for name, said in result.get("representation", {}).items())
        + f"Model: {result['model']}"
    )
