"""centrality drift: say whether data has changed, against a model's training rows or against older data."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    GIVEN_HELP,
    cluster_options,
    column_names,
    count,
    device_option,
    load_model,
    reading_options,
    require_cluster,
    require_output,
    seed,
    unreadable_option,
)
from centrality.apps.commands._terminal import FAIL, Result, paint, save_figure, shows_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from centrality.analysis.drift import DriftReport, TrainingScores
    from centrality.model.interface import CentralityModel
    from centrality.tables.columns import CellIssues

    Rows = NDArray[np.float64]
    Compared = tuple[CentralityModel, TrainingScores, Rows, Rows | None, CellIssues]

HELP = "has the data changed? Compare rows with those a model was fitted on, or new data with old"
WINDOWS = 20  # about so many, if the user does not say how long they are


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("old", metavar="MODEL|OLD", help="a model (.safetensors), or the data to compare with")
    command.add_argument("new", metavar="NEW", help="the rows in question, in their order")
    command.add_argument(
        "--window", type=count, metavar="N", help="compare every N rows, too (default: about 20 windows)"
    )
    command.add_argument(
        "--plot", type=Path, metavar="FIGURE", help="draw the effect window by window: .png, .svg, .pdf"
    )
    command.add_argument(
        "--fail-on",
        type=effect,
        metavar="EFFECT",
        help=f"exit with status {FAIL} if the data has changed by an effect of at least so much; 0 is any change",
    )
    _series.time_arguments(command, by=False)
    command.add_argument("--given", metavar="a,b", help=f"for OLD NEW: {GIVEN_HELP}")
    command.add_argument(
        "--vectors", metavar="COLUMN", help="for OLD NEW: the vectors in this column stand for the rows"
    )
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="for OLD NEW (default: 0)")
    device_option(command)
    unreadable_option(command)
    cluster_options(command)
    reading_options(command)


def effect(text: str) -> float:
    """Read the size of an effect, from 0 to 1."""
    if not 0 <= float(text) <= 1:
        raise argparse.ArgumentTypeError(f"an effect from 0 to 1 was wanted, got {text}")
    return float(text)


def run(arguments: argparse.Namespace) -> Result:
    """Return what was compared, the effect and p-value of all rows together, and those of each window."""
    from centrality._internal.checks import optional

    if arguments.time is not None or _series.is_series_model(Path(arguments.old)):
        return _series.drift(arguments)
    if arguments.plot is not None:
        optional("matplotlib", "plots")
        require_output(arguments.plot, arguments)
    if require_cluster(arguments, window=arguments.window, given=arguments.given):
        from centrality import distributed

        if Path(arguments.old).suffix != ".safetensors":
            raise InputError(f"--cluster compares rows with a model: MODEL NEW was wanted, got {arguments.old}.")
        arguments.model = Path(arguments.old)
        report = distributed.drift(
            load_model(arguments),
            arguments.new,
            sample=arguments.sample,
            random_state=arguments.random_state,
            address=arguments.cluster,
        )
        report = replace(report, reference=f"training rows of {arguments.old}")
        unreadable = None  # the notes of the cluster count them
    else:
        report, unreadable = _compared(arguments)
    result: Result = {
        "changed": report.changed,
        "compared_with": report.reference,
        "reference_rows": report.reference_rows,
        "rows": report.whole.rows,
        "p_value": report.whole.p_value,
        "effect": report.whole.effect,
        "changes": list(dict.fromkeys(map(str, report.whole.changes()))),
        "windows": [
            {"first": w.first, "last": w.last, "effect": w.drift.effect, "p_value": w.p_value, "changed": w.changed}
            for w in report.windows
        ],
        "text": str(report),
    }
    if report.drawn_from is not None:
        result["drawn_from"] = report.drawn_from
    if unreadable:
        result["unreadable"] = unreadable.cells
    if arguments.fail_on is not None and report.changed:
        effects = [abs(report.whole.effect), *(abs(w.drift.effect) for w in report.windows if w.changed)]
        if max(effects) >= arguments.fail_on or arguments.fail_on == 0:
            arguments.exit_status = FAIL
    if arguments.plot is not None:
        from centrality import plots

        save_figure(plots.drift(report), arguments.plot)
        result["figure"] = str(arguments.plot)
    return result


def _compared(arguments: argparse.Namespace) -> tuple["DriftReport", "CellIssues"]:
    """Return how the new rows compare with the model's training rows or the old rows, and the unreadable cells."""
    from centrality import tables
    from centrality.analysis.drift import compare_windows
    from centrality.bulk.score import units_and_rows
    from centrality.model.reader import reader_of

    against_model = Path(arguments.old).suffix == ".safetensors"
    if against_model:
        arguments.model = Path(arguments.old)
        model = load_model(arguments)
        with tables.open_rows(arguments.new) as source:
            units, rows, unreadable = units_and_rows(model, source, progress=shows_progress(arguments))
        training = model.fitted_.training_scores
        heads = model.fitted_.mixing.squeeze(units)
    else:
        model, training, heads, rows, unreadable = _against_data(arguments)
    window = arguments.window or max(100, -(-len(heads) // WINDOWS))
    reader = reader_of(model)
    report = compare_windows(
        training,
        heads,
        window if window < len(heads) else None,
        f"{'training ' if against_model else ''}rows of {arguments.old}",
        rows=rows,
        names=reader.names_of_vectors(),
        constants=reader.constants(tables.read(arguments.new)) if reader.has_constants() else [],
        threshold=reader.about_threshold(heads, float(model.t)) if against_model else "",
    )
    return report, unreadable


def _against_data(arguments: argparse.Namespace) -> "Compared":
    """Fit a model to one half of the old rows; return the scores of the other half, and the heads of the new rows.

    Only rows that the model was not trained on are compared: new rows that are copies of the first half have no score.
    """
    import numpy as np

    from centrality import tables
    from centrality.analysis.drift import FEWEST, TrainingScores
    from centrality.bulk.adapter import Adapter
    from centrality.chain import Chain
    from centrality.fuse import FUSE
    from centrality.model.fitted import map_valid_rows
    from centrality.network.scaling import dense
    from centrality.representations.table import Table
    from centrality.selection.rank import are_finite_numbers

    old = tables.read(arguments.old)
    new = tables.read(arguments.new)
    if old.num_rows < 4 * FEWEST:
        raise InputError(f"OLD must have at least {4 * FEWEST} rows to compare with, got {old.num_rows}.")
    order = np.random.default_rng(arguments.random_state).permutation(old.num_rows)
    half = old.num_rows // 2
    fuse = FUSE(
        random_state=arguments.random_state,
        device=arguments.device,
        progress=shows_progress(arguments),
        given=None if arguments.given is None else column_names(arguments.given),
    )
    # Cells that cannot be read may be the change in question: they are counted, and do not stop the comparison.
    unreadable_share = 1.0 if arguments.unreadable is None else arguments.unreadable
    table = Table(unreadable=unreadable_share, vectors=arguments.vectors)
    model = fuse if are_finite_numbers(old) and arguments.vectors is None else Chain(table, fuse)
    model.fit(old.take(np.sort(order[:half])))
    training_vectors = Adapter(model, old.column_names).vectors(old.take(order[:half]))
    training_rows = {row.tobytes() for row in np.asarray(dense(training_vectors), dtype=np.float64)}
    adapter = Adapter(model, new.column_names)
    vectors = np.array(dense(adapter.vectors(new)), dtype=np.float64)
    unreadable = adapter.report()
    vectors[[row.tobytes() in training_rows for row in vectors]] = np.nan
    heads = map_valid_rows(vectors, model.fitted_.heads)
    others = dense(Adapter(model, old.column_names).vectors(old.take(order[half:])))
    others = others[~np.isnan(others).any(1)]
    return model, TrainingScores.of(model.fitted_.heads(others), others), heads, vectors, unreadable


def show(result: Result) -> str:
    if "series" in result:
        return _series.show_drift(result)
    heading = "The data has changed." if result["changed"] else "The data has not changed noticeably."
    lines = [paint(heading, "bad" if result["changed"] else "good"), result["text"]]
    return "\n".join([*lines, f"Figure: {result['figure']}"] if "figure" in result else lines)
