"""Score more rows than fit into memory: read, score and write batches at the same time."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from centrality import tables
from centrality._checks import InputError
from centrality.scores.mixing import checked_t
from centrality.scoring import chunks
from centrality.scoring.adapter import Adapter, read_ahead
from centrality.scoring.job import Job
from centrality.tables import formats, locations
from centrality.tables.parquet import NOTE
from centrality.tables.text import TextSource
from centrality.tables.unreadable import ENOUGH_ROWS


def score(job: Job, data: str | Path, output: str | Path) -> chunks.Scored:
    """Add the scores to the rows of `data` and write them to `output`, completely or not at all.

    If `output` is "-", they go to stdout, each batch when it is scored.
    """
    checked_t(job.ts)
    with tables.open_rows(data) as source:
        return _score_source(job, source, output)


def score_chunk(job: Job, chunk: chunks.Chunk) -> chunks.Scored:
    """Score one chunk of work into its file, completely or not at all."""
    checked_t(job.ts)
    if job.resume and chunks.is_done(chunk, job.note(chunk.source)):
        assert chunk.rows is not None  # it was compared with the rows that are there
        return chunks.Scored(chunk.rows)
    if not locations.is_remote(chunk.target):
        Path(chunk.target).parent.mkdir(parents=True, exist_ok=True)
    with chunk.open() as source:
        return _score_source(job, source, chunk.target)


def _score_source(job: Job, source: tables.Source, output: str | Path) -> chunks.Scored:
    """Score an open source: as text records if both it and the output are text, else as batches of columns."""
    adapter = Adapter(job.model, source.schema.names)
    tables.require_replaceable(job.names, adapter.columns)
    tables.note_replaced(job.names, source.schema.names)  # those of an earlier scoring, say
    if job.explain and not adapter.explains:
        raise InputError(
            "This model's scores cannot be explained by columns: it reads texts, images or windows of a series, or its "
            "file was written before there were explanations (then fit it again). Score without --explain."
        )
    kind = formats.kind_on_stdout(source.kind) if str(output) == "-" else tables.kind_to_write(output)
    if adapter.one_series and source.in_part:
        raise tables.TableError(
            f"{source.name} is one series to this model, so it cannot be cut: score without --split."
        )
    with formats.open_output(output) as file:
        if (
            isinstance(source, TextSource)
            and source.keeps_records
            and kind == source.kind
            and not adapter.one_series
            and not set(job.names) & set(source.schema.names)
        ):
            rows = _score_records(job, source, adapter, file)
        else:
            rows = _score_batches(job, source, adapter, file, kind=kind, stream=str(output) == "-")
        adapter.require_readable()
    if job.watch is not None:
        job.watch.end()
    return chunks.Scored(rows, adapter.unreadable)


def _score_records(job: Job, source: TextSource, adapter: Adapter, file: BinaryIO) -> int:
    """Write text records in the same format: each stays as it was written, with the scores added at its end."""
    from tqdm import tqdm

    rows = 0
    file.write(source.dialect.extended_header(job.names))
    blocks = source.records(adapter.columns, adapter.types)
    with tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not job.progress) as bar:
        for table, records in blocks if source.live else read_ahead(blocks):
            file.write(b"".join(source.dialect.extended_records(records, job.new_columns(adapter, table))))
            adapter.require_readable(after=ENOUGH_ROWS)
            file.flush()
            rows += table.num_rows
            bar.update(table.num_rows)
    return rows


def _score_batches(
    job: Job, source: tables.Source, adapter: Adapter, file: BinaryIO, *, kind: str, stream: bool
) -> int:
    """Write batches of the input's columns and the new ones, in a format of this kind."""
    live = stream or source.live
    rows, sink = 0, None
    with ThreadPoolExecutor(1) as pool:
        writing: Future[None] | None = None
        for table in adapter.read(source, ahead=not live, progress=job.progress):
            scored = with_scores(job, adapter, table)
            if sink is None:
                note = (
                    {NOTE: job.note(source.files[0].file if len(source.files) == 1 else None)}
                    if formats.FORMATS[kind].keeps_note
                    else None
                )
                sink = formats.make_sink(kind, file, scored.schema.with_metadata(note), stream=stream)
            if writing is not None:
                writing.result()  # at most one batch waits to be written: memory stays bounded
            writing = pool.submit(sink.write, scored)
            if live:
                writing.result()
                file.flush()
            rows += table.num_rows
        assert writing is not None  # else there were no rows, and the adapter has said so
        assert sink is not None
        writing.result()
        sink.close()
    return rows


def with_scores(job: Job, adapter: Adapter, table: pa.Table) -> pa.Table:
    """Return the table with the job's columns at its end, those of the same name replaced."""
    new = job.new_columns(adapter, table)
    table = table.drop_columns([name for name in new if name in table.column_names])
    for name, values in new.items():
        table = table.append_column(name, pa.array(values, from_pandas=True))  # NaN: this row has no score
    return table
