"""The command line: parsing and printing, nothing else. Heavy imports wait until a command runs."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality import __version__

if TYPE_CHECKING:
    from centrality.fuse import FUSE

INTERRUPTED = 130  # what shells say for Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 on wrong usage or input."""
    arguments = _parser().parse_args(argv)
    try:
        result = arguments.run(arguments)
    except KeyboardInterrupt:
        print("centrality: interrupted, nothing was written", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ModuleNotFoundError, FloatingPointError) as error:
        print(f"centrality: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2) if arguments.json else arguments.show(result))
    return 0


def fit(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables

    _require_folder(arguments.output)
    table = tables.read(arguments.data)
    rows = tables.select(table, _names(arguments.columns)) if arguments.columns else table
    tables.numbers(rows.slice(0, 1))  # says at once if a column is not made of numbers

    from centrality.fuse import FUSE

    model = FUSE(
        t=arguments.t,
        metric=arguments.metric,
        noise_scale=arguments.noise_scale,
        scaling=arguments.scaling,
        max_steps=arguments.max_steps,
        contamination=arguments.contamination,
        novelty=arguments.novelty,
        device=arguments.device,
        random_state=arguments.random_state,
        progress=sys.stderr.isatty(),
    ).fit(rows)
    model.save(arguments.output)
    return {"model": str(arguments.output), "rows": table.num_rows, **_summary(model)}


def score(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables

    tables.known_suffix(arguments.output)
    _require_folder(arguments.output)
    table = tables.read(arguments.data)

    from centrality.fuse import load

    model = load(arguments.model, device=arguments.device)
    names = getattr(model, "feature_names_in_", None)
    rows = table if names is None else tables.select(table, list(names))
    ts = arguments.t or [model.t]
    scores = model.centrality(rows if names is not None else tables.numbers(rows), t=ts)
    columns = {f"centrality_{t:g}": scores[:, k] for k, t in enumerate(ts)}
    tables.write(tables.with_columns(table, columns), arguments.output)
    return {"scores": str(arguments.output), "rows": table.num_rows, "columns": list(columns)}


def depth(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables
    from centrality.depths import BY_NAME

    if arguments.name not in BY_NAME:
        raise ValueError(f"NAME must be one of {', '.join(BY_NAME)}, got {arguments.name!r}.")
    tables.known_suffix(arguments.output)
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
    return {**header, "weights": int(weights), "bytes": arguments.model.stat().st_size}


def demo(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality.demo import run

    run(
        arguments.output,
        progress=sys.stderr.isatty(),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return {"folder": str(arguments.output)}


def _summary(model: "FUSE") -> dict[str, Any]:
    return {
        "features": model.n_features_in_,
        "noise_scale": list(model.noise_scale_),
        "global_loss": [model.history_["global"][0], model.history_["global"][-1]],
        "local_loss": [model.history_["local"][0], model.history_["local"][-1]],
    }


def _show_fit(result: dict[str, Any]) -> str:
    first, last = zip(result["global_loss"], result["local_loss"], strict=True)
    return (
        f"Fitted {result['rows']:,} rows of {result['features']} columns, "
        f"noise scale {', '.join(f'{eta:.3g}' for eta in result['noise_scale'])}.\n"
        f"Loss, first to last: global {first[0]:.4f} to {last[0]:.4f}, local {first[1]:.4f} to {last[1]:.4f}.\n"
        f"Model: {result['model']}"
    )


def _show_score(result: dict[str, Any]) -> str:
    return f"Scored {result['rows']:,} rows: {', '.join(result['columns'])} in {result['scores']}"


def _show_inspect(result: dict[str, Any]) -> str:
    from centrality.report import Report

    names = result["feature_names"] or [f"{result['features']} columns without names"]
    steps, losses = result["history"]["step"], (result["history"]["global"], result["history"]["local"])
    lines = {
        "model": f"{result['model']}, format {result['format']}, written by centrality {result['version']}",
        "size": f"{result['bytes']:,} bytes, {result['weights']:,} weights",
        "features": f"{result['features']}: {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}",
        "noise scale": ", ".join(f"{eta:.4g}" for eta in result["noise_scale"]),
        "outliers below": f"{result['offset']:.4f} at t = {result['parameters']['t']:g}",
        "losses": f"global {losses[0][-1]:.4f}, local {losses[1][-1]:.4f} after {steps[-1]} steps",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in result["parameters"].items()),
    }
    page = "\n".join(f"{name:>15}  {text}" for name, text in lines.items())
    return f"{page}\n{Report(**result['report'])}" if result.get("report") else page


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="centrality",
        description="How typical is each row of your data, from global (t=0) to local (t=1)?",
    )
    parser.add_argument("--version", action="version", version=f"centrality {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = _command(commands, "fit", fit, _show_fit, "learn from a file of rows: .csv, .parquet, .npy, .npz")
    command.add_argument("data", type=Path, metavar="DATA")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="MODEL", help="a .safetensors file")
    command.add_argument("--columns", metavar="a,b", help="the columns to learn from (default: all)")
    command.add_argument("--t", type=float, default=0.5, help="the model's own t (default: 0.5)")
    command.add_argument("--metric", default="euclidean", help="euclidean, manhattan or cosine")
    command.add_argument(
        "--noise-scale", type=_auto_or_numbers, default="auto", metavar="ETA", help="auto, a number, or several: .5,1"
    )
    command.add_argument("--scaling", default="auto", help="auto, standard or none")
    command.add_argument("--max-steps", type=int, metavar="N", help="the training budget")
    command.add_argument("--contamination", type=_auto_or_number, default="auto", help="share of outliers, or auto")
    command.add_argument("--novelty", action="store_true", help="the rows are known to hold no outliers")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes fits repeatable")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")

    command = _command(commands, "score", score, _show_score, "add centrality_<t> columns to a file of rows")
    command.add_argument("model", type=Path, metavar="MODEL")
    command.add_argument("data", type=Path, metavar="DATA")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="SCORES")
    command.add_argument("--t", type=_numbers, metavar="0,0.5,1", help="one or several (default: the model's own)")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")

    command = _command(commands, "depth", depth, _show_score, "add a classical depth, depth_<NAME>, to a file of rows")
    command.add_argument("name", metavar="NAME", help="mahalanobis, spatial, halfspace, projection, ...")
    command.add_argument("data", type=Path, metavar="DATA")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="SCORES")
    command.add_argument("--columns", metavar="a,b", help="the columns to use (default: all)")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes random directions repeatable")

    command = _command(commands, "inspect", inspect, _show_inspect, "say what is in a model file")
    command.add_argument("model", type=Path, metavar="MODEL")

    command = _command(commands, "demo", demo, lambda _: "", "fit, rank and draw on data that comes with scikit-learn")
    command.add_argument("-o", "--output", type=Path, default=Path("centrality-demo"), metavar="FOLDER")
    return parser


def _command(commands: Any, name: str, run: Any, show: Any, help: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(run=run, show=show)
    return command


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _auto_or_number(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _auto_or_numbers(text: str) -> float | list[float] | str:
    numbers = text if text == "auto" else _numbers(text)
    return numbers[0] if len(numbers) == 1 else numbers


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _require_folder(path: Path) -> None:
    """Before the work, not after it: a place to put the result."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {path.parent} does not exist.")


if __name__ == "__main__":
    sys.exit(main())
