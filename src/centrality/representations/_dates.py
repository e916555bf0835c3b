"""Read dates in any form; a cell that is not a date is reported, unlike one that is missing."""

import re
import warnings
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.tables.columns import TableError, is_text
from centrality.tables.number_cells import evenly, without_gaps

if TYPE_CHECKING:
    import pandas as pd

# Ways to write a date in which day and month cannot be mistaken for each other, tried in this order.
# "03/04/2024" is none: it is read only if the rows of the fit were written so.
UNMISTAKABLE = ("ISO8601", "%Y/%m/%d", "%Y.%m.%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d-%b-%Y")
FULL = r"\d{4}(?:-\d{1,2}-\d{1,2}|\d{4})(?:\D|$)"  # a day as ISO 8601 writes it, which also knows bare years and months
WITHOUT_MARKS = "%Y%m%d"  # 20240131, which files hold as whole numbers
SAMPLE = 200  # different texts that are looked at for how they are written
ENOUGH = 0.95  # the share of a column's cells that must be dates for it to be a column of dates
UNGUESSED = (*(f"{a}{mark}{b}{mark}%y" for mark in "/.-" for a, b in (("%m", "%d"), ("%d", "%m"))), "%b %Y", "%B %Y",
             "%b-%y", "%b-%Y", "%b %y", "%m/%Y", "%m.%Y", "%Y年%m月%d日")  # fmt: skip
TIMES = (" %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")


def read_dates(values: pa.ChunkedArray, format: str | None) -> tuple["pd.Series", NDArray[np.bool_]]:
    """Return the values as dates, and say which cells are not dates; `format` is that of the dates in fitting.

    Each value is read by itself, whatever the other rows hold.
    """
    optional("pandas", "table")
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        values, kind = values.cast(pa.string()), pa.string()
    if pa.types.is_integer(kind) and format == WITHOUT_MARKS:
        values, kind = values.cast(pa.string()), pa.string()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        dates = values.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False).to_pandas()
        return dates, np.zeros(len(values), dtype=bool)
    if not is_text(kind):
        raise TableError(f"dates were wanted, as such or as text, got {kind}")
    return _read_texts(values, format)


def learn_format(texts: pa.ChunkedArray) -> tuple[str | None, str]:
    """Return the format of the dates in a column of text, None if they are not dates; and what is doubtful about it.

    If day and month could be in either order, the one that fits more cells of the column is taken.
    """
    pd = optional("pandas", "table")
    distinct, counts = without_gaps(texts).drop_null().value_counts().flatten()
    format = _guessed_format(evenly(distinct, SAMPLE).to_pylist()) if len(distinct) > 1 else None
    if format is None:
        return None, ""
    dates = pd.Series(distinct.to_pylist(), dtype="str")
    taken, other = (_parsed(dates, order, utc=True) for order in (format, _swapped(format)))
    unlike = (taken != other) & taken.notna() & other.notna()
    doubt = ""
    if taken.notna().sum() < other.notna().sum():
        format = _swapped(format)
    elif taken.notna().sum() == other.notna().sum() and unlike.any():
        first = unlike.idxmax()
        doubt = f"{dates[first]!r} is taken for {taken[first]:%d %B %Y}, but day and month could be exchanged"
    _, unread = _read_texts(distinct, format)
    rows = counts.to_numpy()
    return (format, doubt) if rows[unread].sum() <= (1 - ENOUGH) * rows.sum() else (None, "")


def are_days(values: pa.ChunkedArray) -> bool:
    """Say whether whole numbers are dates such as 20240131: all of them are days from 1800 to 2100."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or ends["min"] < 1800_01_01 or ends["max"] > 2100_12_31 or ends["min"] == ends["max"]:
        return False
    distinct = values.unique().drop_null().cast(pa.string())
    dates = optional("pandas", "table").Series(distinct.to_pylist(), dtype="str")
    return bool(_parsed(dates, WITHOUT_MARKS, utc=True).notna().all())


def _guessed_format(texts: list[str]) -> str | None:
    """Return the format of most of these texts that are dates; None if few of them are."""
    pd = optional("pandas", "table")
    if sum(any(map(str.isdigit, text)) for text in texts) < len(texts) / 2:
        return None  # most columns of words: at once
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of dates that are written the other way round
        for day_first in (False, True):
            counts.update(pd.tseries.api.guess_datetime_format(text, dayfirst=day_first) for text in texts)
    counts = Counter({format: count for format, count in counts.items() if isinstance(format, str) and format != "%Y"})
    if not counts:
        dates = pd.Series(texts, dtype="str")
        counts.update({format: 2 * int(_parsed(dates, format, utc=True).notna().sum()) for format in UNGUESSED})
    # Of equally frequent ones: the day comes first before a point, as in Europe; otherwise the month, as in pandas.
    format, count = max(counts.items(), key=lambda item: (item[1], item[0].startswith("%d.")))
    return format if count >= len(texts) / 2 else None


def _swapped(format: str) -> str:
    """Return the format with day and month exchanged, if they could be mistaken for each other."""
    return re.sub(r"^(%d|%m)(\W)(%d|%m)\b", r"\3\2\1", format)


def _parsed(texts: "pd.Series", format: str, *, utc: bool) -> "pd.Series":
    """Return the dates of texts in this format, if they name days and not just years; NaT for other texts."""
    if format == "ISO8601":
        texts = texts.where(texts.str.match(FULL).fillna(value=False))
    return optional("pandas", "table").to_datetime(texts, format=format, errors="coerce", utc=utc)


def _read_texts(values: pa.ChunkedArray, format: str | None) -> tuple["pd.Series", NDArray[np.bool_]]:
    pd = optional("pandas", "table")
    texts = pd.Series(without_gaps(values.cast(pa.string())).to_pylist(), dtype="str")
    as_utc = format is None or "%z" in format  # offsets may differ by season
    dates = _parsed(texts, format or "ISO8601", utc=as_utc)
    if format is None:
        dates = dates.dt.tz_localize(None)
    unread = (texts.notna() & dates.isna()).to_numpy()
    for other in _other_formats(format):
        if not unread.any():
            break
        dates.loc[unread] = _in_zone_of(dates, _parsed(texts[unread], other, utc=True))
        unread = (texts.notna() & dates.isna()).to_numpy()
    return dates, unread


def _other_formats(format: str | None) -> list[str]:
    """List the formats that are tried after `format`: the same without a time, with a time, then `UNMISTAKABLE`."""
    own = [] if format is None else [format.split(" %H")[0].split("T%H")[0]]
    return [*own, *(day + time for day in own for time in TIMES), *UNMISTAKABLE,
            *(day + time for day in UNMISTAKABLE[1:] for time in TIMES)]  # fmt: skip


def _in_zone_of(dates: "pd.Series", found: "pd.Series") -> "pd.Series":
    """Return dates in UTC in the time zone of the column's other dates, or without a zone."""
    return found.dt.tz_localize(None) if dates.dt.tz is None else found.dt.tz_convert(dates.dt.tz)
