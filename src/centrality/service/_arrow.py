"""Read Arrow IPC streams from unknown clients: nothing in them is trusted."""

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from centrality import tables
from centrality.service._limits import Limits, RequestError
from centrality.tables.columns import first_few

RECORD_BATCH, DICTIONARY_BATCH = 3, 2  # kinds of messages, as the format numbers them
OBJECT_BYTES = 32  # of a value that becomes an object of Python's
ONE_BY_ONE = (
    pa.types.is_null,
    pa.types.is_primitive,  # numbers, truth values, dates and times
    pa.types.is_decimal,
    pa.types.is_fixed_size_binary,
)
TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def table_of(body: bytes, columns: Sequence[str] | None, limits: Limits) -> pa.Table:
    """Return these columns of the stream, None for all; raise if they are invalid, or too large when decoded."""
    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            _require_plain(message.metadata.to_pybytes())
        table = pa.ipc.open_stream(body).read_all()
        require_rows(table.num_rows, limits.rows)
        table = _chosen(table, columns)
        for field in table.schema:
            _require_flat(field.name, field.type)
        table.validate(full=True)  # else offsets that point outside a buffer would be followed
        decoded = sum(_decoded_bytes(chunk) for column in table.columns for chunk in column.chunks)
    except (pa.ArrowException, UnicodeDecodeError, OSError, struct.error) as error:
        raise RequestError(422, f"The body is not an Arrow IPC stream: {error}.") from None
    if decoded > limits.decoded_bytes:
        most = f"{limits.decoded_bytes:,} at most: send several"
        raise RequestError(413, f"The columns would take {decoded:,} bytes decoded, {most}.")
    return table


def require_rows(n: int, most: int) -> None:
    """Raise if there are more rows than a request may have."""
    if n > most:
        raise RequestError(422, f"At most {most:,} rows a request, got {n:,}: send them in several requests.")


def _chosen(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """Return the columns that the model reads; others are not decoded."""
    if columns is None:
        return table
    times = Counter(table.column_names)
    twice = [name for name in columns if times[name] > 1]
    if twice:
        raise RequestError(422, f"The stream has several columns called {first_few(twice)}.")
    return tables.select(table, columns)


def _require_flat(name: str, kind: pa.DataType) -> None:
    """Raise if a column's type lets few bytes encode any amount of data."""
    inner = kind
    if pa.types.is_dictionary(inner) or any(is_kind(inner) for is_kind in LISTS):
        inner = inner.value_type
    if not any(is_kind(inner) for is_kind in ONE_BY_ONE + TEXTS):
        raise RequestError(422, f"Column {name!r} is of type {kind}: numbers, text, dates or lists of these wanted.")


def _decoded_bytes(array: Any) -> int:
    """Return how many bytes the array's values take when decoded."""
    if pa.types.is_dictionary(array.type):
        if not any(is_kind(array.type.value_type) for is_kind in TEXTS):
            return OBJECT_BYTES * len(array)
        lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
        return OBJECT_BYTES * len(array) + int(pc.sum(lengths.take(array.indices)).as_py() or 0)
    if any(is_kind(array.type) for is_kind in LISTS):
        return OBJECT_BYTES * (len(array) + len(array.values)) + int(array.values.nbytes)
    return 8 * len(array) + int(array.nbytes)


def _require_plain(metadata: bytes) -> None:
    """Raise if a message's buffers are compressed, or add to an earlier dictionary: its size would then be no bound.

    This is read from the message's flatbuffer, as Arrow has no function for it.
    """
    message = struct.unpack_from("<I", metadata)[0]
    kind = _field(metadata, message, 1)
    header = _field(metadata, message, 2)
    if not kind or not header or metadata[kind] not in (RECORD_BATCH, DICTIONARY_BATCH):
        return
    records = _target(metadata, header)
    if metadata[kind] == DICTIONARY_BATCH:
        adds = _field(metadata, records, 2)
        if adds and metadata[adds]:
            raise RequestError(422, "The Arrow stream has dictionaries in parts: send each whole.")
        records = _target(metadata, _field(metadata, records, 1))
    if _field(metadata, records, 3):
        raise RequestError(422, "The Arrow stream is compressed: send it plain, so that its size is known.")


def _field(buffer: bytes, table: int, number: int) -> int:
    """Return the position of a flatbuffer table's field of this number; 0 if it has none."""
    layout = table - struct.unpack_from("<i", buffer, table)[0]
    size = struct.unpack_from("<H", buffer, layout)[0]
    entry = 4 + 2 * number
    offset = struct.unpack_from("<H", buffer, layout + entry)[0] if entry < size else 0
    return table + offset if offset else 0


def _target(buffer: bytes, reference: int) -> int:
    """Return the position that a reference of the flatbuffer, relative to itself, points to."""
    return reference + int(struct.unpack_from("<I", buffer, reference)[0])
