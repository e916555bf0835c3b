"""Read dates, however they are written or stored; what is no date is told apart from what is missing."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.tables.columns import TableError

if TYPE_CHECKING:
    import pandas as pd

# Ways to write a date in which day and month cannot be mistaken for each other, tried in this order.
# "03/04/2024" is none: it is read only if the rows of the fit were written so.
UNMISTAKABLE = ("ISO8601", "%Y/%m/%d", "%Y.%m.%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d-%b-%Y")
TIMES = (" %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")


def read_dates(values: pa.ChunkedArray, format: str | None) -> tuple["pd.Series", NDArray[np.bool_]]:
    """Return the values as dates, and where one is written that is none; `format` is how those of the fit were written.

    Each value is read by itself: what stands in other rows does not matter.
    """
    optional("pandas", "table")
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        values, kind = values.cast(pa.string()), pa.string()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        dates = values.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False).to_pandas()
        return dates, np.zeros(len(values), dtype=bool)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise TableError(f"dates were wanted, as such or as text, got {kind}")
    return _read_texts(values, format)


def _read_texts(values: pa.ChunkedArray, format: str | None) -> tuple["pd.Series", NDArray[np.bool_]]:
    pd = optional("pandas", "table")
    texts = pd.Series(values.cast(pa.string()).to_pylist(), dtype="str").str.strip()
    texts = texts.where(texts != "", None)
    as_utc = format is None or "%z" in format  # offsets may differ by season
    dates = pd.to_datetime(texts, format=format or "ISO8601", errors="coerce", utc=as_utc)
    if format is None:
        dates = dates.dt.tz_localize(None)
    unread = (texts.notna() & dates.isna()).to_numpy()
    for other in _other_formats(format):
        if not unread.any():
            break
        found = pd.to_datetime(texts[unread], format=other, errors="coerce", utc=True)
        dates.loc[unread] = _in_zone_of(dates, found)
        unread = (texts.notna() & dates.isna()).to_numpy()
    return dates, unread


def _other_formats(format: str | None) -> list[str]:
    """List the ways to write a date that are tried after `format`: that without a time, with one, then those above."""
    own = [] if format is None else [format.split(" %H")[0].split("T%H")[0]]
    return [*own, *(day + time for day in own for time in TIMES), *UNMISTAKABLE,
            *(day + time for day in UNMISTAKABLE[1:] for time in TIMES)]  # fmt: skip


def _in_zone_of(dates: "pd.Series", found: "pd.Series") -> "pd.Series":
    """Return dates in UTC as those of the same column are: in their time zone, or in none."""
    return found.dt.tz_localize(None) if dates.dt.tz is None else found.dt.tz_convert(dates.dt.tz)
