"""Turn the columns of a table into what the page shows: numbers, dates, categories, or texts."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.tables.columns import is_number

MOST_LEVELS = 200  # a column of text with more different values than this is text, not a category
LEVEL_COLOURS = 10  # so many the page has for levels; all others share one more
LONGEST_TEXT = 400  # characters of a text that the page gets to see
LOOKED_AT = 1000  # numbers of a column, to know soon that it has fractions
EXACT_IN_FLOAT32 = 2**24  # integers beyond it do not fit float32

Values: TypeAlias = NDArray[np.float32 | np.float64 | np.uint8]
ArrowArray: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class Column:
    """Hold one column: `kind` is number, date (milliseconds since 1970), category or text."""

    name: str
    kind: Literal["number", "date", "category", "text"]
    values: Values  # numbers and dates with NaN for gaps; codes into `levels`, 0 for gaps
    levels: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def columns_of(table: pa.Table, most: int) -> list[Column]:
    """Return the first `most` columns of the table as plain values."""
    return [column_of(name, table[name]) for name in table.column_names[:most]]


def column_of(name: str, values: ArrowArray) -> Column:
    """Return an Arrow array as a column of the most specific kind that fits."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        return column_of(name, values.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        moments = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        return Column(name, "date", _with_gaps(moments))
    if is_number(kind) and not pa.types.is_boolean(kind):
        return Column(name, "number", _numbers(values))
    return _category_or_text(name, values)


def _numbers(values: pa.Array) -> Values:
    """Return the numbers, as float32 if that is exact (short whole numbers, float32 data), else as float64."""
    plain = _with_gaps(values)
    whole = all(_are_short_and_whole(some) for some in (plain[:LOOKED_AT], plain))  # most have a fraction soon
    single = pa.types.is_float32(values.type) or pa.types.is_float16(values.type)
    return plain.astype(np.float32) if whole or single else plain


def _are_short_and_whole(values: NDArray[np.float64]) -> bool:
    """Say whether all numbers but gaps are whole and fit float32."""
    return bool((np.isnan(values) | ((np.abs(values) <= EXACT_IN_FLOAT32) & (values == np.floor(values)))).all())


def _with_gaps(values: pa.Array) -> NDArray[np.float64]:
    """Return the values as floats, NaN where one is missing."""
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _category_or_text(name: str, values: pa.Array) -> Column:
    """Return the values as a category if they have few distinct values, else as texts."""
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        values = pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    coded = pc.dictionary_encode(values)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    levels = coded.dictionary.to_pylist()
    if len(levels) <= min(MOST_LEVELS, max(2, len(values) // 2)):
        order = _in_order(levels, coded.indices)
        new_codes = np.empty(len(levels) + 1, dtype=np.uint8)
        new_codes[0] = 0  # a gap
        new_codes[1 + order] = np.arange(1, len(levels) + 1)
        codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False) + 1
        return Column(name, "category", new_codes[codes], levels=tuple(shortened(levels[k]) for k in order))
    texts = tuple("" if text is None else shortened(text) for text in values.to_pylist())
    return Column(name, "text", np.empty(0), texts=texts)


def _in_order(levels: list[str], codes: pa.Array) -> NDArray[np.intp]:
    """Sort the levels alphabetically, or by frequency if there are more of them than colours."""
    if len(levels) > LEVEL_COLOURS:
        counts = np.bincount(codes.drop_null().to_numpy(), minlength=len(levels))
        return np.asarray(np.lexsort([np.array(levels, dtype=object), -counts]))
    return np.array(sorted(range(len(levels)), key=levels.__getitem__), dtype=np.intp)


def shortened(text: str) -> str:
    """Return the text on one line, cut where the page would not show more."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
