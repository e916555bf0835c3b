"""What a request to /score asks for, and the answer in the same format: JSON or an Arrow stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.scores.calibration import blend, checked_t
from centrality.scoring.job import Job
from centrality.service._arrow import table_of
from centrality.service._limits import RequestError
from centrality.service._rows import Rows, count
from centrality.service._served import Served

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
OPTIONS = ("t", "p_values", "explain")
MOST_T = 101  # values of t in a request
ANSWERED = 16  # numbers in an answer, for each row that a request may have


@dataclass
class Asked:
    """One request, read."""

    rows: Rows
    ts: list[float]
    p_values: bool
    explain: bool
    arrow: bool


def read(served: Served, kind: str, query: bytes, body: bytes, most_rows: int) -> Asked:
    """The request, or an error that says what was wanted."""
    options: dict[str, Any] = _from_query(query) if query else {}
    take: Callable[[Any], Rows]
    if kind == ARROW:
        given, take = table_of(body), served.from_arrow
    elif kind == JSON:
        given, own = _json(body)
        options, take = options | own, served.from_json
    else:
        raise RequestError(415, f"Content-Type must be {JSON} or {ARROW}, got {kind or 'none'}.")
    n = count(given)
    if n == 0:
        raise RequestError(422, "Rows were wanted, got none.")
    if n > most_rows:
        raise RequestError(422, f"At most {most_rows:,} rows a request, got {n:,}: send them in several requests.")
    ts, p_values, explain = _dial(options.get("t"), served.t), _truth(options, "p_values"), _truth(options, "explain")
    if explain and len(ts) > 1:
        raise RequestError(422, f"explain wants one t, got {len(ts)}.")
    numbers = n * (len(ts) * (1 + p_values) + explain * served.fitted.width)
    if len(ts) > MOST_T or numbers > ANSWERED * most_rows:
        most = f"{MOST_T} values of t and {ANSWERED * most_rows:,} numbers"
        raise RequestError(422, f"An answer has at most {most}, this one would have {len(ts):,} and {numbers:,}.")
    return Asked(take(given), ts, p_values, explain, kind == ARROW)


def answer(asked: Asked, served: Served, heads: NDArray[np.float64], parts: NDArray[Any] | None) -> bytes:
    """The scores as columns, named as `centrality score` names them."""
    if asked.p_values:
        columns = Job(served.model, asked.ts, inliers=served.fitted.calibration_heads()).score_columns(heads)
    else:
        columns = {f"centrality_{t:g}": blend(heads, t) for t in asked.ts}
    if parts is not None:
        columns |= {f"contribution_{name}": parts[:, j] for j, name in enumerate(served.part_names(parts.shape[1]))}
    if not asked.arrow:
        return orjson.dumps(columns, default=np.ndarray.tolist, option=orjson.OPT_SERIALIZE_NUMPY)
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _json(body: bytes) -> tuple[list[Any], dict[str, Any]]:
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(422, f"The body is not JSON: {error}.") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("rows"), list):
        raise RequestError(422, 'An object with a list of rows was wanted: {"rows": [[1.5, 2], [0.5, 1]], "t": 0.5}.')
    rows = asked.pop("rows")
    unknown = [name for name in asked if name not in OPTIONS]
    if unknown:
        raise RequestError(422, f"Unknown: {', '.join(map(repr, unknown))}. A request has rows, {', '.join(OPTIONS)}.")
    return rows, asked


def _from_query(query: bytes) -> dict[str, Any]:
    """?t=0,0.5,1&p_values=true&explain=false"""
    found: dict[str, Any] = {}
    for name, text in parse_qsl(query.decode("latin-1")):
        if name not in OPTIONS:
            raise RequestError(422, f"Unknown: {name!r}. A request may say {', '.join(OPTIONS)}.")
        found[name] = text.split(",") if name == "t" else {"true": True, "false": False}.get(text, text)
    return found


def _dial(t: Any, own: float) -> list[float]:
    """The values of t that were asked for, or the model's own."""
    if t is None:
        return [own]
    if type(t) is float and 0 <= t <= 1:  # what most requests ask for: no ceremony for that
        return [t]
    try:
        return [float(one) for one in np.atleast_1d(checked_t(t))]
    except InputError as error:
        raise RequestError(422, str(error)) from None


def _truth(options: dict[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise RequestError(422, f"{name} must be true or false, got {value!r}.")
    return value
