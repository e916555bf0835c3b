"""Encode the columns of a mixed table, by one small encoder for each kind.

Each encoder gives its column a block of numbers that is centred on the training rows and has a total variance of
about one, so that every column weighs alike, however many numbers encode it; the rarity of a text has one more. What
an encoder learned is a few JSON values and arrays: encoding a saved model's rows runs the same code on them.

A cell that cannot be read, or holds what never occurred in fitting, must not look typical: an encoder says
which cells are so, and puts them `FAR` deviations off.
"""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.model_file import Arrays
from centrality.representations._base import State
from centrality.representations._column_cells import FAR, Cells, ColumnEncoder, LeftOut, Mask, mask_of, texts_of
from centrality.representations._column_numbers import Numbers
from centrality.representations._column_words import Words
from centrality.representations._dates import read_dates
from centrality.tables.unreadable import NEW_GAP, NEW_VALUE, NO_DATE
from centrality.tables.written_numbers import NumberWriting

if TYPE_CHECKING:
    import pandas as pd

# A periodic part of a date, and its period.
CIRCLES = {"month": "year", "day": "month", "weekday": "week", "hour": "day"}
SECONDS = "total_seconds"  # skrub's name for how long after 1970 a date is
LONGEST_AGO_AND_AHEAD = (-9e9, 9e9)  # seconds: dates that pandas can hold
RARE = 0.005  # categories below this share of the rows are taken together
FEW = 0.05  # those taken together are odd themselves where they are no more of the rows than that
OTHER, MISSING = "(other)", "(missing)"


@dataclass
class Categories(ColumnEncoder):
    """Encodes categories by one column for each. Rare ones share a column; a missing value is a category of its own."""

    levels: list[str]
    shares: list[float]
    rare: list[str]  # those that share a column
    kind = "categories"

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Categories | LeftOut":
        counts = {v["values"]: v["counts"] for v in texts_of(values).fill_null(MISSING).value_counts().to_pylist()}
        if len(counts) == 1:
            only = next(iter(counts))
            return LeftOut("every value is missing" if only == MISSING else f"every value is {only!r}")
        total = sum(counts.values())
        rare = [level for level, count in counts.items() if count < RARE * total and level != MISSING]
        if len(rare) > 1:
            counts[OTHER] = sum(counts.pop(level) for level in rare)
        levels = sorted(counts)
        return cls(levels, [counts[level] / total for level in levels], rare if OTHER in counts else [])

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        given = texts_of(values)
        texts = given.fill_null(MISSING)
        codes = pc.index_in(texts, pa.array(self.levels, pa.string()))
        gaps, unseen = mask_of(pc.is_null(given)), mask_of(pc.is_null(codes))
        unseen &= ~mask_of(pc.is_in(texts, pa.array(self.rare, pa.string())))
        shares = np.array(self.shares)
        block = np.tile(-shares, (len(texts), 1))
        level = codes.fill_null(self._rarest()).to_numpy()
        block[np.arange(len(texts)), level] += 1
        block *= (self._stretch() / self._deviation())[level, None]
        return Cells(block, gaps, {NEW_GAP: unseen & gaps, NEW_VALUE: unseen & ~gaps})

    def far_off(self) -> NDArray[np.float64]:
        """Return a point in the direction of the rarest category, but farther off."""
        z = np.eye(len(self.levels))[self._rarest()] - np.array(self.shares)
        return np.asarray(FAR * z / np.linalg.norm(z))

    def _rarest(self) -> int:
        return self.levels.index(OTHER) if OTHER in self.levels else int(np.argmin(self.shares))

    def _deviation(self) -> float:
        shares = np.array(self.shares)
        return float(np.sqrt((shares * (1 - shares)).sum()))

    def _stretch(self) -> NDArray[np.float64]:  # (levels,)
        """Return the factor by which each level is put farther off than its share alone would put it; 1 for most.

        Among several levels, one that hardly occurs, perhaps a typing error, is no farther from the rest than they
        are from each other. It is put as far off as a number that is as rare: by √(-2 log share) deviations.
        """
        shares = np.array(self.shares)
        usual = np.linalg.norm(np.eye(len(shares)) - shares, axis=1) / self._deviation()
        rare = shares < [FEW if level == OTHER else RARE for level in self.levels]
        return np.where(rare, np.maximum(np.sqrt(-2 * np.log(shares)) / usual, 1.0), 1.0)

    def typical(self, z: NDArray[np.floating]) -> str:
        return self.levels[int(np.argmax(z * self._deviation() + np.array(self.shares)))]

    def names(self, name: str) -> list[str]:
        return [f"{name} {level}" for level in self.levels]

    def describe(self) -> str:
        shared = f", rare ones (under {RARE:.1%} of the rows) taken together" if OTHER in self.levels else ""
        gap = ", missing being one of them" if MISSING in self.levels else ""
        return f"category, {len(self.levels)} levels{gap}{shared}"


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


KINDS: dict[str, Any] = {kind.kind: kind for kind in (LeftOut, Numbers, Categories, Dates, Words)}


def to_state(encoder: ColumnEncoder) -> tuple[State, Arrays]:
    """Return an encoder as JSON values and arrays."""
    values = {name: value for name, value in vars(encoder).items() if not name.startswith("_")}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in arrays}
    if plain.get("writing") is not None:
        plain["writing"] = asdict(plain["writing"])
    return {"kind": encoder.kind, **plain}, arrays


def from_state(state: State, arrays: Arrays) -> ColumnEncoder:
    """Return the encoder with this state: the inverse of `to_state`."""
    values: State = {name: value for name, value in state.items() if name != "kind"} | arrays
    if values.get("writing") is not None:
        values["writing"] = NumberWriting(**values["writing"])
    encoder: ColumnEncoder = KINDS[state["kind"]](**values)
    return encoder
