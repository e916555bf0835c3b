"""centrality fit: learn from rows and write a model."""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import (
    DATA,
    GIVEN_HELP,
    auto_or_count,
    auto_or_number,
    auto_or_numbers,
    column_names,
    count,
    device_option,
    import_scikit_learn,
    model_path,
    one_number,
    reading_options,
    require_output,
    seed,
    vectors_options,
)
from centrality.apps.commands._reading import reading_lines
from centrality.apps.commands._terminal import Result, shows_progress

if TYPE_CHECKING:
    import pyarrow as pa

    from centrality.model.interface import CentralityModel
    from centrality.representations.base import Representation

log = logging.getLogger("centrality")
SAMPLE_BEYOND = 5  # times as many rows as a fit needs: then a sample is read, not everything

TEXT_TOO = "Choose them with --columns; or take text, dates and gaps as they are: --represent table"
NUMBERS = "numbers"  # the value of --represent for rows that are numbers already
HELP = f"learn from rows: {DATA}"
# Options that describe a new model.
OF_A_NEW_MODEL = (
    "columns", "represent", "given", "encoder", "pooling", "window", "step", "t", "metric", "noise_scale", "scaling",
    "ensemble", "max_steps", "contamination", "holdout", "novelty",
)  # fmt: skip
# Options that are handed to the representation, under these names.
REPRESENTATION_OPTIONS = ("pooling", "download", "device", "corrupt", "cache", "window", "step")


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a file, a folder, or - for stdin")
    reading_options(command)
    vectors_options(command)
    command.add_argument("-o", "--output", type=model_path, required=True, metavar="MODEL", help="a .safetensors file")
    command.add_argument(
        "--update",
        type=Path,
        metavar="OLD",
        help="go on learning from where this model stands, and say whether its threshold of outliers still holds",
    )
    command.add_argument("--columns", metavar="a,b", help="the columns to learn from (default: all)")
    command.add_argument(
        "--represent",
        metavar="WHAT",
        help="numbers, table (mixed columns, dates, gaps), text:COL, images:COL, series (one a row), series:COL (with "
        "--window); default: numbers if every cell is one, else table",
    )
    command.add_argument("--given", metavar="a,b", help=GIVEN_HELP)
    command.add_argument("--encoder", metavar="NAME", help="the encoder of text or images: a model's name or folder")
    command.add_argument("--pooling", default="auto", help="how text is pooled: cls, mean, max, or auto")
    command.add_argument("--download", action="store_true", help="fetch an encoder's weights if they are not on disk")
    command.add_argument("--cache", metavar="FOLDER", help="keep the vectors of images there")
    command.add_argument("--corrupt", default="refuse", help="images that cannot be read: refuse (default) or skip")
    command.add_argument("--window", type=count, metavar="N", help="cut one long series into windows of this length")
    command.add_argument(
        "--step", type=count, metavar="N", help="the distance from one window to the next (default: half a window)"
    )
    command.add_argument("--sample", type=count, metavar="N", help="learn from N rows (default: 200,000 if very many)")
    command.add_argument("--t", type=one_number, default=0.5, help="the model's own t (default: 0.5)")
    command.add_argument("--metric", default="euclidean", help="euclidean, manhattan or cosine")
    command.add_argument(
        "--noise-scale", type=auto_or_numbers, default="auto", metavar="ETA", help="auto, a number, or several: .5,1"
    )
    command.add_argument("--scaling", default="auto", help="auto, standard or none")
    command.add_argument(
        "--ensemble", type=auto_or_count, default="auto", metavar="N", help="how many networks to train, or auto"
    )
    command.add_argument("--max-steps", type=int, metavar="N", help="the most training steps")
    command.add_argument("--contamination", type=auto_or_number, default="auto", help="share of outliers, or auto")
    command.add_argument("--holdout", type=float, metavar="SHARE", help="rows kept aside, so that p-values are exact")
    command.add_argument("--novelty", action="store_true", help="the rows are known to hold no outliers")
    command.add_argument("--random-state", type=seed, metavar="SEED", help="a seed makes fits repeatable")
    device_option(command)


def run(arguments: argparse.Namespace) -> Result:
    """Return facts about the model: its rows, its losses, and how each column was read, with doubts."""
    import_scikit_learn()
    from centrality.model.reader import reader_of

    require_output(arguments.output, arguments)
    threshold = ""
    if arguments.update is None:
        model, rows, total = learn(arguments)
    else:
        model, rows, total, threshold = _update(arguments)
    model.save(arguments.output)
    fitted = model.fitted_
    global_losses = fitted.history["global"]
    local_losses = fitted.history["local"]
    log.info("Noise scales: %s.", ", ".join(f"{eta:.3g}" for eta in fitted.noise_scale))
    for head, losses in (("global", global_losses), ("local", local_losses)):
        log.info("Loss of the %s head, first to last: %.4f to %.4f.", head, losses[0], losses[-1])
    result: Result = {
        "model": str(arguments.output),
        "rows": total,
        "features": fitted.width,
        "noise_scale": list(fitted.noise_scale),
        "global_loss": [global_losses[0], global_losses[-1]],
        "local_loss": [local_losses[0], local_losses[-1]],
        # Of each head, whether training has taught it something.
        "learned": fitted.report.learned if fitted.report is not None else {},
    }
    if threshold:
        result["threshold"] = threshold
    if total != rows.num_rows:
        result["sampled"] = rows.num_rows  # so many of the rows it learned from
    if facts := reader_of(model).about():
        result["representation"] = facts["reads"]
        result["doubts"] = facts["doubts"]
    return result


def _update(chosen: argparse.Namespace) -> tuple["CentralityModel", "pa.Table", int, str]:
    """Return the model that has gone on learning, its new rows, their number, and whether the threshold still holds."""
    import numpy as np

    from centrality.analysis.drift import threshold_in_words
    from centrality.chain import load_rows_model

    parser = argparse.ArgumentParser()
    arguments(parser)
    changed = [
        f"--{name.replace('_', '-')}" for name in OF_A_NEW_MODEL if getattr(chosen, name) != parser.get_default(name)
    ]
    if changed:
        raise InputError(f"--update goes on with the model as it is: leave out {', '.join(changed)}.")
    rows, total = _rows(chosen)
    model = load_rows_model(chosen.update)
    before = model.fitted_
    after = model.partial_fit(rows).fitted_
    if before.inliers is None or after.inliers is None or not before.knows_offset_for(model.t):
        return model, rows, total, ""
    # Scores of two models have their own scales; people note thresholds as centralities.
    offset = float(before.mixing.squeeze(np.array(before.offset_for(model.t))))
    old = before.mixing.squeeze(before.inlier_scores(model.t))
    new = after.mixing.squeeze(after.inlier_scores(model.t))
    holds = threshold_in_words(offset, new, old).removeprefix("it ")
    return model, rows, total, f"The threshold of before, centrality {offset:.3f}, {holds}"


def learn(arguments: argparse.Namespace) -> tuple["CentralityModel", "pa.Table", int]:
    """Return the fitted model that the arguments describe, the rows it learned from, and the number of all rows.

    Without --represent, the rows choose the model.
    """
    from centrality import tables
    from centrality.chain import Chain
    from centrality.fuse import FUSE
    from centrality.representations import Table
    from centrality.selection.rank import choose_model
    from centrality.tables.files import folder_of

    if arguments.vectors is not None and (arguments.represent is not None or arguments.columns is not None):
        other = "represent" if arguments.represent is not None else "columns"
        raise InputError(f"--vectors {arguments.vectors} says how rows are read: leave out --{other}.")
    representation = _representation(arguments)  # an error about a wrong name comes before the data is read
    rows, total = _rows(arguments)
    representation = representation or _representation(arguments)  # for a folder of images, if none was named
    if arguments.represent == NUMBERS:
        tables.numbers(rows.slice(0, 1), TEXT_TOO)  # raises at once if a column does not hold numbers
    elif arguments.represent == "images" and "path" not in rows.column_names:
        raise tables.TableError("Say which column holds the images: --represent images:COLUMN")
    fuse = FUSE(
        t=arguments.t,
        metric=arguments.metric,
        noise_scale=arguments.noise_scale,
        scaling=arguments.scaling,
        max_steps=arguments.max_steps,
        contamination=arguments.contamination,
        novelty=arguments.novelty,
        given=None if arguments.given is None else column_names(arguments.given),
        holdout=arguments.holdout,
        ensemble=arguments.ensemble,
        device=arguments.device,
        random_state=arguments.random_state,
        progress=shows_progress(arguments),
    )
    model: CentralityModel = fuse
    if arguments.vectors is not None:
        model = Chain(Table(vectors=arguments.vectors), fuse)
    elif arguments.represent is None:
        model = choose_model(rows, fuse, folder_of(arguments.data))
    elif representation is not None:
        model = Chain(representation, fuse)
    return model.fit(rows), rows, total


def _rows(arguments: argparse.Namespace) -> tuple["pa.Table", int]:
    """Return the rows to learn from, a uniform sample if there are very many, and the number of all rows."""
    from centrality import tables
    from centrality.bulk import sample

    with tables.open_rows(arguments.data) as source:
        if source.kind == "images" and arguments.represent is None:
            arguments.represent = "images"
        columns = None  # all
        if arguments.columns is not None:
            columns = column_names(arguments.columns)
        elif getattr(arguments, "leave_out", None) is not None:
            columns = [name for name in source.schema.names if name != arguments.leave_out]
        wanted = set(columns or source.schema.names)
        widths = [getattr(field.type, "list_size", 1) for field in source.schema if field.name in wanted]  # of vectors
        size = arguments.sample or sample.enough(sum(widths))
        total = 0 if arguments.window is not None else source.rows or 0  # one long series is never sampled
        if total > (size if arguments.sample else SAMPLE_BEYOND * size):
            import numpy as np

            rng = np.random.default_rng(arguments.random_state)
            return sample.sample(source, size, rng, columns), total
        table = source.table()
    return tables.select(table, columns) if columns else table, table.num_rows


def _representation(arguments: argparse.Namespace) -> "Representation | None":
    """Return the representation that --represent names, or None if it names none."""
    if arguments.represent in (None, NUMBERS):
        return None
    from centrality import representations

    kind, _, column = arguments.represent.partition(":")
    by_kind = {representation.kind: representation for representation in representations.all_representations()}
    spelled = f"{kind}:COLUMN" if column else kind
    if kind not in by_kind or spelled not in by_kind[kind].spellings:
        spellings = ", ".join([NUMBERS, *(spelling for other in by_kind.values() for spelling in other.spellings)])
        raise InputError(f"--represent must be one of {spellings}, got {arguments.represent!r}.")
    options = {"model": arguments.encoder, "progress": shows_progress(arguments)}
    options |= {name: getattr(arguments, name) for name in REPRESENTATION_OPTIONS}
    return by_kind[kind].from_command_line(column, options)


def show(result: Result) -> str:
    sampled = f"{result['sampled']:,} of " if "sampled" in result else ""
    count = len(result.get("representation", ())) or result["features"]
    columns = f"{count} columns" if count > 1 else "one column"
    how_read = reading_lines(result["representation"], result["doubts"]) if "representation" in result else []
    return (
        f"{_how_it_went(result['learned'])} It learned from {sampled}{result['rows']:,} rows of {columns}.\n"
        + "".join(f"{line}\n" for line in how_read)
        + "".join(f"{result[name]}\n" for name in ("threshold",) if name in result)
        + f"Model: {result['model']}"
    )


def show_quietly(result: Result) -> str:
    """Name the model, and nothing else unless training failed."""
    lines = [] if all(result["learned"].values()) else [_how_it_went(result["learned"])]
    return "\n".join([*lines, f"Model: {result['model']}"])


def _how_it_went(learned: dict[str, bool]) -> str:
    """Say whether both heads have learned; `report()` says what to do where one has not."""
    failed = [head for head, did in learned.items() if not did]
    if not failed:
        return "Training worked."
    return f"Training did not work: the {' and the '.join(failed)} head learned nothing (report() says what to try)."
