"""The command line: parsing and printing, nothing else. Heavy imports wait until a command runs."""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from centrality import __version__, commands

DATA = ".csv, .tsv, .jsonl (also .gz), .parquet, .arrow, .npy, .npz, or a folder of .parquet files or of images"
INTERRUPTED, UNREAD = 130, 141  # what shells say for Ctrl-C, and for output that nobody reads any more


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 on wrong usage or input."""
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _note
            result = arguments.run(arguments)
    except KeyboardInterrupt:
        print("centrality: interrupted, nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return UNREAD
    except (ValueError, TypeError, OSError, ModuleNotFoundError, FloatingPointError) as error:
        print(f"centrality: {error}", file=sys.stderr)
        return 2
    text = json.dumps(result, indent=2, default=str) if arguments.json else arguments.show(result)
    print(text, file=sys.stderr if result.get("scores") == "-" else sys.stdout)
    return 0


def _note(message: Any, category: Any, *_: Any, **__: Any) -> None:
    print(f"centrality: note: {message}", file=sys.stderr)


def _show_fit(result: dict[str, Any]) -> str:
    first, last = zip(result["global_loss"], result["local_loss"], strict=True)
    return (
        f"Fitted {result['rows']:,} rows of {result['features']} columns, "
        f"noise scale {', '.join(f'{eta:.3g}' for eta in result['noise_scale'])}.\n"
        f"Loss, first to last: global {first[0]:.4f} to {last[0]:.4f}, local {first[1]:.4f} to {last[1]:.4f}.\n"
        + "".join(f"{name}: {said}\n" for name, said in result.get("representation", {}).items())
        + f"Model: {result['model']}"
    )


def _show_score(result: dict[str, Any]) -> str:
    return f"Scored {result['rows']:,} rows: {', '.join(result['columns'])} in {result['scores']}"


def _show_rank(result: dict[str, Any]) -> str:
    from centrality import ranking

    lines = []
    for heading, key in (("The most central", "central"), ("The most peripheral", "peripheral")):
        lines += [f"{heading} of {result['rows']:,} rows at t = {result['t']:g}", "      row  score   t 0-1  holds"]
        lines += [ranking.shown(row, result["shows"]) for row in result[key]] + [""]
    return "\n".join(lines[:-1])


def _show_plot(result: dict[str, Any]) -> str:
    return f"Drew {result['rows']:,} rows: {result['figure']}"


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
    if "representation" in result:
        described = result["representation"]
        lines["representation"] = described["kind"]
        lines |= {f"· {name}"[:24]: said for name, said in described["columns"].items()}
    width = max(15, *map(len, lines))
    page = "\n".join(f"{name:>{width}}  {text}" for name, text in lines.items())
    return f"{page}\n{Report(**result['report'])}" if result.get("report") else page


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="centrality",
        description="How typical is each row of your data, from global (t=0) to local (t=1)?",
    )
    parser.add_argument("--version", action="version", version=f"centrality {__version__}")
    commands_ = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    _add_fit(commands_)
    _add_score(commands_)

    command = _command(commands_, "rank", commands.rank, _show_rank, "show the most central and most peripheral rows")
    _model_and_data(command)
    command.add_argument("--top", type=_count, default=20, metavar="N", help="rows of each kind (default: 20)")
    command.add_argument("--t", type=float, help="default: the model's own")

    about = "add a classical depth, depth_<NAME>, to a file of rows"
    command = _command(commands_, "depth", commands.depth, _show_score, about)
    command.add_argument("name", metavar="NAME", help="mahalanobis, spatial, halfspace, projection, ...")
    command.add_argument("data", type=Path, metavar="DATA")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="SCORES")
    command.add_argument("--columns", metavar="a,b", help="the columns to use (default: all)")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes random directions repeatable")

    about = "draw contours (two columns), a map coloured by centrality, or profiles along t"
    command = _command(commands_, "plot", commands.plot, _show_plot, about)
    command.add_argument("kind", choices=("contours", "map", "profile"))
    _model_and_data(command)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FIGURE", help=".png, .svg or .pdf")
    command.add_argument("--method", default="pca", help="of a map: pca, or umap (default: pca)")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes a umap repeatable")

    command = _command(commands_, "inspect", commands.inspect, _show_inspect, "say what is in a model file")
    command.add_argument("model", type=Path, metavar="MODEL")

    about = "fit, rank and draw on data that comes with scikit-learn"
    command = _command(commands_, "demo", commands.demo, lambda _: "", about)
    command.add_argument("-o", "--output", type=Path, default=Path("centrality-demo"), metavar="FOLDER")
    return parser


def _add_fit(commands_: Any) -> None:
    command = _command(commands_, "fit", commands.fit, _show_fit, f"learn from rows: {DATA}")
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
    command.add_argument("--window", type=_count, metavar="N", help="of a long series: the windows' length")
    command.add_argument("--step", type=_count, metavar="N", help="from one window to the next (default: half of it)")
    command.add_argument("--t", type=float, default=0.5, help="the model's own t (default: 0.5)")
    command.add_argument("--metric", default="euclidean", help="euclidean, manhattan or cosine")
    command.add_argument(
        "--noise-scale", type=_auto_or_numbers, default="auto", metavar="ETA", help="auto, a number, or several: .5,1"
    )
    command.add_argument("--scaling", default="auto", help="auto, standard or none")
    command.add_argument("--max-steps", type=int, metavar="N", help="the training budget")
    command.add_argument("--contamination", type=_auto_or_number, default="auto", help="share of outliers, or auto")
    command.add_argument("--holdout", type=float, metavar="SHARE", help="rows kept aside, so that scores have p-values")
    command.add_argument("--novelty", action="store_true", help="the rows are known to hold no outliers")
    command.add_argument("--random-state", type=int, metavar="SEED", help="a seed makes fits repeatable")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")


def _add_score(commands_: Any) -> None:
    command = _command(commands_, "score", commands.score, _show_score, "add centrality_<t> columns to rows")
    _model_and_data(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="SCORES",
        help="a file; a folder ending in / for one file per input file; - for stdout, as the rows come",
    )
    command.add_argument("--t", type=_numbers, metavar="0,0.5,1", help="one or several (default: the model's own)")
    command.add_argument("--p-values", action="store_true", help="add p_value_<t>; the model needs fit --holdout")
    command.add_argument("--watch-drift", action="store_true", help="warn when rows stop scoring as in training")
    command.add_argument("--drift-window", type=_count, default=5000, metavar="N", help="rows judged together")


def _model_and_data(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL")
    command.add_argument("data", metavar="DATA", help=f"{DATA}; or - for stdin (CSV, JSON lines or an Arrow stream)")
    command.add_argument("--encoder", metavar="NAME", help="where the model's encoder is now, if its folder has moved")
    command.add_argument("--cache", metavar="FOLDER", help="keep the vectors of images there")
    command.add_argument("--corrupt", metavar="HOW", help="images that cannot be read: refuse or skip")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")


def _command(commands_: Any, name: str, run: Any, show: Any, help: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands_.add_parser(name, help=help, description=help)
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(run=run, show=show)
    return command


def _count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0 was wanted, got {text}")
    return int(text)


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _auto_or_number(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _auto_or_numbers(text: str) -> float | list[float] | str:
    numbers = text if text == "auto" else _numbers(text)
    return numbers[0] if len(numbers) == 1 else numbers


if __name__ == "__main__":
    sys.exit(main())
