"""Encode a column of dates, in any form; a cell that is not a date is reported, unlike one that is missing."""

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.representations._column_cells import FAR, Cells, ColumnEncoder, LeftOut, Mask
from centrality.tables.columns import TableError, is_text
from centrality.tables.number_cells import evenly, without_gaps
from centrality.tables.unreadable import NEW_GAP, NO_DATE

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
# A periodic part of a date, and its period.
CIRCLES = {"month": "year", "day": "month", "weekday": "week", "hour": "day"}
SECONDS = "total_seconds"  # skrub's name for how long after 1970 a date is
LONGEST_AGO_AND_AHEAD = (-9e9, 9e9)  # seconds: dates that pandas can hold


@dataclass
class Dates(ColumnEncoder):
    """Encodes dates by skrub's features: the time, and its place in year, month, week and day; gaps are marked."""

    format: str | None  # how dates are written, if they are text
    witness: list[str]  # a few training dates, on which skrub's encoder is fitted again to find the same settings
    means: list[float]
    deviations: list[float]
    missing: float  # the share of the training rows without a date
    feature_names: list[str]
    kind = "dates"
    _encoder: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, format: str | None) -> "Dates | LeftOut":
        dates, _ = read_dates(values, format)
        present = dates.dropna()
        if present.empty:
            return LeftOut("every value is missing")
        times = present[present != present.dt.normalize()]
        witness = [str(moment) for moment in [*times[:1], present.min(), present.max()]]
        encoder = cls(format, witness, [], [], float(dates.isna().mean()), [])
        features = encoder._features(dates)
        encoder.feature_names = [column.removeprefix("date_") for column in features.columns]
        encoder.means = features.mean().tolist()
        encoder.deviations = features.std(ddof=0).tolist()
        return encoder

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        dates, wrong = read_dates(values, self.format)
        deviations, varies = np.array(self.deviations), self._varies()
        z = np.zeros((len(dates), len(deviations)))
        features = self._features(self._in_known_zone(dates)).to_numpy(dtype=np.float64)
        np.divide(features - self.means, deviations * np.sqrt(max(varies.sum(), 1)), out=z, where=varies)
        absent = dates.isna().to_numpy()
        z[absent] = 0.0
        faults = {NO_DATE: wrong}
        if self.missing:
            z = np.column_stack([z, absent - self.missing])
        else:
            faults[NEW_GAP] = absent & ~wrong
        return Cells(z, absent & ~wrong, faults)

    def far_off(self) -> NDArray[np.float64]:
        varies = self._varies()
        z = varies * FAR / np.sqrt(max(varies.sum(), 1))
        return np.append(z, 1 - self.missing) if self.missing else z

    def _varies(self) -> Mask:
        return np.asarray(np.array(self.deviations) > 1e-12)

    def _in_known_zone(self, dates: "pd.Series") -> "pd.Series":
        """Return the dates with a time zone if those in fitting had one, else without; no zone means UTC."""
        pd = optional("pandas", "table")
        with_zone = pd.Timestamp(self.witness[0]).tz is not None
        if with_zone == (dates.dt.tz is not None):
            return dates
        return dates.dt.tz_localize("UTC") if with_zone else dates.dt.tz_convert("UTC").dt.tz_localize(None)

    def typical(self, z: NDArray[np.floating]) -> str | None:
        """Return the date that these numbers encode, by its time since 1970, written as the column's are."""
        if self.missing and z[-1] > 0.5 - self.missing:
            return None
        place = self.feature_names.index(SECONDS)
        seconds = self.means[place] + float(z[place]) * self.deviations[place] * np.sqrt(max(self._varies().sum(), 1))
        pd = optional("pandas", "table")
        moment = pd.Timestamp(np.clip(seconds, *LONGEST_AGO_AND_AHEAD), unit="s")
        if pd.Timestamp(self.witness[0]) == pd.Timestamp(self.witness[0]).normalize():  # the column holds days alone
            moment = moment.round("D")
        if self.format not in (None, "ISO8601"):
            return str(moment.strftime(self.format))
        return str(moment.date()) if moment == moment.normalize() else str(moment.strftime("%Y-%m-%d %H:%M"))

    def names(self, name: str) -> list[str]:
        marked = [f"{name} missing"] if self.missing else []
        return [f"{name} {feature}" for feature in self.feature_names] + marked

    def describe(self) -> str:
        gaps = f"; {self.missing:.1%} missing: marked" if self.missing else ""
        how = f" (written as {self.format})" if self.format else ""
        circles = [whole for part, whole in CIRCLES.items() if f"{part}_circular_0" in self.feature_names]
        where = f", and where in the {', '.join(circles)}" if circles else ""
        return f"date{how}: when{where}{gaps}"

    def _features(self, dates: "pd.Series") -> "pd.DataFrame":
        """Return skrub's features of the dates."""
        if self._encoder is None:
            pd = optional("pandas", "table")
            skrub = optional("skrub", "table")
            self._encoder = skrub.DatetimeEncoder(resolution="minute", add_weekday=True, periodic_encoding="circular")
            zone = dates.dt.tz
            known = pd.to_datetime(pd.Series(self.witness, name="date"), utc=zone is not None, format="ISO8601")
            self._encoder.fit_transform(known if zone is None else known.dt.tz_convert(zone))
        return self._encoder.transform(dates.rename("date"))


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
