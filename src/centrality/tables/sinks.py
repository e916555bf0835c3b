"""Where rows go: files written batch by batch, beside their place and renamed when whole, or stdout."""

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from centrality.tables import locations
from centrality.tables.columns import numbers
from centrality.tables.sources import kind_of
from centrality.tables.text import SEPARATORS

ROW_GROUP = 131_072  # rows gathered before they are written as a Parquet row group


class Sink:
    """Takes tables in order; `close` ends the file."""

    def write(self, table: pa.Table) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Write what only the end knows."""


class CsvSink(Sink):
    def __init__(self, file: Any, schema: pa.Schema, kind: str) -> None:
        from pyarrow import csv

        self._options = csv.WriteOptions(delimiter=SEPARATORS[kind], include_header=False)
        file.write(header_line(kind, schema.names))
        self._file = file

    def write(self, table: pa.Table) -> None:
        from pyarrow import csv

        held = pa.BufferOutputStream()
        csv.write_csv(_flat(table), held, self._options)
        self._file.write(held.getvalue())


class JsonSink(Sink):
    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, table: pa.Table) -> None:
        lines = (json.dumps(_finite(row), ensure_ascii=False, default=str) for row in table.to_pylist())
        self._file.write(("\n".join(lines) + "\n").encode())


class ParquetSink(Sink):
    def __init__(self, file: Any, schema: pa.Schema) -> None:
        from pyarrow import parquet

        # Dictionaries of measured numbers only cost time: nearly every one is different.
        repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._writer = parquet.ParquetWriter(file, schema, use_dictionary=repeated, write_statistics=repeated)
        self._waiting: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        if sum(part.num_rows for part in self._waiting) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=2 * ROW_GROUP)
            self._waiting = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


class ArrowSink(Sink):
    def __init__(self, file: Any, schema: pa.Schema, *, stream: bool) -> None:
        self._writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


class NpySink(Sink):
    """The numbers alone. The header is written again at the end, when the number of rows is known."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        numbers(schema.empty_table())  # says at once if a column is not made of numbers
        single = all(field.type == pa.float32() for field in schema)
        self._dtype = np.dtype(np.float32 if single else np.float64)
        self._file, self._rows, self._columns = file, 0, len(schema)
        self._header()

    def write(self, table: pa.Table) -> None:
        self._file.write(numbers(table).astype(self._dtype).tobytes())
        self._rows += table.num_rows

    def close(self) -> None:
        end = self._file.tell()
        self._file.seek(0)
        self._header()  # as long as the first one: numpy leaves room for rows to be appended
        self._file.seek(end)

    def _header(self) -> None:
        shape = (self._rows, self._columns)
        descr = np.lib.format.dtype_to_descr(self._dtype)
        np.lib.format.write_array_header_1_0(self._file, {"descr": descr, "fortran_order": False, "shape": shape})


class NpzSink(Sink):
    """An array a column. The format wants each one whole, so they wait until the end."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        numbers(schema.empty_table())
        self._file, self._parts = file, [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self._parts.append(table)

    def close(self) -> None:
        table = pa.concat_tables(self._parts)
        arrays: dict[str, Any] = {name: numbers(table.select([name]))[:, 0] for name in table.column_names}
        np.savez(self._file, **arrays)  # numbers(...) leaves nothing to pickle


def make(kind: str, file: Any, schema: pa.Schema, *, stream: bool = False) -> Sink:
    """A sink of this kind into an open binary file."""
    if kind in SEPARATORS:
        return CsvSink(file, schema, kind)
    if kind == ".jsonl":
        return JsonSink(file)
    if kind == ".parquet":
        return ParquetSink(file, schema)
    if kind in (".arrow", ".feather"):
        return ArrowSink(file, schema, stream=stream)
    return {".npy": NpySink, ".npz": NpzSink}[kind](file, schema)


@contextmanager
def opened(path: str | Path) -> Iterator[Any]:
    """A binary file that takes the place of `path` only if the block succeeds; "-" is stdout."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    kind_of(path)
    with locations.whole(path) as beside, beside.open("wb") as file:
        if locations.name_of(path).suffix.lower() == ".gz":
            with gzip.open(file, "wb", compresslevel=6) as packed:
                yield packed
        else:
            yield file


def write(table: pa.Table, path: str | Path) -> None:
    """Write a table in the format its ending names: for .npy the numbers alone, for .npz an array a column."""
    kind = kind_of(path)
    with opened(path) as file:
        sink = make(kind, file, table.schema)
        sink.write(table)
        sink.close()


def header_line(kind: str, names: list[str]) -> bytes:
    """The first line of a CSV file, without quotation marks where a name needs none, as people write them."""
    mark = SEPARATORS[kind]
    return (mark.join(_quoted(name, mark) for name in names) + "\n").encode()


def as_text(kind: str, values: dict[str, Any]) -> list[bytes]:
    """What each record of a text table gets at its end for these new columns, line end included."""
    missing = "" if kind in SEPARATORS else "null"
    text = partial(_quoted, separator=SEPARATORS[kind]) if kind in SEPARATORS else json.dumps
    columns = [
        [text(v) if isinstance(v, str) else missing if v != v else repr(v) for v in column.tolist()]
        for column in values.values()
    ]
    if kind in SEPARATORS:
        shape = (SEPARATORS[kind] + "%s") * len(columns) + "\n"
    else:
        shape = "".join(f", {json.dumps(name).replace('%', '%%')}: %s" for name in values) + "}\n"
    return [(shape % row).encode() for row in zip(*columns, strict=True)]


def _flat(table: pa.Table) -> pa.Table:
    """CSV holds no lists and no records: those become text."""
    for j, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = [None if value is None else json.dumps(value, default=str) for value in table[j].to_pylist()]
            table = table.set_column(j, field.name, pa.array(text, pa.string()))
    return table


def _quoted(name: str, separator: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in f'{separator}"\r\n') else name


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no NaN: such a number is missing."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
