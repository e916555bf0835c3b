"""Score the rows of files and streams, chunk by chunk."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows
from centrality._internal.text import column_name
from centrality.analysis.certificate import CONFIDENCE
from centrality.analysis.conformal import p_value_intervals
from centrality.analysis.drift import DriftMonitor
from centrality.bulk import chunks
from centrality.bulk.adapter import Adapter, read_ahead
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.network.calibration import checked_t, one_t
from centrality.network.scaling import dense
from centrality.tables import files, formats
from centrality.tables.beside import VECTORS, VectorsBeside
from centrality.tables.binary import NOTE
from centrality.tables.columns import ENOUGH_ROWS, CellIssues
from centrality.tables.text import TextSource

Pairs = NDArray[np.float64]  # (n, 2) units
Column = NDArray[np.float64] | NDArray[np.object_]  # scores, or reasons in words
Rows = NDArray[np.bool_]


ON_ERROR = ("stop", "skip", "null")  # what a job can do with a row that cannot be scored


@dataclass(frozen=True)
class ScoringJob:
    """What to compute for rows: by which model, at which t, and which columns beside the centrality."""

    model: CentralityModel
    ts: list[float]
    watch: DriftMonitor | None = None
    progress: bool = False
    p_values: bool = False
    explain: bool = False
    resume: bool = False  # leave chunks as they are that are done already
    on_error: str = "stop"  # "skip" leaves rows out that cannot be scored, "null" leaves their scores empty
    severity: bool = False
    intervals: bool = False  # of p-values
    standard_error: bool = False

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise InputError(f"on_error must be one of {', '.join(ON_ERROR)}, got {self.on_error!r}.")

    @property
    def names(self) -> list[str]:
        """Return the names of the columns added for each t: first centrality, at last reasons."""
        wanted = {
            "centrality": True,
            "p_value": self.p_values,
            "p_value_low": self.intervals,
            "p_value_high": self.intervals,
            "severity": self.severity,
            "standard_error": self.standard_error,
            "reasons": self.explain,
        }
        kinds = [kind for kind, is_wanted in wanted.items() if is_wanted]
        names = [column_name(kind, t, self.model.t) for kind in kinds for t in self.ts]
        if len(set(names)) < len(names):
            raise InputError(f"Every t must have a column of its own, got {', '.join(names[: len(self.ts)])}.")
        return names

    def note(self, source: str | None) -> str:
        """Return the note for a Parquet file of scores: which model made which columns from the rows of which file."""
        rows = None if source is None else files.fingerprint(source)
        note = {"model": self._digest, "columns": self.names, "rows": rows}
        return json.dumps(note if self.on_error == "stop" else note | {"on_error": self.on_error})

    @cached_property
    def _digest(self) -> str:
        """Return a checksum that identifies the model: that of the file it would be saved to."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            self.model.save(file)
            return hashlib.sha256(file.read_bytes()).hexdigest()

    def score_columns(self, pairs: Pairs) -> dict[str, Column]:
        """Return the columns of numbers that it adds to rows with these units."""
        mixing = self.model.fitted_.mixing
        scores_by_t = [mixing.mixed(pairs, t) for t in self.ts]
        columns = [mixing.squeeze(scores) for scores in scores_by_t]
        if self.p_values or self.severity or self.intervals:
            rows = self.model.fitted_.calibration_rows()
            scores_at_t = list(zip(self.ts, scores_by_t, strict=True))
            if self.p_values:
                columns += [rows.p_values(mixing, t, scores) for t, scores in scores_at_t]
            if self.intervals:
                p_values = [rows.p_values(mixing, t, scores) for t, scores in scores_at_t]
                ends = [
                    p_value_intervals(p, len(rows.scores(mixing, t)), CONFIDENCE)
                    for t, p in zip(self.ts, p_values, strict=True)
                ]
                columns += [low_and_high[:, end] for end in (0, 1) for low_and_high in ends]
            if self.severity:
                columns += [rows.severity(mixing, t, scores) for t, scores in scores_at_t]
        return dict(zip(self.names, columns, strict=False))

    def new_columns(self, adapter: Adapter, table: pa.Table) -> dict[str, Column]:
        """Return all columns that the job adds to these rows."""
        vectors = adapter.vectors(table)
        pairs = adapter.units(vectors, table.num_rows)
        columns = self.score_columns(pairs)
        if self.standard_error:
            for t in self.ts:
                name = column_name("standard_error", t, self.model.t)
                columns[name] = map_valid_rows(vectors, partial(self.model.fitted_.standard_error, t=t))
        if self.model.fitted_.knows_offset_for(self.model.t):
            scores = self.model.fitted_.mixing.mixed(pairs, self.model.t)
            adapter.with_score += int((~np.isnan(scores)).sum())
            adapter.called += int((scores < self.model.fitted_.offset_for(self.model.t)).sum())
        if self.watch is not None:
            rows = None if adapter.one_series else np.asarray(dense(vectors), dtype=np.float64)
            self.watch.add(self.model.fitted_.mixing.squeeze(pairs), rows)
        if self.explain and adapter.explains:
            for t, reasons in zip(self.ts, adapter.reasons(table, vectors, pairs, self.ts), strict=True):
                columns[column_name("reasons", t, self.model.t)] = np.array(reasons.short(), dtype=object)
        return columns

    def open(self, chunk: chunks.Chunk) -> tables.Source:
        """Open the rows of a chunk; of text files, unreadable records are among them unless they stop the job."""
        if self.on_error == "stop":
            return chunk.open()
        with tables.faulty_records_kept():
            return chunk.open()

    def scored_where_possible(self, adapter: Adapter, table: pa.Table) -> tuple[dict[str, Column], Rows]:
        """Return the columns that the job adds, and which rows stay in the output."""
        all_rows = np.ones(table.num_rows, dtype=bool)
        if self.on_error == "stop":
            return self.new_columns(adapter, table), all_rows
        can_be = adapter.can_be_scored(table)
        adapter.left_out += int((~can_be).sum())
        if can_be.all():
            return self.new_columns(adapter, table), all_rows
        new: dict[str, Column] = {name: np.full(table.num_rows, np.nan) for name in self.names}
        for t in self.ts if self.explain else ():
            new[column_name("reasons", t, self.model.t)] = np.full(table.num_rows, "", dtype=object)
        if can_be.any():
            for name, values in self.new_columns(adapter, table.filter(pa.array(can_be))).items():
                new[name][can_be] = values
        if self.on_error == "null":
            return new, all_rows
        return {name: values[can_be] for name, values in new.items()}, can_be


KEPT_VALUES = 1 << 27  # numbers of vectors in memory, 1 GB: if there are more, only units are returned
BLOCK = 10_000  # rows that are read between two steps of the bar


def dial(model: CentralityModel, t: float | None) -> float:
    """Return the given t, checked, or the model's own if none is given."""
    return one_t(model.t if t is None else t)


def units_of(
    model: CentralityModel, source: tables.Source, *, progress: bool = False
) -> tuple[NDArray[np.float64], CellIssues]:  # (rows, 2)
    """Return the units of all rows, NaN for rows without a vector, and which cells could not be read."""
    units, _, unreadable = units_and_rows(model, source, progress=progress, max_values=0)
    return units, unreadable


def units_and_rows(
    model: CentralityModel, source: tables.Source, *, progress: bool = False, max_values: int = KEPT_VALUES
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, CellIssues]:  # (rows, 2), (rows, p)
    """Return the units of all rows, and the vectors of all rows, or None if these have more than `max_values`."""
    adapter = Adapter(model, source.schema.names)
    parts: list[NDArray[np.float64]] = []
    vectors_so_far: list[NDArray[np.float64]] = []
    # The units of a series are those of its moments, its vectors those of its windows: only the units are returned.
    values_left = 0 if adapter.one_series else max_values
    for table in adapter.read(source, progress=progress, title="Scoring"):
        vectors = adapter.vectors(table)
        parts.append(adapter.units(vectors, table.num_rows))
        values_left -= vectors.shape[0] * vectors.shape[1]
        vectors_so_far = [*vectors_so_far, np.asarray(dense(vectors), dtype=np.float64)] if values_left >= 0 else []
    return np.concatenate(parts), np.concatenate(vectors_so_far) if vectors_so_far else None, adapter.report()


def vectors_of(adapter: Adapter, table: pa.Table, *, progress: bool = False) -> CheckedRows:  # (n, p)
    """Return the vectors of a table's rows, with a bar; encoders of texts and images show their own ones."""
    if not progress or table.num_rows <= BLOCK or adapter.reader.input_spec().kind not in ("numbers", "table"):
        return adapter.vectors(table)
    from tqdm import tqdm

    parts = []
    with tqdm(total=table.num_rows, unit=" rows", unit_scale=True, desc="Reading", leave=False) as bar:
        for start in range(0, table.num_rows, BLOCK):
            block = table.slice(start, BLOCK)
            parts.append(dense(adapter.vectors(block)))
            bar.update(block.num_rows)
    return np.concatenate(parts)


def score(job: ScoringJob, data: str | Path, output: str | Path) -> chunks.Scored:
    """Add the scores to the rows of `data` and write them to `output`, completely or not at all.

    If `output` is "-", they go to stdout, each batch as soon as it is scored.
    """
    checked_t(job.ts)
    with job.open(chunks.Chunk(str(data), "")) as source:
        return _score_source(job, source, output)


def score_chunk(job: ScoringJob, chunk: chunks.Chunk) -> chunks.Scored:
    """Score one chunk of work into its file, completely or not at all."""
    checked_t(job.ts)
    if job.resume:
        rows = chunks.rows_done(chunk, job.note(chunk.source), may_skip=job.on_error == "skip")
        if rows is not None:
            return chunks.Scored(rows)
    if not files.is_remote(chunk.target):
        Path(chunk.target).parent.mkdir(parents=True, exist_ok=True)
    with job.open(chunk) as source:
        return _score_source(job, source, chunk.target)


def _score_source(job: ScoringJob, source: tables.Source, output: str | Path) -> chunks.Scored:
    """Score an open source: as text records if input and output are text of one format, else as batches of columns."""
    adapter = Adapter(job.model, source.schema.names)
    tables.require_replaceable(job.names, adapter.columns)
    tables.note_replaced(job.names, source.schema.names)  # those of an earlier scoring, say
    if job.explain and not adapter.explains:
        raise InputError(
            "This model's scores cannot be explained by columns: it reads texts, images or windows of a series, or its "
            "file was written before there were explanations (then fit it again). Score without --explain."
        )
    kind = formats.kind_on_stdout(source.kind) if str(output) == "-" else tables.kind_to_write(output)
    if adapter.one_series and job.on_error != "stop":
        raise InputError("--on-error is for rows one by one: this model reads all rows as one series.")
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
    faults = source.faulty if isinstance(source, TextSource) else []
    return chunks.Scored(
        rows, adapter.unreadable, adapter.left_out, tuple(faults[:1]), adapter.with_score, adapter.called
    )


def _score_records(job: ScoringJob, source: TextSource, adapter: Adapter, file: BinaryIO) -> int:
    """Write text records in the format of the source: each as it was, with the scores added at its end."""
    from tqdm import tqdm

    rows = 0
    file.write(source.dialect.extended_header(job.names))
    blocks = source.records([*adapter.columns, *adapter.watched], adapter.types)
    with tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not job.progress) as bar:
        for table, records in blocks if source.live else read_ahead(blocks):
            first_fault = adapter.first_fault(table) if source.live and job.on_error == "stop" else 0
            for begin, end in ((0, first_fault), (first_fault, table.num_rows)):
                if begin == end:
                    continue
                new, stays = job.scored_where_possible(adapter, table.slice(begin, end - begin))
                lines = [line for line, stay in zip(records[begin:end], stays.tolist(), strict=True) if stay]
                file.write(b"".join(source.dialect.extended_records(lines, new)))
                file.flush()  # before an error ends the stream
                rows += len(lines)
            adapter.require_readable(after=ENOUGH_ROWS)
            bar.update(table.num_rows)
    return rows


def _score_batches(
    job: ScoringJob, source: tables.Source, adapter: Adapter, file: BinaryIO, *, kind: str, stream: bool
) -> int:
    """Write batches of the input's columns and the new ones, in the format `kind`."""
    live = stream or source.live
    rows = 0
    sink = None
    with ThreadPoolExecutor(1) as pool:
        writing: Future[None] | None = None
        for table in adapter.read(source, ahead=not live, progress=job.progress):
            scored = with_scores(job, adapter, table)
            if isinstance(source, VectorsBeside):
                scored = scored.drop_columns([VECTORS])  # which stay in their own file
            if sink is None:
                note = (
                    {NOTE: job.note(source.files[0].file if len(source.files) == 1 else None)}
                    if formats.keeps_note(kind)
                    else None
                )
                is_alike = isinstance(source, TextSource) and source.kind == kind
                separator = source.dialect.separator if is_alike else None  # type: ignore[attr-defined]
                schema = scored.schema.with_metadata(note)
                sink = formats.make_sink(kind, file, schema, stream=stream, separator=separator)
            if writing is not None:
                writing.result()  # at most one batch waits to be written: memory stays bounded
            writing = pool.submit(sink.write, scored)
            if live:
                writing.result()
                file.flush()
            rows += scored.num_rows
        assert writing is not None  # else there were no rows, and the adapter has said so
        assert sink is not None
        writing.result()
        sink.close()
    return rows


def with_scores(job: ScoringJob, adapter: Adapter, table: pa.Table) -> pa.Table:
    """Return the table with the job's columns at its end, in place of columns of the same names."""
    new, stays = job.scored_where_possible(adapter, table)
    table = table if stays.all() else table.filter(pa.array(stays))
    table = table.drop_columns([name for name in new if name in table.column_names])
    for name, values in new.items():
        kind = pa.string() if values.dtype == object else None
        table = table.append_column(name, pa.array(values, kind, from_pandas=True))  # NaN: this row has no score
    return table


def score_batches(job: ScoringJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one table with the job's columns.

    Whether too many cells cannot be read is judged by all rows so far, since batches may be small, as those of Spark.
    """
    adapter: Adapter | None = None
    for batch in batches:
        adapter = Adapter(job.model, batch.schema.names) if adapter is None else adapter
        yield from with_scores(job, adapter, pa.Table.from_batches([batch])).to_batches()
        adapter.require_readable(after=ENOUGH_ROWS)
    if adapter is not None:
        adapter.report()
