"""Read Arrow IPC streams from people we do not know: nothing in them is trusted."""

import struct

import pyarrow as pa

from centrality.service._limits import RequestError

RECORD_BATCH, DICTIONARY_BATCH = 3, 2  # kinds of messages, as the format numbers them


def table_of(body: bytes) -> pa.Table:
    """Return the table that the stream holds; its buffers have been checked, and are no larger than the body."""
    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            if _is_compressed(message.metadata.to_pybytes()):
                raise RequestError(422, "The Arrow stream is compressed: send it plain, so that its size is known.")
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)  # offsets that lead out of a buffer would be followed otherwise
    except (pa.ArrowException, UnicodeDecodeError, OSError, struct.error) as error:
        raise RequestError(422, f"The body is not an Arrow IPC stream: {error}.") from None
    return table


def _is_compressed(metadata: bytes) -> bool:
    """Tell whether a message's buffers are compressed: its flatbuffer says so, and Arrow has no other way to ask."""
    message = struct.unpack_from("<I", metadata)[0]
    kind = _field(metadata, message, 1)
    header = _field(metadata, message, 2)
    if not kind or not header or metadata[kind] not in (RECORD_BATCH, DICTIONARY_BATCH):
        return False
    records = _target(metadata, header)
    if metadata[kind] == DICTIONARY_BATCH:
        records = _target(metadata, _field(metadata, records, 1))
    return _field(metadata, records, 3) != 0


def _field(buffer: bytes, table: int, number: int) -> int:
    """Return where a flatbuffer table has its field of this number; 0 if it has none."""
    layout = table - struct.unpack_from("<i", buffer, table)[0]
    size = struct.unpack_from("<H", buffer, layout)[0]
    entry = 4 + 2 * number
    offset = struct.unpack_from("<H", buffer, layout + entry)[0] if entry < size else 0
    return table + offset if offset else 0


def _target(buffer: bytes, reference: int) -> int:
    """Return where a reference of the flatbuffer, which is relative to itself, leads."""
    return reference + int(struct.unpack_from("<I", buffer, reference)[0])
