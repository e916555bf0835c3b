"""Scoring more rows than memory holds: read, score and write batch by batch, each while the others work."""

import hashlib
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import _places, _sinks, tables, units
from centrality._base import require_finite
from centrality._sources import TEXT, TextSource
from centrality.calibration import blend, checked_t
from centrality.chain import Chain
from centrality.conformal import p_values
from centrality.drift import Drift, TrainingScores
from centrality.reasons import Reasons

Heads = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Reader:
    """What a model wants of a table, and its heads for such a table, calibrated and raw."""

    columns: list[str]
    types: dict[str, pa.DataType]
    heads: Callable[[pa.Table], Heads]
    raw: Callable[[pa.Table], Heads]
    windowed: bool  # all rows are one series, scored by its windows
    reasons: Callable[[pa.Table, float], Reasons] | None  # None: what the model reads has no features with names


def reader_of(model: Any, schema: pa.Schema) -> Reader:
    """How `model` reads tables of this schema; an error names what is missing."""
    if isinstance(model, Chain):
        representation = model.representation_
        columns = representation.columns_ if representation.columns_ is not None else schema.names
        windowed = getattr(representation, "window", None) is not None
        named = not windowed and representation.origins() is not None and hasattr(model.model_, "center_")
        heads, raw = (_moments(model, of) if windowed else of for of in (model.heads, model.raw))
        reader = Reader(columns, representation.types(), heads, raw, windowed, model.reasons if named else None)
    else:
        names = getattr(model, "feature_names_in_", None)
        columns = schema.names if names is None else list(names)
        types = {name: pa.float64() for name in columns}
        plain = without_names(model)
        reasons = _reasons_of_numbers(plain, columns) if hasattr(model, "center_") else None
        reader = Reader(columns, types, _of_numbers(plain.heads), _of_numbers(plain.raw), False, reasons)
    tables.require(schema.names, reader.columns)
    return reader


def without_names(model: Any) -> Any:
    """The same model for bare arrays: a table has already put the columns in order by their names."""
    plain = copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def _of_numbers(score: Callable[[NDArray[Any]], Heads]) -> Callable[[pa.Table], Heads]:
    def heads(table: pa.Table) -> Heads:
        matrix = tables.numbers(table)
        try:
            return np.asarray(score(matrix))
        except ValueError:
            require_finite(matrix, table.column_names)  # the same complaint, with the column's name
            raise

    return heads


def _reasons_of_numbers(plain: Any, columns: list[str]) -> Callable[[pa.Table, float], Reasons]:
    return lambda table, t: plain.reasons(tables.numbers(table), t, names=columns)


def _moments(model: Chain, score: Callable[[pa.Table], Heads]) -> Callable[[pa.Table], Heads]:
    return lambda table: model.representation_.spread(score(table), table.num_rows)


@dataclass
class Watch:
    """Looks for drift in a stream, a window of rows at a time."""

    training: TrainingScores
    window: int
    warn: Callable[[str], None]
    found: list[Drift] = field(default_factory=list)
    _waiting: list[Heads] = field(default_factory=list)
    _rows: int = 0

    def see(self, heads: Heads) -> None:
        self._waiting.append(heads)
        while sum(map(len, self._waiting)) >= self.window:
            rows = np.concatenate(self._waiting)
            self._judge(rows[: self.window])
            self._waiting = [rows[self.window :]]

    def end(self) -> None:
        """Judge what is left, if it is enough to say anything."""
        rest = np.concatenate(self._waiting) if self._waiting else np.empty((0, 2))
        if len(rest) >= min(self.window, 100):
            self._judge(rest)

    def _judge(self, heads: Heads) -> None:
        drift = self.training.compare(heads)
        first, self._rows = self._rows + 1, self._rows + len(heads)
        if drift.detected():
            self.found.append(drift)
            self.warn(f"drift in rows {first:,} to {self._rows:,}: {drift}")


@dataclass(frozen=True)
class Job:
    """One scoring: which model, at which t, and who is told about it."""

    model: Any
    ts: list[float]
    watch: Watch | None = None
    progress: bool = False
    inliers: Heads | None = None  # those of the calibration rows, if p-values are wanted
    explain: bool = False
    resume: bool = False  # units that are done already are left as they are

    @property
    def names(self) -> list[str]:
        """The columns it adds."""
        return units.added_columns(self.ts, self.inliers is not None, self.explain)

    @cached_property
    def note(self) -> str:
        """At the end of a Parquet file, this says which model made which columns."""
        return json.dumps({"model": _digest(self.model), "columns": self.names})

    def columns(self, heads: Heads) -> dict[str, NDArray[Any]]:
        """The columns of numbers."""
        if self.watch is not None:
            self.watch.see(heads)
        scores = [blend(heads, t) for t in self.ts]
        if self.inliers is not None:
            scores += [self._p_values(self.inliers, heads, t) for t in self.ts]
        return dict(zip(self.names, scores, strict=False))

    def scored(self, reader: Reader, table: pa.Table) -> dict[str, NDArray[Any]]:
        """All that it adds to these rows, column by column."""
        columns = self.columns(reader.heads(table))
        if self.explain and reader.reasons is not None:
            for t in self.ts:
                columns[f"reasons_{t:g}"] = np.array(reader.reasons(table, t).short(), dtype=object)
        return columns

    @staticmethod
    def _p_values(inliers: Heads, heads: Heads, t: float) -> NDArray[np.float64]:
        """NaN where there is no score: a row left out, such as an image that cannot be read."""
        found = np.full(len(heads), np.nan)
        there = np.isfinite(heads).all(1)
        found[there] = p_values(blend(inliers, t), blend(heads[there], t))
        return found


def _digest(model: Any) -> str:
    """What tells one model from another: a checksum of the file that it would be saved to."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        model.save(file)
        return hashlib.sha256(file.read_bytes()).hexdigest()


def score(job: Job, data: str | Path, output: str | Path) -> int:
    """Add the scores to the rows of `data` and write them to `output`, whole or not at all; the number of rows.

    `output` may be "-": stdout, as the rows come.
    """
    checked_t(job.ts)
    if str(output) != "-":
        tables.kind_of(output)
    with tables.open_rows(data) as source:
        return _score_source(job, source, output)


def score_unit(job: Job, unit: units.Unit) -> int:
    """Score one unit of work into its place, whole or not at all; the number of rows."""
    checked_t(job.ts)
    if job.resume and units.is_done(unit, job.note):
        assert unit.rows is not None  # it was compared with the rows that are there
        return unit.rows
    if not _places.is_remote(unit.target):
        Path(unit.target).parent.mkdir(parents=True, exist_ok=True)
    with unit.open() as source:
        return _score_source(job, source, unit.target)


def _score_source(job: Job, source: tables.Source, output: str | Path) -> int:
    reader = reader_of(job.model, source.schema)
    if job.explain and reader.reasons is None:
        raise ValueError(
            "This model's scores cannot be explained by columns: it reads texts, images or windows of a series, or its "
            "file was written before there were explanations (then fit it again). Score without --explain."
        )
    kind = _kind_on_stdout(source.kind) if str(output) == "-" else tables.kind_of(output)
    as_lines = (
        isinstance(source, TextSource)
        and kind == source.kind
        and not reader.windowed
        and not set(job.names) & set(source.schema.names)
    )
    if reader.windowed and getattr(source, "in_part", False):
        raise tables.TableError(
            f"{source.name} is one series to this model, so it cannot be cut: score without --split."
        )
    with _sinks.opened(output) as file:
        if as_lines:
            assert isinstance(source, TextSource)
            rows = _score_lines(job, source, reader, file)
        else:
            rows = _score_batches(job, source, reader, file, kind, str(output) == "-")
    if job.watch is not None:
        job.watch.end()
    return rows


def _score_lines(job: Job, source: TextSource, reader: Reader, file: Any) -> int:
    """Text in and text of the same kind out: each record keeps what was written and gets the scores at its end."""
    rows, drop = 0, 1 if source.kind == ".jsonl" else 0
    if source.header is not None:
        file.write(_sinks.header_line(source.kind, source.header + job.names))
    blocks = source.lines(reader.columns, reader.types)
    with _bar(job, source) as bar:
        for table, records in blocks if source.live else ahead(blocks):
            ends = _sinks.as_text(source.kind, job.scored(reader, table))
            kept = (record.rstrip()[:-1] if drop else record for record in records)
            file.write(b"".join(record + end for record, end in zip(kept, ends, strict=True)))
            file.flush()
            rows += table.num_rows
            bar.update(table.num_rows)
    return rows


def _score_batches(job: Job, source: Any, reader: Reader, file: Any, kind: str, stream: bool) -> int:
    live = stream or getattr(source, "live", False)
    rows, sink = 0, None
    batches: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in source.batches(types=reader.types))
    if reader.windowed:
        batches = [pa.concat_tables(batches)]
    with _bar(job, source) as bar, ThreadPoolExecutor(1) as pool:
        writing: Future[None] | None = None
        for table in batches if live or reader.windowed else ahead(batches):
            scored = with_scores(job, reader, table)
            if sink is None:
                schema = scored.schema if kind != ".parquet" else scored.schema.with_metadata({"centrality": job.note})
                sink = _sinks.make(kind, file, schema, stream=stream)
            if writing is not None:
                writing.result()  # at most one batch waits to be written: memory stays bounded
            writing = pool.submit(sink.write, scored)
            if live:
                writing.result()
                file.flush()
            rows += table.num_rows
            bar.update(table.num_rows)
        if writing is not None:
            writing.result()
        if sink is None:
            raise tables.TableError(f"{source.name} is empty: it has 0 rows and {len(source.schema)} columns.")
        sink.close()
    return rows


def with_scores(job: Job, reader: Reader, table: pa.Table) -> pa.Table:
    """The table with the job's columns at its end, those of the same name replaced."""
    new = job.scored(reader, table.select(reader.columns))
    table = table.drop_columns([name for name in new if name in table.column_names])
    for name, values in new.items():
        table = table.append_column(name, pa.array(values, from_pandas=True))  # NaN: this row has no score
    return table


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """The same items, the next ones fetched by a thread while the last one is used."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, iterator, end) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, iterator, end))
            yield item  # type: ignore[misc]


def _kind_on_stdout(kind: str) -> str:
    return kind if kind in (*TEXT, ".arrow") else ".csv"


def _bar(job: Job, source: Any) -> Any:
    from tqdm import tqdm

    return tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not job.progress)
