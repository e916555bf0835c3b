"""Draw a uniform sample of rows from data larger than memory: every row is as likely to be in it as any other.

Parquet files say how many rows they have: row numbers are drawn over all files together, and then only these rows are
read. To draw whole row groups would be quicker and wrong: rows of one group are alike where data drifts. In other
formats the number of rows is not known before the end: every row gets a random number, and those with the smallest
numbers are the sample.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality.bulk import chunks
from centrality.bulk.chunks import Chunk, Runner
from centrality.tables.binary import Footer

ROWS = 200_000  # a fit on so many equals a fit on all within the noise between two fits (benchmarks/scale.py)
VALUES = 50_000_000  # numbers in a sample, at most, 400 MB: of wide tables, samples have fewer rows
FEWEST = 20_000  # rows of a sample, however wide they are


def enough(width: int) -> int:
    """Return how many rows of this width are enough for a fit."""
    return min(ROWS, max(FEWEST, VALUES // max(width, 1)))


def sample(
    data: str | Path | tables.Source,
    size: int,
    rng: np.random.Generator,
    columns: Sequence[str] | None = None,
    runner: Runner = chunks.in_turn,
) -> pa.Table:
    """Return these columns of `size` random rows of the data, or of all if there are fewer, in the data's order."""
    with data if isinstance(data, tables.Source) else tables.open_rows(data) as source:
        names = source.schema.names if columns is None else list(columns)
        tables.require(source.schema.names, names)
        schema = pa.schema([source.schema.field(name) for name in names])
        if (drawn := source.draw(size, rng, names)) is not None:
            return pa.Table.from_batches(sample_by_lot(drawn, size, rng), schema)
        if not source.files:
            return pa.Table.from_batches(sample_by_lot(source.batches(names), size, rng), schema)
        shares = draw_shares(source.files, size, rng)
    return read_shares(shares, schema, runner)


@dataclass(frozen=True)
class Share:
    """The rows drawn from one chunk."""

    number: int  # of the chunk among all chunks
    chunk: Chunk
    rows: NDArray[np.int64]  # their numbers in the chunk, rising


def draw_shares(files: Sequence[Footer], size: int, rng: np.random.Generator) -> list[Share]:
    """Draw `size` rows, numbered over all these files, and say which of them are in which file."""
    all_chunks = chunks.of_files(files)
    total = sum(chunk.rows or 0 for chunk in all_chunks)
    chosen = np.sort(rng.choice(total, min(size, total), replace=False))
    ends = np.cumsum([chunk.rows or 0 for chunk in all_chunks])
    starts = [0, *ends[:-1]]
    chosen_by_chunk = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return [
        Share(number, chunk, rows - start)
        for number, (chunk, rows, start) in enumerate(zip(all_chunks, chosen_by_chunk, starts, strict=True))
        if len(rows)
    ]


def read_shares(shares: Sequence[Share], schema: pa.Schema, runner: Runner = chunks.in_turn) -> pa.Table:
    """Return the columns of this schema of the rows that were drawn, in the data's order."""
    parts = sorted(runner(partial(read_share, schema.names), shares), key=lambda part: part[0].number)
    return pa.concat_tables([schema.empty_table(), *(rows for _, rows in parts)])


def read_share(names: Sequence[str], share: Share) -> pa.Table:
    """Read these columns of the rows that were drawn from one chunk."""
    parts = []
    rows_before = 0
    with share.chunk.open() as source:
        for batch in source.batches(names):
            first, end = np.searchsorted(share.rows, [rows_before, rows_before + batch.num_rows])
            if end > first:
                parts.append(batch.take(pa.array(share.rows[first:end] - rows_before)))
            rows_before += batch.num_rows
    return pa.Table.from_batches(parts)


def sample_by_lot(batches: Iterable[pa.RecordBatch], size: int, rng: np.random.Generator) -> list[pa.RecordBatch]:
    """Return `size` random rows in their order: those with the smallest random numbers.

    At most about twice as many rows are in memory.
    """
    chosen: list[pa.RecordBatch] = []
    lots = np.empty(0)  # the random numbers of the chosen rows
    highest = 1.0  # rows with larger numbers are not in the sample
    for batch in batches:
        drawn = rng.random(batch.num_rows)
        low = np.flatnonzero(drawn < highest)
        chosen.append(batch.take(pa.array(low)))
        lots = np.concatenate([lots, drawn[low]])
        if len(lots) > 2 * size:
            chosen, lots = _smallest(chosen, lots, size)
            highest = float(lots.max())
    return _smallest(chosen, lots, size)[0] if len(lots) > size else chosen


def _smallest(
    chosen: list[pa.RecordBatch], lots: NDArray[np.float64], size: int
) -> tuple[list[pa.RecordBatch], NDArray[np.float64]]:
    """Return the rows with the `size` smallest random numbers, in order, and these numbers."""
    best = np.sort(np.argpartition(lots, size)[:size])
    return pa.Table.from_batches(chosen).take(pa.array(best)).combine_chunks().to_batches(), lots[best]
