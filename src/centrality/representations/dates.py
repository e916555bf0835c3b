"""Encode a column of dates, in any form; a cell that is not a date is reported, unlike one that is missing.

Dates that people have written as text are read each by itself, in the format of their column or an unmistakable one.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.network.scaling import KNEE, median_and_spread
from centrality.representations.columns import FAR, Cells, ColumnEncoder, LeftOut, Mask, beyond_all
from centrality.tables.columns import BEYOND_ALL, NEW_GAP, NO_DATE, NO_ZONE, OTHER_ZONE, OWN_ZONE, TableError, is_text
from centrality.tables.written_numbers import evenly, without_gaps

WITHOUT_MARKS = "%Y%m%d"  # 20240131, which files hold as whole numbers
# A part of a date that comes again and again is encoded by a sine and a cosine: its length, and what it is a part of.
CIRCLES = {"month": (12, "year"), "day": (30, "month"), "weekday": (7, "week"), "hour": (24, "day")}
ZONE = r"(?i)(:[0-9]{2}(?:\.[0-9]+)?) ?(?:z|utc|[+-][0-9]{2}:?[0-9]{2})\s*$"  # at the end of a time
SECONDS = "total_seconds"  # since 1970
FARTHEST = 9e9  # seconds before and after 1970: dates that are shown
LEAST_DEVIATION = 1e-12  # a part with less is constant: the rest is rounding

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


def read_texts(values: pa.ChunkedArray | pa.Array, format: str) -> tuple[Moments, Mask]:
    """Return the texts as dates, and say which are none though they are no gaps either."""
    texts = without_gaps(values)
    moments = parsed(texts, format)
    present = np.asarray(pc.is_valid(texts), dtype=bool)
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
    if len(distinct) < 2:
        return None, ""
    sample = evenly(distinct, SAMPLE)
    if pc.sum(pc.match_substring_regex(sample, r"\d")).as_py() < len(sample) / 2:
        return None, ""  # most columns of words: at once
    dates_in = {day: _count(parsed(sample, day, rest="(?:[ t].*)?")) for day in DAYS}
    day = max(dates_in, key=dates_in.__getitem__)
    if dates_in[day] < len(sample) / 2:
        return None, ""
    format = max((day + time for time in TIMES), key=lambda format: _count(parsed(sample, format)))
    # Day and month may be in either order.
    swapped_format = re.sub(r"^(%d|%m)(\W)(%d|%m)\b", r"\3\2\1", format)
    moments = parsed(distinct, format)
    swapped = parsed(distinct, swapped_format)
    unlike = (moments != swapped) & ~np.isnat(moments) & ~np.isnat(swapped)
    doubt = ""
    if _count(moments) < _count(swapped):
        format = swapped_format
    elif _count(moments) == _count(swapped) and unlike.any():
        first = int(unlike.argmax())
        doubt = (
            f"{distinct[first].as_py()!r} is taken for {moments[first].item():%d %B %Y}, "
            "but day and month could be exchanged"
        )
    rows = counts.to_numpy()
    unread = read_texts(distinct, format)[1]
    return (format, doubt) if rows[unread].sum() <= (1 - ENOUGH) * rows.sum() else (None, "")


def _count(moments: Moments) -> int:
    return int((~np.isnat(moments)).sum())


def parsed(texts: pa.Array, format: str, rest: str = "") -> Moments:
    """Return the dates of texts in this format, followed by what the pattern `rest` allows; NaT for other texts."""
    matches = pc.extract_regex(pc.utf8_lower(texts), pattern=_pattern(format, rest))
    is_date = np.asarray(pc.is_valid(matches), dtype=bool)
    moments = np.full(len(texts), np.datetime64("NaT"), dtype="M8[us]")
    if not is_date.any():
        return moments
    matches = matches.filter(pa.array(is_date))
    parts = {field.name: pc.struct_field(matches, field.name) for field in matches.type}

    def number(name: str, otherwise: int = 0) -> NDArray[np.int64]:
        if name not in parts:
            return np.full(len(matches), otherwise, dtype=np.int64)
        return np.asarray(parts[name].cast(pa.int64()))

    year = number("Y") if "Y" in parts else number("y") + np.where(number("y") < CENTURY_FROM, 2000, 1900)
    month = 3 * number("q") - 2 if "q" in parts else number("m", 1)
    for name, length in (("B", None), ("b", 3)):
        if name in parts:
            places = pc.index_in(parts[name], pa.array([month_name[:length] for month_name in MONTHS]))
            month = 1 + np.asarray(places, dtype=np.int64)
    day = number("d", 1)
    hour = number("H")
    minute = number("M")
    second = number("S")
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    if "p" in parts:
        twelve = number("I")
        valid &= (twelve >= 1) & (twelve <= 12)
        hour = twelve % 12 + 12 * np.asarray(pc.equal(parts["p"], "pm"))
    valid &= (year >= YEARS[0]) & (year <= YEARS[1])
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    valid &= days.astype("M8[M]") == months  # the month has such a day
    seconds = 3600 * hour + 60 * minute + second
    if "z" in parts:
        zones = pc.replace_substring_regex(parts["z"], "^(?:z|utc)$", "+0000")
        digits = np.asarray(pc.replace_substring_regex(zones, "[+:-]", "").cast(pa.int64()))
        sign = np.where(np.asarray(pc.starts_with(zones, "-")), -1, 1)
        seconds = seconds - sign * (3600 * (digits // 100) + 60 * (digits % 100))
    micro = np.zeros(len(seconds), dtype=np.int64)
    if "f" in parts:
        micro = np.asarray(pc.utf8_slice_codeunits(pc.utf8_rpad(parts["f"], 6, "0"), 0, 6).cast(pa.int64()))
    dates = days.astype("M8[us]") + (1_000_000 * seconds + micro)
    moments[is_date] = np.where(valid, dates, np.datetime64("NaT"))
    return moments


@cache
def _pattern(format: str, rest: str) -> str:
    """Return the format as a pattern for texts in small letters; a number may have one digit unless another follows."""
    numbers = r"\d{2}" if "%m%d" in format else r"\d{1,2}"
    pattern = re.escape(format.replace("T%", "t%").replace("Q%", "q%")).replace("\\ ", " ")
    for part, of_part in PARTS.items():
        pattern = pattern.replace(part, of_part)
    return f"^{NUMBER.sub(lambda part: f'(?P<{part.group()[1]}>{numbers})', pattern)}{rest}$"


@dataclass
class Dates(ColumnEncoder):
    """Encodes dates by the time since 1970, and its place in year, month, week and day; gaps are marked."""

    format: str | None  # how dates are written, if they are text
    zone: str | None  # in which hours are read; None: dates had none, and are what clocks show
    with_hours: bool
    means: list[float]
    deviations: list[float]
    missing: float  # the share of the training rows without a date
    ends: list[float] = field(default_factory=list)  # the first and the last date of fitting, in seconds since 1970
    kind = "dates"

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, format: str | None) -> "Dates | LeftOut":
        zone = zone_of(values, format)
        moments, faults = read_dates(values, format, zone)
        present = moments[~np.isnat(moments)]
        if not len(present):
            return LeftOut.empty()
        local = _local(present, zone)
        with_hours = bool((local != local.astype("M8[D]")).any())
        missing = 1 - (len(present) + int(faults[NO_DATE].sum())) / len(moments)
        ends = (np.array([present.min(), present.max()]).astype(np.int64) / 1e6).tolist()
        encoder = cls(format, zone, with_hours, [], [], missing, ends)
        # Dates no farther off than numbers may be before they are bent set the column's scale.
        seconds = present.astype(np.int64)[:, None] / 1e6
        [(median, spread)] = median_and_spread([(slice(0, 1), seconds)], lambda: np.zeros(1))
        within_reach = (np.abs(seconds - median) <= KNEE * spread)[:, 0]
        features = encoder._features(present[within_reach] if spread.all() else present)
        encoder.means = features.mean(0).tolist()
        encoder.deviations = features.std(0).tolist()
        return encoder

    def __post_init__(self) -> None:
        if "%z" in (self.format or ""):
            self.zone = "UTC"  # in which such texts are read: they name no place, and their offset changes twice a year

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        moments, faults = read_dates(values, self.format, self.zone)
        absent = np.isnat(moments)
        deviations = np.array(self.deviations)
        varies = self._varies()
        z = np.zeros((len(moments), len(deviations)))
        off = self._features(moments[~absent]) - self.means
        z[np.ix_(~absent, varies)] = off[:, varies] / (deviations[varies] * np.sqrt(varies.sum()))
        gaps = absent & ~faults[NO_DATE]
        if self.missing:
            z = np.column_stack([z, absent - self.missing])
        else:
            faults[NEW_GAP] = gaps
        if not self.with_hours:
            faults = {fault: where for fault, where in faults.items() if fault in (NO_DATE, NEW_GAP)}
        faults[BEYOND_ALL] = beyond_all(np.where(absent, np.nan, moments.astype(np.int64) / 1e6), self.ends)
        return Cells(z, gaps, faults)

    def outlying_code(self) -> NDArray[np.float64]:
        varies = self._varies()
        z = varies * FAR / np.sqrt(max(varies.sum(), 1))
        return np.append(z, 1 - self.missing) if self.missing else z

    def _varies(self) -> Mask:
        return np.asarray(np.array(self.deviations) > LEAST_DEVIATION)

    def typical(self, z: NDArray[np.floating]) -> str | None:
        """Return the date that these numbers encode, by its time since 1970, written as the column's are."""
        if self.missing and z[-1] > 0.5 - self.missing:
            return None
        place = self._parts().index(SECONDS)
        seconds = self.means[place] + float(z[place]) * self.deviations[place] * np.sqrt(max(self._varies().sum(), 1))
        moment = np.datetime64(round(float(np.clip(seconds, -FARTHEST, FARTHEST))), "s")
        moment = _local(np.array([moment], dtype="M8[us]"), self.zone)[0].astype("M8[s]")
        if not self.with_hours:
            moment = (moment + np.timedelta64(12, "h")).astype("M8[D]").astype("M8[s]")  # the nearest day
        written = moment.item()
        if self.format is not None and "%z" in self.format:
            written = written.replace(tzinfo=UTC)
        if self.format is not None:
            return str(written.strftime(self.format.replace("%q", str((written.month + 2) // 3))))
        return f"{written:%Y-%m-%d}" if moment == moment.astype("M8[D]") else f"{written:%Y-%m-%d %H:%M}"

    def names(self, name: str) -> list[str]:
        marked = [f"{name} missing"] if self.missing else []
        return [f"{name} {part}" for part in self._parts()] + marked

    def describe(self) -> str:
        gaps = f"; {self.missing:.1%} missing: marked" if self.missing else ""
        how = f" (written as {self.format})" if self.format else ""
        wholes = [whole for _, whole in self._circles().values()]
        zone = f" in {self.zone}" if self.zone and self.with_hours else ""
        return f"date{how}: when, and where in the {', '.join(wholes)}{zone}{gaps}"

    def _circles(self) -> dict[str, tuple[int, str]]:
        return {part: circle for part, circle in CIRCLES.items() if self.with_hours or part != "hour"}

    def _parts(self) -> list[str]:
        minute = ["minute"] if self.with_hours else []
        return ["year", *minute, SECONDS, *(f"{part}_circular_{k}" for part in self._circles() for k in (0, 1))]

    def _features(self, moments: Moments) -> NDArray[np.float64]:
        """Return the parts of dates, of which none is missing."""
        local = _local(moments, self.zone)
        days = local.astype("M8[D]")
        months = local.astype("M8[M]")
        years = local.astype("M8[Y]")
        of_day = (local - days).astype(np.int64) // 60_000_000  # minutes
        places = {
            "month": (months - years).astype(np.int64) + 1,
            "day": (days - months).astype(np.int64) + 1,
            "weekday": (days.astype(np.int64) + 3) % 7 + 1,  # 1970 began on a Thursday
            "hour": of_day // 60,
        }
        columns: list[NDArray[np.floating]] = [years.astype(np.int64) + 1970.0]
        if self.with_hours:
            columns.append((of_day % 60).astype(np.float64))
        columns.append(moments.astype(np.int64) / 1e6)
        for part, (length, _) in self._circles().items():
            angle = 2 * np.pi * places[part] / length
            columns += [np.sin(angle), np.cos(angle)]
        return np.column_stack(columns)


def _local(moments: Moments, zone: str | None) -> Moments:
    """Return the moments as clocks in this zone show them; None: as they are."""
    if zone is None:
        return moments
    in_zone = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    return np.asarray(pc.local_timestamp(in_zone), dtype="M8[us]")


def zone_of(values: pa.ChunkedArray, format: str | None) -> str | None:
    """Return the zone of a column of dates: UTC for texts with an offset, which name no place; None if it has none."""
    return "UTC" if "%z" in (format or "") else getattr(values.type, "tz", None)


def read_dates(values: pa.ChunkedArray, format: str | None, zone: str | None) -> tuple[Moments, dict[str, Mask]]:
    """Return the values as dates, and which cells are none or of another zone; format and zone are those of fitting.

    Each value is read by itself, whatever the other rows hold. With a zone, dates are moments in UTC, and one that has
    no zone itself is local time there; without, they are what clocks show, whatever the zone of a cell.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        values = values.cast(kind)
    if pa.types.is_null(kind) or (pa.types.is_integer(kind) and format == WITHOUT_MARKS):
        kind = pa.string()
        values = values.cast(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone_here = getattr(kind, "tz", None)
        dates = values.cast(pa.timestamp("us", tz=zone_here), safe=False)
        counts = dates.cast(pa.int64())
        missing = np.asarray(counts.is_null(), dtype=bool)
        moments = np.asarray(counts.fill_null(0), dtype=np.int64).astype("M8[us]")
        moments[missing] = np.datetime64("NaT")
        if zone_here is not None and zone is None:
            moments[~missing] = _local(moments[~missing], zone_here)
        has_zone = np.full(len(values), zone_here is not None)
        unlike = zone_here != zone
        unreadable = np.zeros(len(values), dtype=bool)
    elif is_text(kind):
        texts = values.cast(pa.string()).combine_chunks()
        has_zone = np.asarray(pc.match_substring_regex(texts, ZONE).fill_null(False), dtype=bool)  # noqa: FBT003
        if zone is None and has_zone.any():
            texts = pc.replace_substring_regex(texts, ZONE, r"\1")
        moments, unreadable = read_texts(texts, format or "%Y-%m-%d")
        missing = np.isnat(moments)
        unlike = False
    else:
        raise TableError(f"dates were wanted, as such or as text, got {kind}")
    if zone is None:
        return moments, {NO_DATE: unreadable, OWN_ZONE: has_zone & ~missing}
    naive = ~has_zone & ~missing
    clocks = pa.array(moments[naive], pa.timestamp("us"))
    utc = pc.assume_timezone(clocks, zone, ambiguous="earliest", nonexistent="earliest").cast(pa.int64())
    moments[naive] = np.asarray(utc).astype("M8[us]")
    return moments, {NO_DATE: unreadable, NO_ZONE: naive, OTHER_ZONE: has_zone & ~missing & unlike}


def are_days(values: pa.ChunkedArray) -> bool:
    """Say whether whole numbers are dates such as 20240131: all of them are days from 1800 to 2100."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or ends["min"] < 1800_01_01 or ends["max"] > 2100_12_31 or ends["min"] == ends["max"]:
        return False
    distinct = values.unique().drop_null().cast(pa.string())
    return not np.isnat(parsed(distinct, WITHOUT_MARKS)).any()
