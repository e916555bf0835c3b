"""Parse a request to /score, and write the answer in the same format: JSON or an Arrow stream."""

import json
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import parse_qsl

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError, distinct_keys
from centrality.scores.mixing import checked_t, name_at
from centrality.scoring.job import Job
from centrality.service._answers import JSON
from centrality.service._arrow import require_rows, table_of
from centrality.service._limits import Limits, RequestError
from centrality.service._rows import JsonRows, Rows, count
from centrality.service._served import ServedModel
from centrality.tables.unreadable import Unreadable

ARROW = "application/vnd.apache.arrow.stream"
OPTIONS = ("t", "p_values", "explain")
MOST_T = 101  # values of t in a request
NUMBERS_A_ROW = 16  # in an answer, for each row that a request may have
# Bytes of memory for each of these characters of JSON: a list; an object; one more value; half a text.
BYTES_OF_MARKS = {b"[": 64, b"{": 240, b",": 32, b'"': 28}
MOST_BYTES_OF_ONE = 1 + max(BYTES_OF_MARKS.values())

Options: TypeAlias = dict[str, object]  # t, p_values and explain as the request spells them, to be checked


@dataclass
class ScoreRequest:
    """Hold a parsed request: the model to answer it by, its rows as they came, and its options."""

    served: ServedModel
    given: pa.Table | JsonRows
    ts: list[float]
    p_values: bool
    explain: bool
    arrow: bool

    def rows(self) -> tuple[Rows, Unreadable]:
        """Return the rows in the form in which they are queued for scoring, and which cells cannot be read."""
        take = self.served.from_arrow if self.arrow else self.served.from_json
        return self.served.prepared(take(self.given))


def parse(served: ServedModel, kind: str, query: bytes, body: bytes, limits: Limits) -> ScoreRequest:
    """Parse a request within the limits of memory, without converting its rows."""
    options = _from_query(query) if query else {}
    given: pa.Table | JsonRows
    if kind == ARROW:
        given = table_of(body, served.columns, limits)
    elif kind == JSON:
        given, in_body = _from_json(body, limits.decoded_bytes)
        options |= in_body
    else:
        raise RequestError(415, f"Content-Type must be {JSON} or {ARROW}, got {kind or 'none'}.")
    n = count(given)
    if n == 0:
        raise RequestError(422, "Rows were wanted, got none.")
    require_rows(n, limits.rows)
    ts, p_values, explain = (
        _values_of_t(options.get("t"), served.t),
        _flag(options, "p_values"),
        _flag(options, "explain"),
    )
    if p_values:
        served.fitted.calibration_rows()  # raises if there are none
    if explain and len(ts) > 1:
        raise RequestError(422, f"explain wants one t, got {len(ts)}.")
    numbers = n * (len(ts) * (1 + p_values) + explain * served.fitted.width)
    if len(ts) > MOST_T or numbers > NUMBERS_A_ROW * limits.rows:
        most = f"{MOST_T} values of t and {NUMBERS_A_ROW * limits.rows:,} numbers"
        raise RequestError(422, f"An answer has at most {most}, this one would have {len(ts):,} and {numbers:,}.")
    return ScoreRequest(served, given, ts, p_values, explain, kind == ARROW)


def answer(
    request: ScoreRequest,
    units: NDArray[np.float64],
    contributions: NDArray[np.float64] | None,
    unreadable: Unreadable,
) -> bytes:
    """Return the scores as columns, named as by `centrality score`; in JSON, also the cells that could not be read."""
    served = request.served
    if request.p_values:
        columns = Job(served.model, request.ts, p_values=True).score_columns(units)
    else:  # the same by a shorter way: most requests are of one row
        mixing = served.fitted.mixing
        columns = {name_at("centrality", t, served.t): mixing.centrality(units, t) for t in request.ts}
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


def _from_json(body: bytes, most_bytes: int) -> tuple[JsonRows, Options]:
    """Return the rows and the options of a request in JSON."""
    decoded = _decoded_bytes(body) if len(body) > most_bytes // MOST_BYTES_OF_ONE else 0
    if decoded > most_bytes:
        raise RequestError(413, f"The body would take {decoded:,} bytes decoded, {most_bytes:,} at most: send several.")
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(422, f"The body is not JSON: {error}.") from None
    if not isinstance(request, dict) or not isinstance(request.get("rows"), list):
        raise RequestError(422, 'An object with a list of rows was wanted: {"rows": [[1.5, 2], [0.5, 1]], "t": 0.5}.')
    _require_distinct(body, request)
    rows = request.pop("rows")
    unknown = [name for name in request if name not in OPTIONS]
    if unknown:
        raise RequestError(422, f"Unknown: {', '.join(map(repr, unknown))}. A request has rows, {', '.join(OPTIONS)}.")
    return rows, request


def _require_distinct(body: bytes, request: dict[str, JsonRows]) -> None:
    """Raise if an object has a name twice, of which orjson would silently keep the last.

    If the body has as many quoted texts as names were found, none is there twice; else the body is parsed again,
    slower.
    """
    names = len(request) + sum(len(row) for row in request["rows"] if isinstance(row, dict))
    if body.count(b'"') == 2 * names:
        return
    try:
        json.loads(body, object_pairs_hook=distinct_keys)
    except (InputError, RecursionError) as error:
        raise RequestError(422, f"The body is not JSON as it was wanted: {error}") from None


def _decoded_bytes(body: bytes) -> int:
    """Estimate the memory that JSON takes as Python objects."""
    return len(body) + sum(size * body.count(mark) for mark, size in BYTES_OF_MARKS.items())


def _from_query(query: bytes) -> Options:
    """Return the options of a query such as t=0,0.5,1&p_values=true&explain=false."""
    options: Options = {}
    for name, text in parse_qsl(query.decode("latin-1")):
        if name not in OPTIONS:
            raise RequestError(422, f"Unknown: {name!r}. A request may say {', '.join(OPTIONS)}.")
        options[name] = text.split(",") if name == "t" else {"true": True, "false": False}.get(text, text)
    return options


def _values_of_t(t: object, models_own: float) -> list[float]:
    """Return the values of t in the request, or the model's own."""
    if t is None:
        return [models_own]
    if type(t) is float and 0 <= t <= 1:  # what most requests ask for: the check below takes longer
        return [t]
    try:
        return [float(value) for value in np.atleast_1d(checked_t(t))]
    except InputError as error:
        raise RequestError(422, str(error)) from None


def _flag(options: Options, name: str) -> bool:
    """Return an option that must be true or false; false if it is missing."""
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise RequestError(422, f"{name} must be true or false, got {value!r}.")
    return value
