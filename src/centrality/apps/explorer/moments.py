"""What a page shows of series: its rows are moments, with a timeline below the map.

On the map, each moment lies where the course of the channels around it puts it, so that alike courses lie together.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError
from centrality.apps.explorer.content import Column, columns_of, row_keys
from centrality.apps.explorer.layout import lay_out, neighbours_of
from centrality.apps.explorer.session import Checks, Explained
from centrality.apps.explorer.view import MOST_COLUMNS, MOST_ROWS, View
from centrality.network.calibration import Mixing
from centrality.series import Timeline
from centrality.series.reading import Recording, read

STEPS = 12  # moments of a course, evenly spaced over a window, that place a moment on the map
SIGNALS = 4  # principal ones of many channels
MILLISECONDS = 1000
OF_HEADS = Mixing(None)  # both units are the centrality itself


def view_of_moments(
    model: Timeline,
    table: pa.Table,
    *,
    fitted_here: bool = False,
    columns: Sequence[str] | None = None,
    on: str = "auto",
    random_state: int | None = 0,
    title: str = "",
    key: str | None = None,
    progress: bool = False,
    defer_umap: bool = False,
    kept_map: Path | None = None,
) -> View:
    """Return what a page shows of the moments in a table with one column for each channel.

    `fitted_here` says that the model was fitted on this table: then it is not judged again. The other options are those
    of `view_of`. Moments that the model does not judge, as in a long gap, are not shown.
    """
    if table.num_rows > MOST_ROWS:
        raise InputError(f"The explorer shows up to {MOST_ROWS:,} rows, got {table.num_rows:,}: take a part of them.")
    lacking = [name for name in model.channels_ if name not in table.column_names]
    if lacking:
        raise InputError(
            f"A page of series wants a column for each channel, but {lacking[0]!r} is none: pivot the table, one row "
            "for each time."
        )
    recording = read(table, model.time, model.by, model.channels_)
    judged = None if fitted_here else table
    centrality = model.centrality(judged)
    rows = np.flatnonzero(np.isfinite(centrality))
    units = np.column_stack([centrality[rows], centrality[rows]])
    courses = _courses(recording, model)[rows]
    layout = lay_out(courses, table, on, random_state, progress=progress, defer_umap=defer_umap, map_file=kept_map)
    time, all_columns = _columns(table, recording, model, columns)
    blame = model.blame(judged)[rows]
    oddest = np.argsort(units[:, 0], kind="stable")[: max(1, len(rows) // 50)]
    if len(rows) < table.num_rows:
        for k, column in enumerate(all_columns):
            texts = tuple(column.texts[row] for row in rows) if column.texts else ()
            values = column.values[rows] if len(column.values) else column.values
            all_columns[k] = replace(column, values=values, texts=texts)
    typical = units.max(0)

    def reasons(chosen: NDArray[np.intp]) -> Explained:
        """Say what each channel takes from a moment's centrality: its share of the blame."""
        lost = typical - units[chosen]  # (k, 2)
        parts = -lost[:, :, None] * blame[chosen][:, None, :]
        return Explained(parts, units[chosen], np.broadcast_to(typical, (len(chosen), 2)))

    return View(
        title=title or "Centrality",
        axes=layout.axes,
        points=layout.points,
        units=units,
        rows=rows,
        t=0.5,
        mixing=OF_HEADS,
        columns=tuple(all_columns),
        own_scales=layout.own_scales,
        features=model.channels_,
        reasons=reasons,
        main_features=tuple(model.channels_[k] for k in np.argsort(-blame[oddest].mean(0), kind="stable")),
        neighbours=neighbours_of(courses, units[:, 0]),
        keys=tuple(row_keys(table, key)[row] for row in rows) if key is not None else (),
        cells=lambda chosen: table.take(rows[chosen]),
        better_layout=layout.better_layout,
        jobs=None if recording.time is None else Checks(table, {"time": recording.time, "by": model.by}),
        timeline={"time": time, "by": model.by or "", "channels": list(model.channels_)},
    )


def _columns(
    table: pa.Table, recording: Recording, model: Timeline, names: Sequence[str] | None
) -> tuple[str, list[Column]]:
    """Return the name of the column of times, and the columns to show: times and channels as numbers, others too."""
    time = recording.time or "moment"
    seconds = recording.of_rows([track.times for track in recording.tracks])
    values = recording.of_rows([track.values for track in recording.tracks])
    wanted = list(dict.fromkeys([*filter(None, [recording.time, model.by]), *model.channels_]))
    others = table.column_names if names is None else list(names)
    chosen = tables.select(table, list(dict.fromkeys([*wanted, *others]))[: max(MOST_COLUMNS, len(wanted))])
    plain = {column.name: column for column in columns_of(chosen, chosen.num_columns)}
    plain[time] = Column(
        time, "date" if recording.dated else "number", seconds * MILLISECONDS if recording.dated else seconds
    )
    for name in model.channels_:
        if plain[name].kind != "number":
            plain[name] = Column(name, "number", values[:, recording.channels.index(name)])
    return time, list(plain.values())


def _courses(recording: Recording, model: Timeline) -> NDArray[np.float32]:  # (rows, STEPS * signals)
    """Return for each row how the channels run around it: a few moments of a window, in deviations.

    Of many channels, the principal signals are taken.
    """
    channels = [recording.channels.index(name) for name in model.channels_]
    offsets = np.round(np.linspace(-model.window_ / 2, model.window_ / 2, STEPS)).astype(np.intp)
    scaled = []
    for track in recording.tracks:
        values = track.values[:, channels]
        values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
        scaled.append(np.nan_to_num((values - values.mean(0)) / np.maximum(values.std(0), 1e-12)).clip(-10, 10))
    if len(channels) > SIGNALS:
        directions = np.linalg.eigh(sum(one.T @ one for one in scaled))[1][:, ::-1][:, :SIGNALS]
        scaled = [one @ directions for one in scaled]
    courses = []
    for signals in scaled:
        places = np.clip(np.arange(len(signals))[:, None] + offsets, 0, len(signals) - 1)
        courses.append(signals.astype(np.float32)[places].reshape(len(signals), -1))
    return np.asarray(recording.of_rows(cast("Sequence[NDArray[np.float64]]", courses)), dtype=np.float32)
