"""centrality score: add centrality columns to rows, from a file or a stream."""

import argparse
import sys
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    DATABASES,
    count,
    load_model,
    model_and_data,
    numbers,
    require_output,
    show_scores,
    table_output_options,
)
from centrality.apps.commands._terminal import Result, harmless, shows_progress

if TYPE_CHECKING:
    from centrality.analysis.drift import DriftMonitor
    from centrality.bulk.chunks import Chunk, Runner, Scored
    from centrality.bulk.score import ScoringJob

WORTH_WORKERS = 1_000_000  # with fewer rows, one process is done before workers have started

HELP = "add the column centrality to rows, or one for each t: centrality_t25 at t = .25"


def show(result: Result) -> str:
    """Say how many rows were scored, and whether the threshold of outliers still holds for them."""
    lines = [show_scores(result)]
    if "threshold" in result:
        lines.append(f"The model's threshold {result['threshold'].removeprefix('it ')}")
    return "\n".join(lines)


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="SCORES",
        help="a file; a folder ending in / for one file per input file; - for stdout, as the rows come; a database",
    )
    table_output_options(command)
    command.add_argument("--t", type=numbers, metavar="0,0.5,1", help="one or several (default: the model's own)")
    command.add_argument(
        "--p-values",
        action="store_true",
        help="add p_value, or p_value_t25: the share of typical rows that look as odd; exact if fit had --holdout, "
        "close to it otherwise",
    )
    command.add_argument(
        "--severity",
        action="store_true",
        help="add severity, or severity_t25: one in how many ordinary rows is as odd; extrapolated where that is more "
        "than there are calibration rows, up to ten times as many",
    )
    command.add_argument(
        "--intervals",
        action="store_true",
        help="add p_value_low and p_value_high: the true share of typical rows that look as odd lies between (95%%)",
    )
    command.add_argument(
        "--standard-error",
        action="store_true",
        help="add standard_error: how much the centrality would change with other random numbers; of an ensemble only",
    )
    command.add_argument(
        "--explain", action="store_true", help="add reasons, or reasons_t25: the columns that lower it"
    )
    command.add_argument("--watch-drift", action="store_true", help="warn when rows stop scoring as in training")
    command.add_argument("--drift-window", type=count, default=5000, metavar="N", help="rows judged together")
    command.add_argument(
        "--on-error",
        choices=("stop", "skip", "null"),
        default="stop",
        help="a row that cannot be read or scored: stop there (default), leave it out, or leave its scores empty; how "
        "many there were is said",
    )
    _series.time_arguments(command)
    command.add_argument(
        "--follow", action="store_true", help="with a model of series and -: judge each line as it comes, as JSON"
    )
    command.add_argument(
        "--state", type=Path, metavar="FILE", help="with --follow: the last moments, to go on from after a restart"
    )
    folders = command.add_argument_group("from folder to folder")
    folders.add_argument("--resume", action="store_true", help="leave files that hold these scores already")
    folders.add_argument("--workers", type=count, metavar="N", help="processes (default: one a core, if rows are many)")
    folders.add_argument("--split", type=count, metavar="ROWS", help="cut larger files into several chunks of work")
    folders.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="score on a Ray cluster: its address, auto for the one this machine belongs to, local for a new one here",
    )


def run(arguments: argparse.Namespace) -> Result:
    if arguments.follow or _series.is_series(arguments):
        return _series.score(arguments)
    output = arguments.output or ("-" if arguments.data == "-" else None)
    if output is None:
        raise InputError("Say where the scores go: -o SCORES (a file, a folder ending in /, or - for the terminal).")
    in_database = output.startswith(DATABASES)
    if not in_database and output.partition("?")[0].endswith("/"):
        return _score_folder(arguments, output)
    if arguments.resume or arguments.workers or arguments.split or arguments.cluster:
        raise InputError(
            "--resume, --workers, --split and --cluster are for a folder of scores, one file for each chunk of work: "
            f"-o FOLDER/ (ending in /) was wanted, got {output}."
        )
    if output != "-":
        from centrality import tables
        from centrality.tables import files

        tables.kind_to_write(output)
        if in_database or not files.is_remote(output):
            require_output(output, arguments)

    from centrality.bulk.score import score

    job = _job(arguments, progress=shows_progress(arguments) and output != "-")
    scored = score(job, arguments.data, output)
    result = _result(output, scored, job.names, job.watch)
    fitted = job.model.fitted_
    if fitted.inliers is not None and scored.with_score:
        from centrality.analysis.drift import calls_in_words

        calibration_scores = fitted.inlier_scores(job.model.t)
        expected = int((calibration_scores < fitted.offset_for(job.model.t)).sum())
        result["threshold"] = calls_in_words((scored.called, scored.with_score), (expected, len(calibration_scores)))
    return result


def _job(arguments: argparse.Namespace, *, progress: bool = False) -> "ScoringJob":
    model = load_model(arguments)

    from centrality.analysis.drift import DriftMonitor
    from centrality.bulk.score import ScoringJob
    from centrality.model.reader import reader_of

    watch = None
    if arguments.watch_drift:
        watch = DriftMonitor(
            model.fitted_.training_scores, arguments.drift_window, _warn, reader_of(model).names_of_vectors()
        )
    if arguments.standard_error:
        model.fitted_.require_ensemble()
    if arguments.p_values or arguments.severity or arguments.intervals:
        model.fitted_.calibration_rows()  # if there are none, say so before the work
    ts = arguments.t or [model.t]
    return ScoringJob(
        model,
        ts,
        watch,
        progress,
        arguments.p_values,
        intervals=arguments.intervals,
        standard_error=arguments.standard_error,
        explain=arguments.explain,
        resume=arguments.resume,
        on_error=arguments.on_error,
        severity=arguments.severity,
    )


@dataclass(frozen=True)
class ScoreChunk:
    """Scores chunks with the model that the arguments name; each process loads it once."""

    arguments: argparse.Namespace

    @cached_property
    def job(self) -> "ScoringJob":
        return _job(self.arguments)

    def __call__(self, chunk: "Chunk") -> tuple["Scored", list[str]]:
        from centrality.bulk.score import score_chunk

        return score_chunk(self.job, chunk), self.job.names


def _score_folder(arguments: argparse.Namespace, folder: str) -> Result:
    """Write one file of scores for each chunk of work. If worker processes do it, this one does not load torch."""
    if arguments.data.startswith(DATABASES):
        raise InputError(f"-o wanted a file or a table for the rows of a database, got the folder {folder}")
    if arguments.data == "-":
        raise InputError("Scores of stdin are one stream: -o - or a file was wanted, not a folder.")
    from centrality.bulk import chunks

    progress = shows_progress(arguments)
    if arguments.cluster:
        if arguments.watch_drift or arguments.workers:
            raise InputError("--cluster decides itself who works when: leave out --workers and --watch-drift.")
        from centrality import distributed

        job = _job(arguments)
        plan = chunks.plan(arguments.data, folder, arguments.split)
        scored = distributed.do_job(job, plan, arguments.cluster, progress=progress)
        return _result(folder, scored, job.names)
    if arguments.watch_drift and arguments.workers:
        raise InputError("--watch-drift reads rows in their order, in one process: leave out --workers.")
    work = ScoreChunk(arguments)
    plan = chunks.plan(arguments.data, folder, arguments.split)
    workers = 1
    if not arguments.watch_drift:
        from centrality._internal import processes
        from centrality._internal.devices import count_cores

        rows = sum(chunk.rows or 0 for chunk in plan)
        workers = min(arguments.workers or (count_cores() if rows >= WORTH_WORKERS else 1), len(plan))
    runner: Runner = partial(processes.run, workers=workers) if workers > 1 else chunks.in_turn
    results = chunks.run_chunks(work, plan, runner, progress=progress)
    scored = chunks.Scored.all_of(part for part, _ in results)
    watch = work.job.watch if arguments.watch_drift else None
    return _result(folder, scored, results[0][1], watch)


def _result(output: str, scored: "Scored", columns: list[str], watch: "DriftMonitor | None" = None) -> Result:
    """Return the result; name the cells that could not be read, in it and on stderr, and the drift that was seen."""
    result: Result = {"scores": output, "rows": scored.rows, "columns": columns}
    for note in scored.unreadable.notes():
        _warn(f"note: {note}")
    if scored.left_out:
        first = f"; the first: {scored.faults[0]}" if scored.faults else ""
        _warn(f"note: {scored.left_out:,} rows could not be read or scored{first}")
        result["left_out"] = scored.left_out
    if scored.unreadable:
        result["unreadable"] = scored.unreadable.cells
    if watch is not None:
        result["drift"] = [asdict(drift) | {"p_value": drift.p_value, "effect": drift.effect} for drift in watch.drifts]
    return result


def _warn(text: str) -> None:
    print(harmless(f"centrality: {text}"), file=sys.stderr, flush=True)
