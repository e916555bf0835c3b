"""Read a table as series: find its time column, put its rows in order on even steps, and note what was done.

Rows of a file are seldom a series yet. Times may be texts in some zone, unsorted, repeated, uneven, or missing; values
may be texts. Whatever is done about that is a note, and every row of the file knows its moment afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.input import in_memory
from centrality.representations.base import ItemsLike, as_arrow, is_frame
from centrality.representations.dates import learn_format, read_dates, zone_of
from centrality.tables.columns import NO_DATE, TableError, first_few, is_number, is_text, numbers, require
from centrality.tables.written_numbers import learn_writing

CLOCKS_GO_BACK = (3, 4, 9, 10, 11)  # months: April and before in the south, from September on in the north
BRIDGED = 60  # steps without a value that a straight line may bridge; a longer gap parts the series
FEWEST = 100  # moments: fewer do not say what is usual, and an alarm from them is worse than none
TIME_NAMES = ("time", "timestamp", "datetime", "date", "ts", "epoch", "when")
EPOCHS = {1e9: "seconds", 1e12: "milliseconds", 1e15: "microseconds", 1e18: "nanoseconds"}  # of a time since 1973
ON_THE_GRID = 0.25  # of a step: a row that is no farther from its moment has only been jolted
ALIKE = 1e-6  # of a step
MOSTLY = 0.9  # the share of rows on the grid from which steps are even
READ_TOGETHER = 1_000_000  # rows
UNITS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"), (1e-3, "millisecond"))

Values = NDArray[np.float64]
Places = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Track:
    """One series on even steps; a long gap is a stretch of BRIDGED + 1 moments without values."""

    name: str  # the value of `by`; empty without one
    clock: Values | float  # the time of each moment in seconds since 1970, or of the first if steps are alike
    values: Values  # (n, channels), NaN where nothing is known
    step: float

    @property
    def times(self) -> Values:
        """Return the time of each moment, (n,): seconds since 1970, or numbers where times are no dates."""
        return np.asarray(self.time_of(np.arange(len(self.values))))

    def time_of(self, moments: Any) -> Any:
        """Return the time of a moment, or the times of several."""
        return self.clock + self.step * moments if isinstance(self.clock, float) else self.clock[moments]


@dataclass(frozen=True)
class Recording:
    """The series of a table, and where its rows are in them."""

    tracks: Sequence[Track]
    channels: tuple[str, ...]
    track_of_row: Places  # -1 where the row has no time
    moment_of_row: Places
    time: str | None  # the name of the time column; None: rows stand in their order
    dated: bool  # times are dates
    notes: list[str] = field(default_factory=list)
    rows_are_moments: bool = False  # of the only series, in their order

    @cached_property
    def _offsets(self) -> Places:
        """Return where each track begins, if all follow each other."""
        return np.cumsum([0, *(len(track.values) for track in self.tracks)])

    @cached_property
    def _place_of_row(self) -> Places:
        """Return each row's place among the moments of all tracks; -1 for rows without a time."""
        return np.where(self.track_of_row < 0, -1, self._offsets[self.track_of_row] + self.moment_of_row)

    @cached_property
    def _rows_by_place(self) -> Places:
        return np.argsort(self._place_of_row, kind="stable")

    def rows_of(self, track: int, first: int, last: int) -> Places:
        """Return the rows of the table that are these moments of a track."""
        if self.rows_are_moments:
            return np.arange(first, last + 1)
        ends = self._offsets[track] + np.array([first, last + 1])
        begin, end = np.searchsorted(self._place_of_row, ends, sorter=self._rows_by_place)
        return np.sort(self._rows_by_place[begin:end])

    def of_rows(self, of_moments: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what there is for each track's moments, for each row of the table; NaN for rows without a time."""
        if self.rows_are_moments:
            return of_moments[0]
        rows = np.concatenate(of_moments)[self._place_of_row]
        rows[self._place_of_row < 0] = np.nan
        return rows

    def written(self, time: float) -> str:
        """Write a time as the reader would."""
        return write_time(time, dated=self.dated)


def write_time(time: float, *, dated: bool) -> str:
    """Write a date without what is zero at its end; a number as it is.

    >>> write_time(1404172800.0, dated=True), write_time(1404174600.0, dated=True), write_time(17.0, dated=False)
    ('2014-07-01', '2014-07-01 00:30', '17')
    """
    if not dated:
        return f"{time:.10g}"
    moment = np.datetime64(round(time * 1e3), "ms").item()
    if moment.microsecond:
        return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"
    if moment.second:
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{moment:%Y-%m-%d %H:%M}" if moment.hour or moment.minute else f"{moment:%Y-%m-%d}"


def write_step(step: float, *, dated: bool) -> str:
    """Write how often there is a row.

    >>> write_step(60.0, dated=True), write_step(1800.0, dated=True), write_step(2.0, dated=False)
    ('a minute', 'every 30 minutes', 'every 2')
    """
    if not dated:
        return f"every {step:.6g}"
    size, name = next(((size, name) for size, name in UNITS if step >= 0.999 * size), UNITS[-1])
    count = step / size
    if abs(count - 1) < 1e-3:
        return f"an {name}" if name == "hour" else f"a {name}"
    return f"every {count:.4g} {name}s"


def read(
    frame: ItemsLike, time: str | None = None, by: str | None = None, channels: Sequence[str] | None = None
) -> Recording:
    """Return the series of a table, of an array (moments, channels) or of a list of numbers.

    Without `time` a column of times is looked for; where there is none, rows are moments in their order. `by` names the
    column that tells series apart. `channels`, those of a fitted model, must be there.
    """
    notes: list[str] = []
    table, time = _as_table(frame, time)
    for place, column in enumerate(table.schema):
        if is_text(column.type) and not pa.types.is_string(column.type):  # pandas gives large ones
            table = table.set_column(place, column.name, table[column.name].cast(pa.string()))
    time = find_time(table) if time is None else time
    require(table.column_names, [name for name in (time, by) if name is not None])
    seconds, dated = (None, False) if time is None else _times(time, table[time], notes)
    others = [name for name in table.column_names if name not in (time, by)]
    long = None if seconds is None or by is not None or channels is not None else _long_format(table, others, seconds)
    # A fitted model's channels may be values of a column here, instead of columns.
    is_long = channels is not None and len(others) == 2 and not set(channels) & set(others)
    if long is not None or is_long:
        name, value = long if long is not None else (others[0], others[1])
        return _read_long(table, time, seconds, name=name, value=value, channels=channels, dated=dated, notes=notes)
    names, values = _channels(table, others, channels, notes)
    groups: Places = np.broadcast_to(np.int32(0), len(values))
    labels = [""]
    if by is not None:
        codes = pc.fill_null(table[by].cast(pa.string()), "(missing)").combine_chunks().dictionary_encode()
        groups = codes.indices.to_numpy().astype(np.int32)
        labels = codes.dictionary.to_pylist()
    return _tracks(names, values, seconds, groups, labels, time=time, dated=dated, notes=notes)


def find_time(table: pa.Table) -> str | None:
    """Return the column that says when: dates, or numbers that rise under the name of a time. None if there is none."""
    for name in table.column_names:
        kind = table[name].type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return str(name)
        if is_text(kind) and learn_format(table[name])[0] is not None:
            return str(name)
    for name in table.column_names:
        if name.lower() in TIME_NAMES and is_number(table[name].type) and table.num_rows > 1:
            values = numbers(table.select([name]))[:, 0]
            if (np.diff(values) > 0).mean() > MOSTLY:
                return str(name)
    return None


def find_series(table: pa.Table) -> tuple[str, str] | None:
    """Return the column of times and how often there is a row, if rows are moments of one series; else None."""
    time = find_time(table)
    if time is None or table.num_rows < FEWEST:
        return None
    seconds, dated = _times(time, table[time], [])
    differences = np.diff(seconds)
    step = float(np.nanmedian(differences)) if np.isfinite(differences).any() else 0.0
    even = step > 0 and np.mean(np.abs(differences / step - 1) <= ON_THE_GRID) >= MOSTLY
    return (time, write_step(step, dated=dated)) if even else None


def _as_table(frame: ItemsLike, time: str | None) -> tuple[pa.Table, str | None]:
    """Return the input as an Arrow table, with the dates of a pandas index as a column."""
    frame = in_memory(frame)
    index = getattr(frame, "index", None)
    if index is not None and getattr(index, "dtype", np.dtype(int)).kind == "M" and hasattr(frame, "to_frame"):
        frame = frame.to_frame()  # a pandas Series
    if is_frame(frame):
        table = as_arrow(frame)
        if (
            index is not None
            and getattr(getattr(index, "dtype", None), "kind", "") == "M"
            and time in (None, index.name)
        ):
            name = str(index.name or "time")
            if name not in table.column_names:
                return table.append_column(name, pa.array(index)), name
        return table, time
    array = np.asarray(frame)
    return as_arrow(array[:, None] if array.ndim == 1 else array), time


def _times(name: str, column: pa.ChunkedArray, notes: list[str]) -> tuple[Values, bool]:
    """Return the column as seconds since 1970, NaN where there is none, and True; or as numbers, and False."""
    if is_number(column.type):
        values = np.asarray(numbers(pa.table({name: column}))[:, 0], dtype=np.float64)
        middle = np.nanmedian(np.abs(values)) if np.isfinite(values).any() else 0.0
        for size, unit in EPOCHS.items():
            if size <= middle < 4 * size:
                notes.append(f"{name} is read as {unit} since 1970.")
                return values / (size / 1e9), True
        return values, False
    format, doubt = learn_format(column) if is_text(column.type) else (None, "")
    if is_text(column.type) and format is None:
        examples = first_few([str(text) for text in column.drop_null().unique().to_pylist()[:3]])
        raise TableError(f"{name} was to be the time, but it holds no dates: {examples or 'nothing'}.")
    if doubt:
        notes.append(f"{name}: {doubt}.")
    zone = zone_of(column, format)
    seconds = np.empty(len(column))
    no_dates = missing = 0
    for first in range(0, len(column), READ_TOGETHER):
        moments, faults = read_dates(column.slice(first, READ_TOGETHER), format, zone)
        block = moments.astype(np.int64) / 1e6
        block[np.isnat(moments)] = np.nan
        seconds[first : first + READ_TOGETHER] = block
        no_dates += int(faults[NO_DATE].sum())
        missing += int((np.isnat(moments) & ~faults[NO_DATE]).sum())
    if no_dates:
        notes.append(f"Rows whose {name} is no date are not judged ({no_dates:,}).")
    if missing:
        notes.append(f"Rows without a {name} are not judged ({missing:,}).")
    ahead = seconds > datetime.now(UTC).timestamp() + 86400
    if ahead.any():
        latest = write_time(float(seconds[ahead].max()), dated=True)
        notes.append(f"Some rows lie in the future ({int(ahead.sum()):,}), up to {latest}.")
    return seconds, True


def _long_format(table: pa.Table, others: Sequence[str], seconds: Values) -> tuple[str, str] | None:
    """Return the columns of names and of values of a table with one row for each time and name; None for others."""
    if len(others) != 2:
        return None
    texts = [name for name in others if is_text(table[name].type) and learn_writing(table[name])[0] is None]
    values = [name for name in others if name not in texts]
    if len(texts) != 1 or not len(seconds):
        return None
    codes = table[texts[0]].combine_chunks().dictionary_encode().indices
    pairs = np.column_stack([seconds, codes.fill_null(-1).to_numpy()])
    repeated = len(np.unique(seconds)) < len(seconds) / 1.5
    return (texts[0], values[0]) if repeated and len(np.unique(pairs, axis=0)) > MOSTLY * len(pairs) else None


def _read_long(
    table: pa.Table,
    time: str | None,
    seconds: Values | None,
    *,
    name: str,
    value: str,
    channels: Sequence[str] | None,
    dated: bool,
    notes: list[str],
) -> Recording:
    """Return a table of (time, name, value) as one series with a channel for each name."""
    if seconds is None:
        raise InputError(f"One row for each time and {name} needs the times: name their column.")
    codes = table[name].cast(pa.string()).combine_chunks().dictionary_encode()
    labels = codes.dictionary.to_pylist()
    names = tuple(sorted(labels)) if channels is None else tuple(channels)
    place = {label: names.index(label) for label in labels if label in names}
    column_of = np.array([place.get(label, -1) for label in labels] + [-1], dtype=np.intp)
    column = column_of[codes.indices.fill_null(len(labels)).to_numpy().astype(np.intp)]
    _, cells = _channels(table, [value], None, notes)
    wide = np.full((len(cells), len(names)), np.nan)
    known_name = column >= 0
    wide[np.flatnonzero(known_name), column[known_name]] = cells[known_name, 0]
    notes.append(f"Each {name} is a channel: {len(names)} of them, one row for each time and {name}.")
    groups = np.zeros(len(cells), dtype=np.int32)
    return _tracks(names, wide, seconds, groups, [""], time=time, dated=dated, notes=notes)


def _channels(
    table: pa.Table, others: Sequence[str], channels: Sequence[str] | None, notes: list[str]
) -> tuple[tuple[str, ...], Values]:
    """Return names and values (rows, channels) of the columns that hold numbers, those written as text too."""
    if channels is not None:
        require(table.column_names, channels)
        others = channels
    names: list[str] = []
    columns: list[Values] = []
    for name in others:
        column = table[name]
        if column.type == pa.float64() and column.num_chunks == 1 and not column.null_count:
            values = np.asarray(column.chunk(0).to_numpy())[:, None]  # no copy of ten million moments
        elif is_number(column.type):
            values = np.asarray(numbers(pa.table({name: column})), dtype=np.float64)
        elif is_text(column.type) and (writing := learn_writing(column)[0]) is not None:
            cells, wrong = writing.read(column)
            values = cells[:, None]
            if wrong.any():
                first = column.combine_chunks()[int(np.flatnonzero(wrong)[0])].as_py()
                notes.append(
                    f"Cells of {name} that are no numbers, such as {first!r:.40}, are gaps ({int(wrong.sum()):,})."
                )
        elif channels is not None:
            raise TableError(f"{name} must hold numbers, as it did in fitting.")
        else:
            notes.append(f"{name} left out: it holds no numbers.")
            continue
        finite = np.isfinite(values)
        names.append(name)
        columns.append(values if finite.all() else np.where(finite, values, np.nan))
    if not columns:
        raise TableError(
            f"A series of numbers was wanted, but no column holds any: {first_few(list(others)) or 'none'}."
        )
    return tuple(names), columns[0] if len(columns) == 1 else np.column_stack(columns)


def _tracks(
    names: tuple[str, ...],
    values: Values,
    seconds: Values | None,
    groups: Places,
    labels: Sequence[str],
    *,
    time: str | None,
    dated: bool,
    notes: list[str],
) -> Recording:
    """Return each group's rows as a series on even steps, and where each row is in it."""
    track_of_row = groups if seconds is None or np.isfinite(seconds).all() else np.array(groups)
    moment_of_row = np.zeros(len(values), dtype=np.int32)
    tracks = []
    events: dict[str, int] = {}
    by_group = np.argsort(groups, kind="stable") if len(labels) > 1 else np.empty(0, dtype=np.intp)
    ends = np.cumsum(np.bincount(groups, minlength=len(labels))) if len(labels) > 1 else np.empty(0, dtype=np.intp)
    for number, label in enumerate(labels):
        rows: Any = slice(None) if len(labels) == 1 else by_group[ends[number - 1] if number else 0 : ends[number]]
        if seconds is None or _is_even(seconds[rows]):
            track_values = values[rows]
            moment_of_row[rows] = np.arange(len(track_values), dtype=np.int32)
            first, last = (0.0, len(track_values) - 1.0) if seconds is None else seconds[rows][[0, -1]].tolist()
            tracks.append(
                Track(
                    label,
                    first,
                    track_values,
                    (last - first) / (len(track_values) - 1) if len(track_values) > 1 else 1.0,
                )
            )
            continue
        rows = np.arange(len(values))[rows]
        with_time = rows[np.isfinite(seconds[rows])]
        if len(with_time) < len(rows):
            track_of_row[rows[~np.isfinite(seconds[rows])]] = -1
        if len(np.unique(seconds[with_time])) < 2:
            raise InputError(
                f"{time} has no two different times{f' in {label}' if label else ''}: no order to judge by."
            )
        order = with_time[np.argsort(seconds[with_time], kind="stable")]
        _count(events, "unsorted", int((np.diff(seconds[with_time]) < 0).sum()))
        step, places, on_grid = _even_steps(seconds[order], events)
        moment_of_row[order] = places
        count = np.zeros((places[-1] + 1, values.shape[1]))
        total = np.zeros_like(count)
        finite = np.isfinite(values[order])
        np.add.at(count, places, finite)
        np.add.at(total, places, np.where(finite, values[order], 0.0))
        grid = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
        tracks.append(Track(label, on_grid, grid, step))
    notes += _time_notes(events, tracks, dated=dated)
    rows_are_moments = len(labels) == 1 and isinstance(tracks[0].clock, float)
    return Recording(tracks, names, track_of_row, moment_of_row, time, dated, notes, rows_are_moments)


def _is_even(seconds: Values) -> bool:
    """Say whether times rise by steps that are alike: then each row is a moment, and nothing is to be done."""
    if len(seconds) < 2 or not seconds[-1] > seconds[0]:
        return False
    step = (seconds[-1] - seconds[0]) / (len(seconds) - 1)
    return all(
        bool((np.abs(np.diff(seconds[first : first + READ_TOGETHER + 1]) - step) <= ALIKE * step).all())
        for first in range(0, len(seconds) - 1, READ_TOGETHER)
    )


def _count(events: dict[str, int], what: str, count: int) -> None:
    if count:
        events[what] = events.get(what, 0) + count


def _even_steps(seconds: Values, events: dict[str, int]) -> tuple[float, Places, Values]:
    """Return the step of sorted times, the moment of each, and the times of all moments.

    The step is the median difference. Where most differences are whole multiples of it, each row moves to its moment,
    and a clock that drifts, or months of unlike lengths, do no harm; elsewhere rows are averaged step by step. A gap
    of more than BRIDGED steps takes BRIDGED + 1 moments, however long it is.
    """
    differences = np.diff(seconds)
    rising = differences[differences > 0]
    step = float(np.median(rising))
    ratio = rising / step
    even = np.mean(np.abs(ratio - np.maximum(np.rint(ratio), 1)) <= ON_THE_GRID) >= MOSTLY
    if even:
        moves = np.rint(differences / step).astype(np.float64)
        _count(events, "repeated", int((moves == 0).sum()))
    else:
        moves = np.diff(np.floor((seconds - seconds[0]) / step))
        _count(events, "uneven", 1)
    repeated = seconds[1:][differences == 0]
    if 3000 <= len(repeated) * step <= 3700 and step <= 3600 and repeated[-1] - repeated[0] <= 3600:
        month = int(repeated[0].astype("datetime64[s]").astype("datetime64[M]").astype(int)) % 12 + 1
        _count(events, "hour twice", int(month in CLOCKS_GO_BACK))
    _count(events, "long gaps", int((moves > BRIDGED).sum()))
    _count(events, "bridged", int(np.minimum(np.maximum(moves - 1, 0), BRIDGED)[moves <= BRIDGED].sum()))
    moves = np.minimum(moves, BRIDGED + 2)
    places = np.concatenate([[0], np.cumsum(moves)]).astype(np.intp)
    first = np.concatenate([[True], np.diff(places) > 0])
    return step, places, np.interp(np.arange(places[-1] + 1), places[first], seconds[first])


def _time_notes(events: dict[str, int], tracks: Sequence[Track], *, dated: bool) -> list[str]:
    """Say what was done to the times."""
    steps = np.array([track.step for track in tracks])
    step = write_step(float(np.median(steps)), dated=dated)
    sentences = {
        "unsorted": "Rows are not in the order of time (it goes back at {:,} of them): they are sorted.",
        "repeated": "Values of rows that share their moment are averaged ({:,} rows).",
        "hour twice": "An hour comes twice, as when clocks go back: times with their zone would keep both.",
        "uneven": f"Times are uneven: values are averaged into one row {step}, by the median difference.",
        "bridged": "Straight lines bridge moments without a row ({:,}).",
        "long gaps": f"Gaps of more than {BRIDGED} steps part the series ({{:,}}): no window crosses them.",
    }
    notes = [sentence.format(events[what]) for what, sentence in sentences.items() if what in events]
    if len(tracks) > 1 and steps.max() > 1.5 * steps.min():
        notes.append(
            f"The series have unlike steps, from {steps.min():g} to {steps.max():g}: a window is so many rows."
        )
    return notes
