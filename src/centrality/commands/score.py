"""centrality score: add centrality columns to rows, from a file or a stream."""

import argparse
import sys
from pathlib import Path
from typing import Any

from centrality.commands._arguments import count, loaded, model_and_data, numbers, require_folder, show_scores

HELP = "add centrality_<t> columns to rows"
show = show_scores


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="SCORES",
        help="a file; a folder ending in / for one file per input file; - for stdout, as the rows come",
    )
    command.add_argument("--t", type=numbers, metavar="0,0.5,1", help="one or several (default: the model's own)")
    command.add_argument("--p-values", action="store_true", help="add p_value_<t>; the model needs fit --holdout")
    command.add_argument("--explain", action="store_true", help="add reasons_<t>: the columns that lower it the most")
    command.add_argument("--watch-drift", action="store_true", help="warn when rows stop scoring as in training")
    command.add_argument("--drift-window", type=count, default=5000, metavar="N", help="rows judged together")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    output = arguments.output or ("-" if arguments.data == "-" else None)
    if output is None:
        raise ValueError("Say where the scores go: -o SCORES (a file, a folder ending in /, or - for the terminal).")
    if output != "-" and not output.endswith("/"):
        from centrality import tables

        tables.kind_of(output)
        require_folder(Path(output))
    model = loaded(arguments)

    from centrality import scoring

    watch = None
    if arguments.watch_drift:
        watch = scoring.Watch(_training_scores(model), arguments.drift_window, _warn)
    inliers = getattr(model, "model_", model).calibration_heads() if arguments.p_values else None
    shown = sys.stderr.isatty() and output != "-"
    job = scoring.Job(
        model, arguments.t or [model.t], watch, progress=shown, inliers=inliers, explain=arguments.explain
    )
    rows = scoring.score(job, arguments.data, output)
    result = {"scores": output, "rows": rows, "columns": job.names}
    if watch is not None:
        result["drift"] = [_as_plain(drift) for drift in watch.found]
    return result


def _training_scores(model: Any) -> Any:
    from centrality.chain import Chain

    kept = (model.model_ if isinstance(model, Chain) else model)._training_scores
    if kept is None:
        raise ValueError("This model was saved before training scores were kept: fit it again to watch for drift.")
    return kept


def _as_plain(drift: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(drift), "p_value": drift.p_value, "effect": drift.effect}


def _warn(text: str) -> None:
    print(f"centrality: {text}", file=sys.stderr, flush=True)
