"""What each command of the command line does: reads, computes, writes, and says so in plain values."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from centrality.fuse import FUSE

MAPPED = 20_000  # rows that a picture shows at most, drawn at random
TS = (0.0, 0.25, 0.5, 0.75, 1.0)
REPRESENTATIONS = ("table", "text:COLUMN", "images:COLUMN", "series", "series:COLUMN")


def fit(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables

    _require_folder(arguments.output)
    representation = _representation(arguments)  # a wrong name is said before the data is read
    table = tables.read(arguments.data)
    rows = tables.select(table, _names(arguments.columns)) if arguments.columns else table
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
    model.save(arguments.output)
    fitted = model if representation is None else model.model_
    said = {} if representation is None else {"representation": model.representation_.describe()}
    return {"model": str(arguments.output), "rows": table.num_rows, **_summary(fitted), **said}


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
            raise ValueError("A column that holds one long series needs windows: --window N")
        names = _names(column) if column else None
        return representations.Series(window=arguments.window, step=arguments.step, column=names)
    raise ValueError(f"--represent must be one of {', '.join(REPRESENTATIONS)}, got {arguments.represent!r}.")


def score(arguments: argparse.Namespace) -> dict[str, Any]:
    output = arguments.output or ("-" if arguments.data == "-" else None)
    if output is None:
        raise ValueError("Say where the scores go: -o SCORES (a file, a folder ending in /, or - for the terminal).")
    if output != "-" and not output.endswith("/"):
        from centrality import tables

        tables.kind_of(output)
        _require_folder(Path(output))
    model = _loaded(arguments)

    from centrality import scoring

    watch = None
    if arguments.watch_drift:
        watch = scoring.Watch(_training_scores(model), arguments.drift_window, _warn)
    inliers = getattr(model, "model_", model).calibration_heads() if arguments.p_values else None
    shown = sys.stderr.isatty() and output != "-"
    job = scoring.Job(model, arguments.t or [model.t], watch, progress=shown, inliers=inliers)
    rows = scoring.score(job, arguments.data, output)
    result = {"scores": output, "rows": rows, "columns": job.names}
    if watch is not None:
        result["drift"] = [_as_plain(drift) for drift in watch.found]
    return result


def rank(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import ranking

    model = _loaded(arguments)
    t = model.t if arguments.t is None else arguments.t
    rows, best, worst = ranking.rank(model, arguments.data, t, arguments.top)
    return {
        "rows": rows,
        "t": t,
        "shows": _what_to_show(model),
        "central": best.rows(),
        "peripheral": worst.rows(),
    }


def plot(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from centrality import planar, plots, scoring, tables
    from centrality._files import written_whole
    from centrality.calibration import blend
    from centrality.chain import Chain

    _require_folder(arguments.output)
    model, table = _loaded(arguments), tables.read(arguments.data)
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
        figure = plots.profile(_finite(reader.heads(rows)), t=model.t)
    else:
        if isinstance(model, Chain):
            Z = _finite(model.represent(rows))
            heads = model.model_.heads(Z)
        else:
            Z, heads = model._scaling.apply(tables.numbers(rows)), reader.heads(rows)
        points = planar.embed(Z, method=arguments.method, random_state=arguments.random_state)
        figure = plots.homotopy_map(points, blend(heads, TS), TS)
    with written_whole(arguments.output) as beside:
        figure.savefig(beside)
    return {"figure": str(arguments.output), "rows": table.num_rows}


def depth(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables
    from centrality.depths import BY_NAME

    if arguments.name not in BY_NAME:
        raise ValueError(f"NAME must be one of {', '.join(BY_NAME)}, got {arguments.name!r}.")
    tables.kind_of(arguments.output)
    _require_folder(arguments.output)
    table = tables.read(arguments.data)
    rows = tables.numbers(tables.select(table, _names(arguments.columns)) if arguments.columns else table)
    model = BY_NAME[arguments.name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=arguments.random_state)
    column = f"depth_{arguments.name}"
    tables.write(tables.with_columns(table, {column: model.fit(rows).score_samples(rows)}), arguments.output)
    return {"scores": str(arguments.output), "rows": table.num_rows, "columns": [column]}


def inspect(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import model_file

    header, arrays = model_file.read(arguments.model)
    weights = sum(array.size for name, array in arrays.items() if name.startswith("network."))
    facts = {"weights": int(weights), "bytes": arguments.model.stat().st_size}
    if header["model"] != "Chain":
        return {**header, **facts}
    described = {"model": "Chain", "format": header["format"], "representation": header["representation"]}
    return {**header["fuse"], **described, **facts}


def demo(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality.demo import run

    run(
        arguments.output,
        progress=sys.stderr.isatty(),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return {"folder": str(arguments.output)}


def _loaded(arguments: argparse.Namespace) -> Any:
    from centrality.chain import Chain, load

    model = load(arguments.model, device=arguments.device)
    if isinstance(model, Chain):
        known = model.representation_.get_params(deep=False)
        asked = {"model": arguments.encoder, "cache": arguments.cache, "corrupt": arguments.corrupt}
        settings = {name: value for name, value in asked.items() if value is not None and name in known}
        if "device" in known:
            settings |= {"device": arguments.device, "progress": sys.stderr.isatty()}
        model.representation_.set_params(**settings)
    return model


def _training_scores(model: Any) -> Any:
    from centrality.chain import Chain

    kept = (model.model_ if isinstance(model, Chain) else model)._training_scores
    if kept is None:
        raise ValueError("This model was saved before training scores were kept: fit it again to watch for drift.")
    return kept


def _what_to_show(model: Any) -> list[str] | None:
    """The one column that says what a row is, if a text or an image is."""
    from centrality.chain import Chain

    if isinstance(model, Chain) and type(model.representation_).__name__ in ("Text", "Images"):
        columns: list[str] | None = model.representation_.columns_
        return columns
    return None


def _finite(rows: Any) -> Any:
    import numpy as np

    return rows[~np.isnan(rows).any(1)]


def _as_plain(drift: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(drift), "p_value": drift.p_value, "effect": drift.effect}


def _warn(text: str) -> None:
    print(f"centrality: {text}", file=sys.stderr, flush=True)


def _summary(model: "FUSE") -> dict[str, Any]:
    return {
        "features": model.n_features_in_,
        "noise_scale": list(model.noise_scale_),
        "global_loss": [model.history_["global"][0], model.history_["global"][-1]],
        "local_loss": [model.history_["local"][0], model.history_["local"][-1]],
    }


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _require_folder(path: Path) -> None:
    """Before the work, not after it: a place to put the result."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {path.parent} does not exist.")
