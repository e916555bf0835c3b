"""Columns of tables: how they are read, what cannot be read, where they come from.

Such a cell is never taken for a typical one: it counts against its row, is reported, and where a column has too many
of them the job stops, since the column is then no longer what the model was fitted on.
"""

import difflib
import os
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._internal.checks import InputError, warn_caller

if TYPE_CHECKING:
    from centrality.tables.binary import Footer


FEWEST_NUMBERS = 8  # of a vector: shorter lists are read number by number
MOST = 0.05  # the share of a column's rows beyond which a job stops, unless told otherwise
NEVER_TOO_MANY = 1  # so few rows prove nothing about a column
ENOUGH_ROWS = 10_000  # after so many rows, a column that fails stops the job without waiting for the end

# What can be wrong with a cell, in the words of a message.
NO_DATE = "cannot be read as a date"
NO_NUMBER = "cannot be read as a number"
NEW_GAP = "is missing, unlike in fitting"
NEW_VALUE = "did not occur in fitting"
NEW_KIND = "is a context of which no such kind was seen in fitting"  # of the columns that are given, together
TWO_NUMBERS = "could be two numbers: its point or comma was no mark between thousands in fitting"
NO_UNIT = "has no unit, and is of another size than with one in fitting"
NO_ZONE = "has no time zone, unlike in fitting"
OWN_ZONE = "has a time zone, unlike in fitting"
OTHER_ZONE = "is of another time zone than in fitting"
CHANGED = "is not the one that all rows of fitting had"  # of a column that was left out for it
FILLED = "is there, unlike in all rows of fitting"
MORE_GAPS = "is missing, as it was in far fewer rows of fitting"
BEYOND_ALL = "lies beyond all those of fitting"  # where that is so of every row
# Of blocks: pictures, long texts, vectors.
ABSENT = "is missing"
NO_PICTURE = "cannot be read as a picture"
EMPTY = "shows or says nothing"
NO_VECTOR = "is no vector of as many finite numbers as those of fitting"
# What becomes of a cell that is read all the same; any other counts against its row.
READ_SO = {
    NEW_KIND: "the row is measured by what all kinds have in common",
    NO_UNIT: "it is read in the unit of fitting all the same",
    NO_ZONE: "it is read as local time in the zone of fitting",
    OWN_ZONE: "it is read as local time, without its zone",
    ABSENT: "the row is scored by the rest",
    NO_PICTURE: "the row is scored by the rest",
    BEYOND_ALL: "that alone makes rows odd: leave out a column that says no more (a running number, a date)",
    CHANGED: "the model has not learned from this column, so scores do not show it",
    FILLED: "the model has not learned from this column, so scores do not show it",
    MORE_GAPS: "it counts as a gap of fitting does",
    OTHER_ZONE: "it is converted to that of fitting",
}


@dataclass(frozen=True)
class CellIssues:
    """The number of rows read, and for each column the number of cells with each fault."""

    rows: int = 0
    cells: dict[str, dict[str, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.cells)

    def __add__(self, other: "CellIssues") -> "CellIssues":
        names = {**self.cells, **other.cells}
        cells = {name: dict(Counter(self.cells.get(name, {})) + Counter(other.cells.get(name, {}))) for name in names}
        return CellIssues(self.rows + other.rows, cells)

    def count(self) -> int:
        """Return the number of such cells in all columns."""
        return sum(sum(faults.values()) for faults in self.cells.values())

    def notes(self) -> list[str]:
        """Say what was wrong, a line for each column and fault."""
        return [
            f"Column {name!r}: in {count:,} of {self.rows:,} rows the value {fault}; "
            f"{READ_SO.get(fault, 'it counts against the row')}."
            for name, faults in self.cells.items()
            for fault, count in faults.items()
        ]

    def warn(self) -> None:
        """Warn of what was wrong, in the name of whoever called the function that calls this."""
        for note in self.notes():
            warn_caller(note, DataNote)

    def require_few(self, share: float) -> None:
        """Raise if the cells of a column failed in more than this share of the rows, and in more than one.

        What is read all the same is no failure: there may be much of it.
        """
        for name, all_faults in self.cells.items():
            faults = {fault: count for fault, count in all_faults.items() if fault not in READ_SO}
            failed = sum(faults.values())
            if failed > max(share * self.rows, NEVER_TOO_MANY):
                counts = ", ".join(f"in {count:,} the value {fault}" for fault, count in faults.items())
                raise TableError(
                    f"Column {name!r} is not what the model was fitted on: of {self.rows:,} rows, {counts}. "
                    f"At most {share:.0%} were wanted. Correct the column, or let such cells count against their rows: "
                    "--unreadable 1 (in Python: Table(unreadable=1))."
                )


def checked_share(share: object) -> float:
    """Return the largest share of a column's cells that may fail; raise if it is not a share."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InputError(f"unreadable must be a share of the rows from 0 to 1, got {share!r}.")
    return float(share)


# What libraries raise of a file that is damaged, cut short, or of another kind than its name says.
DAMAGED = (pa.ArrowException, ValueError, EOFError, OSError, BadZipFile, zlib.error, MemoryError)
TRANSPOSED_TOGETHER = 4096  # rows: so many stay in the processor's cache, which takes a quarter of the time


class TableError(InputError):
    """Says that a file or a column cannot be used, and what was wanted.

    >>> from centrality import tables
    >>> try:
    ...     tables.require(["width", "height"], ["widht"])
    ... except tables.TableError as error:
    ...     print(error)
    Missing column: 'widht'. Did you mean 'width'? There are: 'width', 'height'.
    """


class DataNote(UserWarning):
    """Warns of something in the data; the rows are scored all the same."""


@contextmanager
def reading(name: object, kind: str, errors: tuple[type[Exception], ...] = DAMAGED) -> Iterator[None]:
    """Raise a TableError if the block fails because a file of this name cannot be read as this kind of file."""
    try:
        yield
    except (TableError, FileNotFoundError):
        raise
    except errors as error:
        raise TableError(f"{name} cannot be read as {kind}: {error}") from None


def select(table: Any, columns: Sequence[str]) -> Any:
    """Return these columns of a table or a batch, in this order; raise if one is missing, and suggest a similar name.

    >>> import pyarrow as pa
    >>> from centrality.tables import select
    >>> select(pa.table({"a": [1], "b": [2]}), ["b"]).column_names
    ['b']
    """
    require(table.schema.names, columns)
    return table.select(list(columns))


def require(available: Sequence[str], columns: Sequence[str]) -> None:
    """Raise if one of the columns is missing.

    >>> from centrality.tables import require
    >>> require(["length", "width"], ["length"])
    """
    times = Counter(available)
    require_distinct([name for name in columns if times[name] > 1], "The table")
    missing = [name for name in columns if name not in times]
    if missing:
        near = difflib.get_close_matches(missing[0], available, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(f"Missing column: {', '.join(map(repr, missing))}.{hint} There are: {first_few(available)}.")


def require_distinct(names: Sequence[str], where: str) -> None:
    """Raise if a wanted column occurs twice, as it is then unclear which one is meant."""
    if names:
        raise TableError(f"{where}: column names must differ, but {names[0]!r} comes twice.")


def require_replaceable(new: Iterable[str], learned: Collection[str]) -> None:
    """Raise if one of the output's new columns would replace a column that the model learned from."""
    if clash := sorted(name for name in new if name in learned):
        raise TableError(
            f"The model learned from a column {clash[0]!r}, which a new one would replace in the output: "
            "give it another name in the data, and fit again."
        )


def note_replaced(new: Iterable[str], columns: Collection[str]) -> None:
    """Warn of columns of the data that new ones of the same name replace in the output."""
    if names := [name for name in new if name in columns]:
        note = f"New columns replace those of the data called {first_few(names)}: rename these to keep both."
        warn_caller(note, DataNote)


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def numbers(table: Any, advice: str = "") -> NDArray[Any]:  # (n, p)
    """Return a table or batch whose columns are all numbers as an array; missing values become NaN.

    If a column holds something else, the error names it and ends with this advice.

    >>> import pyarrow as pa
    >>> from centrality.tables import numbers
    >>> numbers(pa.table({"a": [1, 2], "b": [0.5, 1.5]})).tolist()
    [[1.0, 0.5], [2.0, 1.5]]
    """
    other = [field.name for field in table.schema if not is_number(field.type)]
    if other:
        numeric = [field.name for field in table.schema if is_number(field.type)]
        raise TableError(
            f"Numbers were wanted, but these columns hold something else: {first_few(other)}. "
            f"Columns of numbers here: {','.join(numeric[:8]) or 'none'}. {advice}".rstrip()
        )
    kinds = {field.type for field in table.schema}
    dtype = np.float32 if kinds == {pa.float32()} else np.float64
    matrix = np.empty((table.num_rows, table.num_columns), dtype=dtype)
    end = 0
    for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
        columns = []
        for column in batch.columns:
            if column.null_count or pa.types.is_boolean(column.type) or pa.types.is_float16(column.type):
                column = column.cast(pa.float64(), safe=False)
            columns.append(np.asarray(column.to_numpy(zero_copy_only=False)))
        for start in range(0, batch.num_rows if columns else 0, TRANSPOSED_TOGETHER):
            block = np.stack([column[start : start + TRANSPOSED_TOGETHER] for column in columns])
            matrix[end : end + block.shape[1]] = block.T
            end += block.shape[1]
    return matrix


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def first_few(names: Sequence[str], limit: int = 8) -> str:
    """List the first of the names, for a message, and say how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more


@dataclass(frozen=True)
class FileState:
    """The identity, size and time of the file that was at a path."""

    path: str
    inode: int
    size: int
    modified: int  # in nanoseconds

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "FileState | None":
        """Return the state of the file at this path; None if there is no regular file, such as for a pipe."""
        try:
            status = Path(path).stat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return cls(os.fspath(path), status.st_ino, status.st_size, status.st_mtime_ns)


def require_unchanged(states: Iterable[FileState | None]) -> None:
    """Raise if one of the files has changed since its state was taken."""
    for state in states:
        if state is not None and FileState.of(state.path) != state:
            raise TableError(
                f"{state.path} changed while it was read, so that old and new rows may be mixed. "
                "Read it again when nobody writes to it, or read a copy."
            )


BATCH = 32_768  # rows read together, where the format lets us choose

Types = dict[str, pa.DataType]


class Source:
    """Gives rows: `schema` is known first; `rows` is their number or an estimate of it, None if it is not known.

    >>> from centrality import tables
    >>> with tables.open_rows("wine") as source:
    ...     print(len(source.schema), sum(batch.num_rows for batch in source.batches()))
    13 178
    """

    name: str
    kind: str  # the ending of such files
    schema: pa.Schema
    rows: int | None = None
    rows_above: int | None = None  # lines above the first row, or rows of its sheet; None: people see no numbers there
    live = False  # rows come while somebody makes them: each is to be handed on as soon as it is there
    in_part = False  # these are only some of a file's rows
    files: "Sequence[Footer]" = ()  # empty where rows are not counted file by file
    states: Sequence[FileState | None] = ()  # of the files, before they were read

    def batches(self, columns: Sequence[str] | None = None, types: Types | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, a bounded number at a time: these columns, text formats read in these types."""
        names = self.schema.names if columns is None else list(columns)
        require(self.schema.names, names)
        with reading(self.name, self.kind):
            yield from (batch for batch in self._batches(names, types) if batch.num_rows)
            require_unchanged(self.states)

    def table(self) -> pa.Table:
        """Read all rows at once; text formats choose types by all rows."""
        with self:
            return pa.Table.from_batches(list(self.batches()), self.schema)

    def draw(self, size: int, rng: np.random.Generator, names: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
        """Return somewhat more than `size` random rows if they can be drawn where they are; else None."""
        return None

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError

    def _require_rows(self) -> None:
        require_distinct(repeated(self.schema.names), self.name)
        if self.rows == 0 or len(self.schema) == 0:
            raise TableError(f"{self.name} is empty: it has {self.rows or 0} rows and {len(self.schema)} columns.")


class Sink:
    """Takes tables in order; `close` ends the file."""

    def write(self, table: pa.Table) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Write what is known only at the end, such as a footer."""


MakeSink = Callable[[BinaryIO, pa.Schema], Sink]  # for an open binary file and the schema of the tables to come


@dataclass(frozen=True)
class Format:
    """Define how files of one ending are read and written."""

    read: Callable[[Path], Source]
    write: MakeSink | None = None  # None: they are only read
    write_stream: MakeSink | None = None  # onto stdout, as the rows come; None: nobody could read that as it comes
    is_text: bool = False  # such files may also be packed, and then end in .gz, .bz2, .zst or .zip
    keeps_note: bool = False  # whether the schema's metadata can be found again without reading the rows
