"""What every source of rows has: a schema known first, then Arrow batches."""

from collections.abc import Iterator, Sequence
from zipfile import BadZipFile

import pyarrow as pa

from centrality.tables.columns import TableError, require

BATCH = 32_768  # rows read together, where the format lets us choose

Types = dict[str, pa.DataType]


class Source:
    """Rows to come: `schema` is known, `rows` is their number or an estimate of it, None if nobody can tell."""

    name: str
    kind: str
    schema: pa.Schema
    rows: int | None = None

    def batches(self, columns: Sequence[str] | None = None, types: Types | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, a bounded number at a time: these columns, text formats read in these types."""
        names = self.schema.names if columns is None else list(columns)
        require(self.schema.names, names)
        try:
            for batch in self._batches(names, types):
                if batch.num_rows:
                    yield batch
        except TableError:
            raise
        except (pa.ArrowException, ValueError, EOFError, OSError, BadZipFile) as error:
            raise TableError(f"{self.name} cannot be read as {self.kind}: {error}") from None

    def table(self) -> pa.Table:
        """All rows at once."""
        with self:
            return pa.Table.from_batches(list(self.batches()), self.schema)

    def close(self) -> None:
        """Let go of the file."""

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError

    def _require_rows(self) -> None:
        if self.rows == 0 or len(self.schema) == 0:
            raise TableError(f"{self.name} is empty: it has {self.rows or 0} rows and {len(self.schema)} columns.")
