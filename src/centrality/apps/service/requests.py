"""Read requests and write answers, as JSON or Arrow."""

import json
import logging
import struct
from collections import Counter
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError, distinct_keys
from centrality._internal.text import column_name
from centrality.apps.service.model import ServedModel
from centrality.apps.service.queue import JsonRows, Limits, RequestError, Rows, count
from centrality.bulk.score import ScoringJob
from centrality.network.calibration import checked_t
from centrality.tables.columns import CellIssues, first_few

LOG = logging.getLogger(__name__)
JSON = "application/json"
CLOSE = (b"connection", b"close")
TOO_LARGE = "This takes more memory than the service has for a request: send fewer rows."


class Answer(NamedTuple):
    """An HTTP answer: status, headers and body; a large body comes in pieces."""

    status: int
    content_type: str
    body: bytes | Sequence[bytes]
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def pieces(self) -> Sequence[bytes]:
        """Return the body in pieces; a whole body is one piece."""
        return [self.body] if isinstance(self.body, bytes) else self.body


async def answer_of(work: Awaitable[Answer], path: str) -> Answer:
    """Return the answer that the work returns, or the answer for the error that it raises."""
    try:
        return await work
    except RequestError as error:
        return refusal(error.status, str(error))
    except InputError as error:  # the model's own words about rows that it cannot score
        return refusal(422, str(error))
    except MemoryError:
        return refusal(413, TOO_LARGE)
    except Exception:  # a bug of ours: the log has the traceback, the answer no internals
        LOG.exception("An error of the service at %s, not of the request", path)
        return refusal(500, "An error of the service, not of the request. The service's log says more.")


def json_answer(value: object, status: int = 200) -> Answer:
    """Return a value as an answer in JSON."""
    return Answer(status, JSON, orjson.dumps(value))


def refusal(status: int, message: str) -> Answer:
    """Return an error as an answer in JSON, with the headers that belong to its status."""
    headers = {503: ((b"retry-after", b"1"),), 401: ((b"www-authenticate", b"Bearer"),), 408: (CLOSE,)}
    headers[415] = ((b"accept-encoding", b"identity"),)
    return json_answer({"error": message}, status)._replace(headers=headers.get(status, ()))


ARROW = "application/vnd.apache.arrow.stream"
OPTIONS = ("t", "p_values", "severity", "explain")
MOST_T = 101  # values of t in a request
NUMBERS_A_ROW = 16  # in an answer, for each row that a request may have
# Bytes of memory for each of these characters of JSON: a list; an object; one more value; half a text.
BYTES_OF_MARKS = {b"[": 64, b"{": 240, b",": 32, b'"': 28}
MOST_BYTES_OF_ONE = 1 + max(BYTES_OF_MARKS.values())

Options: TypeAlias = dict[str, object]  # these, as the request spells them, to be checked


@dataclass
class ScoreRequest:
    """A parsed request: the model to answer it by, its rows as they came, and its options."""

    served: ServedModel
    raw_rows: pa.Table | JsonRows
    ts: list[float]
    p_values: bool
    severity: bool
    explain: bool
    arrow: bool

    def rows(self) -> tuple[Rows, CellIssues]:
        """Return the rows in the form in which they are queued for scoring, and which cells cannot be read."""
        take = self.served.from_arrow if self.arrow else self.served.from_json
        return self.served.prepared(take(self.raw_rows))


def parse(served: ServedModel, kind: str, query: bytes, body: bytes, limits: Limits) -> ScoreRequest:
    """Parse a request within the limits of memory, without converting its rows."""
    options: Options = {}  # of a query such as t=0,0.5,1&p_values=true&explain=false, then of the body
    for name, text in parse_qsl(query.decode("latin-1")) if query else ():
        if name not in OPTIONS:
            raise RequestError(422, f"Unknown: {name!r}. A request may say {', '.join(OPTIONS)}.")
        if name in options:
            raise RequestError(422, f"{name} comes twice in the query: say it once, several values of t as t=0,0.5,1.")
        options[name] = {"true": True, "false": False}.get(text, text) if name != "t" else text
        if name == "t":
            with suppress(ValueError):  # what `t` must be says the check of its values
                options[name] = [float(part) for part in text.split(",")]
    rows: pa.Table | JsonRows
    if kind == ARROW:
        rows = table_of(body, served.columns, limits)
    elif kind == JSON:
        rows, in_body = from_json(body, limits.decoded_bytes)
        options |= in_body
    else:
        raise RequestError(415, f"Content-Type must be {JSON} or {ARROW}, got {kind or 'none'}.")
    n = count(rows)
    if n == 0:
        raise RequestError(422, "Rows were wanted, got none.")
    require_rows(n, limits.rows)
    t = options.get("t", served.t)
    if type(t) is float and 0 <= t <= 1:  # as in most requests: the check below takes longer
        ts = [t]
    else:
        try:
            ts = [abs(float(value)) for value in np.atleast_1d(checked_t(t))]  # -0.0 is 0
        except InputError as error:
            raise RequestError(422, str(error)) from None
    p_values = _flag(options, "p_values")
    severity = _flag(options, "severity")
    explain = _flag(options, "explain")
    if p_values or severity:
        served.fitted.calibration_rows()  # raises if there are none
    if explain and len(ts) > 1:
        raise RequestError(422, f"explain wants one t, got {len(ts)}.")
    numbers = n * (len(ts) * (1 + p_values + severity) + explain * served.fitted.width)
    if len(ts) > MOST_T or numbers > NUMBERS_A_ROW * limits.rows:
        allowed = f"{MOST_T} values of t and {NUMBERS_A_ROW * limits.rows:,} numbers"
        raise RequestError(422, f"An answer has at most {allowed}, this one would have {len(ts):,} and {numbers:,}.")
    if len(set(ts)) < len(ts):
        raise RequestError(422, f"Every t must differ from the others, got {ts}.")
    return ScoreRequest(served, rows, ts, p_values, severity, explain, kind == ARROW)


def answer(
    request: ScoreRequest,
    units: NDArray[np.float64],
    contributions: NDArray[np.float64] | None,
    unreadable: CellIssues,
) -> bytes:
    """Return the scores as columns, named as by `centrality score`; in JSON, also the cells that could not be read."""
    served = request.served
    if request.p_values or request.severity:
        job = ScoringJob(served.model, request.ts, p_values=request.p_values, severity=request.severity)
        columns = job.score_columns(units)
    else:  # the same by a shorter way: most requests are of one row
        mixing = served.fitted.mixing
        columns = {column_name("centrality", t, served.t): mixing.centrality(units, t) for t in request.ts}
    if contributions is not None:
        names = served.contribution_names(contributions.shape[1])
        columns |= {f"contribution_{name}": contributions[:, j] for j, name in enumerate(names)}
    if not request.arrow:
        noted = {"unreadable": unreadable.cells} if unreadable else {}
        return orjson.dumps(columns | noted, default=np.ndarray.tolist, option=orjson.OPT_SERIALIZE_NUMPY)
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def from_json(body: bytes, most_bytes: int, names: Sequence[str] = OPTIONS) -> tuple[JsonRows, Options]:
    """Return the rows and the options of these names of a request in JSON."""
    decoded = _decoded_bytes(body) if len(body) > most_bytes // MOST_BYTES_OF_ONE else 0
    if decoded > most_bytes:
        raise RequestError(413, f"The body would take {decoded:,} bytes decoded, {most_bytes:,} at most: send several.")
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(422, f"The body is not JSON: {error}.") from None
    if not isinstance(request, dict) or not isinstance(request.get("rows"), list):
        raise RequestError(422, 'An object with a list of rows was wanted: {"rows": [[1.5, 2], [0.5, 1]], "t": 0.5}.')
    rows = request["rows"]
    # Of a name that an object has twice, orjson silently keeps the last. If the body has as many quoted texts as there
    # are names, none is there twice; else the body is parsed again, slower.
    names_count = len(request) + sum(len(row) for row in rows if isinstance(row, dict))
    if body.count(b'"') != 2 * names_count:
        try:
            json.loads(body, object_pairs_hook=distinct_keys)
        except (InputError, RecursionError) as error:
            raise RequestError(422, f"The body is not JSON as it was wanted: {error}") from None
    del request["rows"]
    unknown = [name for name in request if name not in names]
    if unknown:
        raise RequestError(422, f"Unknown: {', '.join(map(repr, unknown))}. A request has rows, {', '.join(names)}.")
    return rows, request


def _decoded_bytes(body: bytes) -> int:
    """Estimate the memory that JSON takes as Python objects."""
    return len(body) + sum(size * body.count(mark) for mark, size in BYTES_OF_MARKS.items())


def _flag(options: Options, name: str) -> bool:
    """Return an option that must be true or false; false if it is missing."""
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise RequestError(422, f"{name} must be true or false, got {value!r}.")
    return value


DICTIONARY_BATCH = 2  # kinds of messages, as the format numbers them
RECORD_BATCH = 3
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
        if columns is not None:  # others are not decoded
            times = Counter(table.column_names)
            if twice := [name for name in columns if times[name] > 1]:
                raise RequestError(422, f"The stream has several columns called {first_few(twice)}.")
            table = tables.select(table, columns)
        for name, kind in zip(table.column_names, table.schema.types, strict=True):
            # Of other types few bytes could encode any amount of data.
            nested = pa.types.is_dictionary(kind) or any(is_kind(kind) for is_kind in LISTS)
            inner = kind.value_type if nested else kind
            if not any(is_kind(inner) for is_kind in ONE_BY_ONE + TEXTS):
                wanted = "numbers, text, dates or lists of these"
                raise RequestError(422, f"Column {name!r} is of type {kind}: {wanted} wanted.")
        table.validate(full=True)  # else offsets that point outside a buffer would be followed
        decoded = sum(_bytes_of_column(chunk) for column in table.columns for chunk in column.chunks)
    except (pa.ArrowException, UnicodeDecodeError, OSError, struct.error) as error:
        raise RequestError(422, f"The body is not an Arrow IPC stream: {error}.") from None
    if decoded > limits.decoded_bytes:
        allowed = f"{limits.decoded_bytes:,} at most: send several"
        raise RequestError(413, f"The columns would take {decoded:,} bytes decoded, {allowed}.")
    return table


def require_rows(n: int, max_rows: int) -> None:
    """Raise if there are more rows than a request may have."""
    if n > max_rows:
        raise RequestError(422, f"At most {max_rows:,} rows a request, got {n:,}: send them in several requests.")


def _bytes_of_column(array: Any) -> int:
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
