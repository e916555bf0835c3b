"""Columns of a table as the page wants them: numbers, dates, categories, or text."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.tables.columns import is_number

LEVELS = 200  # a column of text with more different values than this is text, not a category
COLOURS = 8  # that the page has for levels; the last one is for all others
LONGEST = 400  # characters of a text that the page gets to see
EXACT = 2**24  # whole numbers beyond it do not fit float32


@dataclass(frozen=True)
class Column:
    """One column: `kind` is number, date (milliseconds since 1970), category or text."""

    name: str
    kind: Literal["number", "date", "category", "text"]
    values: NDArray[Any]  # numbers and dates with NaN for gaps; codes into `levels`, 0 for gaps
    levels: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def columns_of(table: pa.Table, most: int) -> list[Column]:
    """The first `most` columns of the table, as plain values."""
    return [column_of(name, table[name].combine_chunks()) for name in table.column_names[:most]]


def column_of(name: str, values: Any) -> Column:
    """One Arrow array, in the kind that says most about it."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        return column_of(name, values.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        moments = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        return Column(name, "date", _with_gaps(moments, np.float64))
    if is_number(kind) and not pa.types.is_boolean(kind):
        return Column(name, "number", _numbers(values))
    return _words(name, values)


def _numbers(values: Any) -> NDArray[Any]:
    plain = _with_gaps(values, np.float64)
    fits = np.nanmax(np.abs(plain), initial=0.0) <= EXACT or not pa.types.is_integer(values.type)
    with np.errstate(over="ignore"):
        return plain.astype(np.float32) if fits else plain


def _with_gaps(values: Any, dtype: Any) -> NDArray[Any]:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=dtype)


def _words(name: str, values: Any) -> Column:
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        values = pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    coded = pc.dictionary_encode(values)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    levels = coded.dictionary.to_pylist()
    if len(levels) <= min(LEVELS, max(2, len(values) // 2)):
        order = _in_order(levels, coded.indices)
        place = np.empty(len(levels) + 1, dtype=np.uint8)
        place[0] = 0
        place[1 + order] = np.arange(1, len(levels) + 1)
        codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False) + 1
        return Column(name, "category", place[codes], levels=tuple(shortened(levels[k]) for k in order))
    texts = tuple("" if text is None else shortened(text) for text in values.to_pylist())
    return Column(name, "text", np.empty(0), texts=texts)


def _in_order(levels: list[str], codes: Any) -> NDArray[np.intp]:
    """By the alphabet, or by how common they are if there are more levels than colours."""
    if len(levels) > COLOURS:
        counts = np.bincount(codes.drop_null().to_numpy(), minlength=len(levels))
        return np.asarray(np.lexsort([np.array(levels, dtype=object), -counts]))
    return np.array(sorted(range(len(levels)), key=levels.__getitem__), dtype=np.intp)


def shortened(text: str) -> str:
    """The text on one line, cut where the page would not show more."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
