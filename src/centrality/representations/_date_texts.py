"""Read dates that people have written as text: each by itself, in the format of its column or an unmistakable one."""

import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.tables.written_numbers import evenly, without_gaps

# Ways to write a date in which day and month cannot be mistaken for each other, tried in this order.
# "03/04/2024" is none: it is read only if the rows of the fit were written so.
UNMISTAKABLE = ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%Y.%m.%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y",
                "%d-%b-%Y")  # fmt: skip
# Further ways that a column may be written in. Of two that fit equally many cells the first is taken: the day comes
# first before a point, as in Europe; otherwise the month does.
DAYS = (*UNMISTAKABLE, "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%Y", "%m.%d.%Y", "%m/%d/%y", "%d/%m/%y",
        "%m-%d-%y", "%d-%m-%y", "%d.%m.%y", "%m.%d.%y", "%B %d %Y", "%b %d %Y", "%Y-%m", "%b %Y", "%B %Y", "%b-%y",
        "%b-%Y", "%b %y", "%m/%Y", "%m.%Y", "%Y年%m月%d日", "%YQ%q", "%Y-Q%q", "%Y Q%q",
        "Q%q %Y", "Q%q/%Y", "%d. %B %Y", "%d. %b %Y", "%a, %d %b %Y")  # fmt: skip
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
TIMES = ("", *(mark + clock + zone for mark in " T" for clock in CLOCKS for zone in ("", "%z")))
SAMPLE = 200  # different texts that are looked at for how they are written
ENOUGH = 0.95  # the share of a column's cells that must be dates for it to be a column of dates
YEARS = (1678, 2261)  # others are no dates, but stand for "never" and "unknown"
CENTURY_FROM = 69  # two digits from here on are of the twentieth century, as everywhere

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
PARTS = {
    "%Y": r"(?P<Y>\d{4})",
    "%y": r"(?P<y>\d{2})",
    "%B": rf"(?P<B>{'|'.join(MONTHS)})",
    "%b": rf"(?P<b>{'|'.join(name[:3] for name in MONTHS)})",
    "%a": r"(?:mon|tue|wed|thu|fri|sat|sun)",
    "%q": r"(?P<q>[1-4])",  # a quarter: its first day
    "%f": r"(?P<f>\d{1,9})",
    "%p": r"(?P<p>am|pm)",
    "%z": r"(?: ?(?P<z>z|utc|[+-]\d{2}:?\d{2}))",
}
NUMBER = re.compile(r"%[mdHIMS]")

Moments = NDArray[np.datetime64]  # (n,) in microseconds UTC; NaT where there is none
Mask = NDArray[np.bool_]


def read_texts(values: pa.ChunkedArray | pa.Array, format: str) -> tuple[Moments, Mask]:
    """Return the texts as dates, and say which are none though they are no gaps either."""
    texts = without_gaps(values)
    moments = parsed(texts, format)
    present = np.asarray(pc.is_valid(texts).to_numpy(zero_copy_only=False), dtype=bool)
    day = re.split(r"[ T]%[HI]", format)[0]
    for other in (day + time for day in (day, *UNMISTAKABLE) for time in TIMES):
        unread = np.flatnonzero(present & np.isnat(moments))
        if len(unread) == 0:
            break
        moments[unread] = parsed(texts.take(pa.array(unread)), other)
    return moments, present & np.isnat(moments)


def learn_format(texts: pa.ChunkedArray) -> tuple[str | None, str]:
    """Return the format of the dates in a column of text, None if they are not dates; and what is doubtful about it.

    If day and month could be in either order, the one that fits more cells of the column is taken.
    """
    distinct, counts = without_gaps(texts).drop_null().value_counts().flatten()
    format = _guessed_format(evenly(distinct, SAMPLE)) if len(distinct) > 1 else None
    if format is None:
        return None, ""
    as_guessed, as_swapped, doubt = parsed(distinct, format), parsed(distinct, _swapped(format)), ""
    dates, swapped_dates = (int((~np.isnat(moments)).sum()) for moments in (as_guessed, as_swapped))
    unlike = (as_guessed != as_swapped) & ~np.isnat(as_guessed) & ~np.isnat(as_swapped)
    if dates < swapped_dates:
        format = _swapped(format)
    elif dates == swapped_dates and unlike.any():
        first = int(unlike.argmax())
        doubt = (
            f"{distinct[first].as_py()!r} is taken for {as_guessed[first].item():%d %B %Y}, "
            "but day and month could be exchanged"
        )
    rows = counts.to_numpy()
    unread = read_texts(distinct, format)[1]
    return (format, doubt) if rows[unread].sum() <= (1 - ENOUGH) * rows.sum() else (None, "")


def _guessed_format(texts: pa.Array) -> str | None:
    """Return the format that most of these texts are dates in; None if it is fewer than half of them."""
    if pc.sum(pc.match_substring_regex(texts, r"\d")).as_py() < len(texts) / 2:
        return None  # most columns of words: at once
    best, most = None, 0
    for day in DAYS:
        count = int((~np.isnat(parsed(texts, day, rest="(?:[ t].*)?"))).sum())
        if count > most:
            best, most = day, count
    if best is None or most < len(texts) / 2:
        return None
    return max((best + time for time in TIMES), key=lambda format: int((~np.isnat(parsed(texts, format))).sum()))


def _swapped(format: str) -> str:
    """Return the format with day and month exchanged, if they could be mistaken for each other."""
    return re.sub(r"^(%d|%m)(\W)(%d|%m)\b", r"\3\2\1", format)


def parsed(texts: pa.Array, format: str, rest: str = "") -> Moments:
    """Return the dates of texts in this format, followed by what the pattern `rest` allows; NaT for other texts."""
    found = pc.extract_regex(pc.utf8_lower(texts), pattern=_pattern(format, rest))
    names = [field.name for field in found.type]
    is_date = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False), dtype=bool)
    moments = np.full(len(texts), np.datetime64("NaT"), dtype="M8[us]")
    if not is_date.any():
        return moments
    parts = {name: pc.struct_field(found, name).filter(pa.array(is_date)) for name in names}

    def number(name: str, otherwise: int = 0) -> NDArray[np.int64]:
        if name not in parts:
            return np.full(int(is_date.sum()), otherwise, dtype=np.int64)
        return np.asarray(parts[name].cast(pa.int64()).to_numpy(zero_copy_only=False))

    year = number("Y") if "Y" in parts else number("y") + np.where(number("y") < CENTURY_FROM, 2000, 1900)
    month = 3 * number("q") - 2 if "q" in parts else number("m", 1)
    for name, length in (("B", None), ("b", 3)):
        if name in parts:
            places = pc.index_in(parts[name], pa.array([month_name[:length] for month_name in MONTHS]))
            month = 1 + np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)
    day, hour, minute, second = number("d", 1), number("H"), number("M"), number("S")
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    if "p" in parts:
        twelve = number("I")
        valid &= (twelve >= 1) & (twelve <= 12)
        hour = twelve % 12 + 12 * np.asarray(pc.equal(parts["p"], "pm").to_numpy(zero_copy_only=False))
    valid &= (year >= YEARS[0]) & (year <= YEARS[1])
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    valid &= days.astype("M8[M]") == months  # the month has such a day
    seconds = 3600 * hour + 60 * minute + second
    if "z" in parts:
        zones = pc.replace_substring_regex(parts["z"], "^(?:z|utc)$", "+0000")
        digits = np.asarray(
            pc.replace_substring_regex(zones, "[+:-]", "").cast(pa.int64()).to_numpy(zero_copy_only=False)
        )
        sign = np.where(np.asarray(pc.starts_with(zones, "-").to_numpy(zero_copy_only=False)), -1, 1)
        seconds = seconds - sign * (3600 * (digits // 100) + 60 * (digits % 100))
    micro = np.zeros(len(seconds), dtype=np.int64)
    if "f" in parts:
        micro = np.asarray(
            pc.utf8_slice_codeunits(pc.utf8_rpad(parts["f"], 6, "0"), 0, 6)
            .cast(pa.int64())
            .to_numpy(zero_copy_only=False)
        )
    read = days.astype("M8[us]") + (1_000_000 * seconds + micro)
    read[~valid] = np.datetime64("NaT")
    moments[is_date] = read
    return moments


@cache
def _pattern(format: str, rest: str) -> str:
    """Return the format as a pattern for texts in small letters; a number may have one digit unless another follows."""
    numbers = r"\d{2}" if "%m%d" in format else r"\d{1,2}"
    pattern = re.escape(format.replace("T%", "t%").replace("Q%", "q%")).replace("\\ ", " ")
    for part, of_part in PARTS.items():
        pattern = pattern.replace(part, of_part)
    return f"^{NUMBER.sub(lambda found: f'(?P<{found.group()[1]}>{numbers})', pattern)}{rest}$"
