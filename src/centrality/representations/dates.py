"""Encode a column of dates, in any form; a cell that is not a date is reported, unlike one that is missing."""

from dataclasses import dataclass, field
from datetime import UTC

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.network.scaling import KNEE, median_and_spread
from centrality.representations._date_texts import Moments, parsed, read_texts
from centrality.representations.columns import FAR, Cells, ColumnEncoder, LeftOut, Mask, beyond_all
from centrality.tables.columns import BEYOND_ALL, NEW_GAP, NO_DATE, NO_ZONE, OTHER_ZONE, OWN_ZONE, TableError, is_text

WITHOUT_MARKS = "%Y%m%d"  # 20240131, which files hold as whole numbers
# A part of a date that comes again and again is encoded by a sine and a cosine: its length, and what it is a part of.
CIRCLES = {"month": (12, "year"), "day": (30, "month"), "weekday": (7, "week"), "hour": (24, "day")}
ZONE = r"(?i)(:[0-9]{2}(?:\.[0-9]+)?) ?(?:z|utc|[+-][0-9]{2}:?[0-9]{2})\s*$"  # at the end of a time
SECONDS = "total_seconds"  # since 1970
LONGEST_AGO_AND_AHEAD = (-9e9, 9e9)  # seconds: dates that are shown
LEAST_DEVIATION = 1e-12  # a part with less is constant: the rest is rounding


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
        features = encoder._features(present[_within_reach(present)])
        encoder.means, encoder.deviations = features.mean(0).tolist(), features.std(0).tolist()
        return encoder

    def __post_init__(self) -> None:
        if "%z" in (self.format or ""):
            self.zone = "UTC"  # in which such texts are read: they name no place, and their offset changes twice a year

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        moments, faults = read_dates(values, self.format, self.zone)
        absent, deviations, varies = np.isnat(moments), np.array(self.deviations), self._varies()
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
        moment = np.datetime64(round(float(np.clip(seconds, *LONGEST_AGO_AND_AHEAD))), "s")
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
        days, months, years = (local.astype(f"M8[{unit}]") for unit in "DMY")
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


def _within_reach(moments: Moments) -> Mask:
    """Say which dates set the column's scale: those no farther off than numbers may be before they are bent."""
    seconds = moments.astype(np.int64)[:, None] / 1e6
    [(median, spread)] = median_and_spread([(slice(0, 1), seconds)], lambda: np.zeros(1))
    return (
        np.asarray((np.abs(seconds - median) <= KNEE * spread)[:, 0]) if spread.all() else np.ones(len(moments), bool)
    )


def _local(moments: Moments, zone: str | None) -> Moments:
    """Return the moments as clocks in this zone show them; None: as they are."""
    if zone is None:
        return moments
    there = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    return np.asarray(pc.local_timestamp(there).to_numpy(zero_copy_only=False), dtype="M8[us]")


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
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind) or (pa.types.is_integer(kind) and format == WITHOUT_MARKS):
        values, kind = values.cast(pa.string()), pa.string()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        own = getattr(kind, "tz", None)
        dates = values.cast(pa.timestamp("us", tz=own), safe=False)
        counts = dates.cast(pa.int64())
        missing = np.asarray(pc.is_null(counts).to_numpy(), dtype=bool)
        moments = np.asarray(counts.fill_null(0).to_numpy(), dtype=np.int64).astype("M8[us]")
        moments[missing] = np.datetime64("NaT")
        if own is not None and zone is None:
            moments[~missing] = _local(moments[~missing], own)
        has_zone, unlike, wrong = np.full(len(values), own is not None), own != zone, np.zeros(len(values), dtype=bool)
    elif is_text(kind):
        texts = values.cast(pa.string()).combine_chunks()
        has_zone = np.asarray(pc.match_substring_regex(texts, ZONE).fill_null(False), dtype=bool)  # noqa: FBT003
        if zone is None and has_zone.any():
            texts = pc.replace_substring_regex(texts, ZONE, r"\1")
        moments, wrong = read_texts(texts, format or "%Y-%m-%d")
        missing, unlike = np.isnat(moments), False
    else:
        raise TableError(f"dates were wanted, as such or as text, got {kind}")
    if zone is None:
        return moments, {NO_DATE: wrong, OWN_ZONE: has_zone & ~missing}
    naive = ~has_zone & ~missing
    clocks = pa.array(moments[naive], pa.timestamp("us"))
    utc = pc.assume_timezone(clocks, zone, ambiguous="earliest", nonexistent="earliest").cast(pa.int64())
    moments[naive] = np.asarray(utc).astype("M8[us]")
    return moments, {NO_DATE: wrong, NO_ZONE: naive, OTHER_ZONE: has_zone & ~missing & unlike}


def are_days(values: pa.ChunkedArray) -> bool:
    """Say whether whole numbers are dates such as 20240131: all of them are days from 1800 to 2100."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or ends["min"] < 1800_01_01 or ends["max"] > 2100_12_31 or ends["min"] == ends["max"]:
        return False
    distinct = values.unique().drop_null().cast(pa.string())
    return not np.isnat(parsed(distinct, WITHOUT_MARKS)).any()
