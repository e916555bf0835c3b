"""Scoring more rows than memory holds: read, score and write batch by batch, each while the others work."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from centrality import tables
from centrality._checks import InputError
from centrality.scores.calibration import checked_t
from centrality.scoring import units
from centrality.scoring.adapter import Reader, reader_of
from centrality.scoring.job import Job
from centrality.tables import locations, sinks
from centrality.tables.sources import TEXT, TextSource

T = TypeVar("T")


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
    if not locations.is_remote(unit.target):
        Path(unit.target).parent.mkdir(parents=True, exist_ok=True)
    with unit.open() as source:
        return _score_source(job, source, unit.target)


def _score_source(job: Job, source: tables.Source, output: str | Path) -> int:
    reader = reader_of(job.model, source.schema)
    if job.explain and reader.reasons is None:
        raise InputError(
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
    with sinks.opened(output) as file:
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
        file.write(sinks.header_line(source.kind, source.header + job.names))
    blocks = source.lines(reader.columns, reader.types)
    with _bar(job, source) as bar:
        for table, records in blocks if source.live else ahead(blocks):
            ends = sinks.as_text(source.kind, job.scored(reader, table))
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
                sink = sinks.make(kind, file, schema, stream=stream)
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
