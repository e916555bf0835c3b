"""Read vectors of a .npy or .npz file as one column beside the rows of another file, in the same order."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from centrality.tables.binary import ArraySource
from centrality.tables.columns import BATCH, Source, TableError, Types

VECTORS = "vectors"  # the name of the column


class VectorsBeside(Source):
    """Gives the rows of one source, each with its vector at the end."""

    def __init__(self, vectors: Source, rows: Source) -> None:
        self.name = f"{vectors.name} with {rows.name}"
        self.kind = rows.kind
        self.rows_above = rows.rows_above
        if not isinstance(vectors, ArraySource):
            raise TableError(
                f"{vectors.name}: vectors in a .npy or .npz file were wanted beside the rows of {rows.name}. A file of "
                "rows with a column of vectors needs no other."
            )
        if VECTORS in rows.schema.names:
            raise TableError(f"{rows.name}: it has a column {VECTORS!r}, the name of the vectors beside it: rename it.")
        if rows.kind == "images":
            raise TableError(f"{rows.name}: a file of rows was wanted, got a folder of images.")
        self._vectors = vectors
        self._others = rows
        self.states = [*vectors.states, *rows.states]
        self.rows = vectors.rows
        self.schema = rows.schema.append(pa.field(VECTORS, pa.list_(vectors.schema[0].type, len(vectors.schema))))
        self._require_rows()

    def close(self) -> None:
        self._others.close()
        self._vectors.close()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        others = [name for name in names if name != VECTORS]
        width = len(self._vectors.schema)
        end = 0
        for batch in self._others.batches(others or self._others.schema.names[:1], types):
            for start in range(0, batch.num_rows, BATCH):
                rows = batch.slice(start, BATCH)
                begin = end
                end += rows.num_rows
                if end > (self.rows or 0):
                    continue
                columns = {name: rows[name] for name in others}
                numbers = self._vectors.matrix(begin, end).ravel()
                columns[VECTORS] = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(numbers)), width)
                yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))
        if end != self.rows:
            raise TableError(
                f"{self._vectors.name} holds {self.rows:,} vectors, but {self._others.name} has {end:,} rows: one "
                "vector for each row was wanted, in the same order."
            )
