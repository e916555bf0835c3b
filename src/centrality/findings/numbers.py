"""Say how far off numbers are: from what the other columns predict, and from their column's other numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from centrality.findings.columns import Codes, Column, Floats
from centrality.findings.tails import far_out

WIDEST = 4.0  # deviations at which predictors are cut off: a wild cell should not predict others
KIND = 20  # rows of a kind from which on its spread can be told
NARROWEST = 0.5  # spread of a kind, in units of the column's: nearly equal numbers would make any other one odd
TELLING = 0.05  # the least share of a column's variance that lies between the kinds
EXCEPTIONS = 0.002  # of the rows: where more are far from their kind, kinds are no single groups
FEW_LEVELS = 20  # of a category whose levels predict
MOST_FEATURES = 400
COARSE = 0.05  # a step between values, in units of the spread, from which on a column holds few different numbers
GAPS = 0.2  # columns, on average, whose tails end in a gap by chance
ROWS_PER_FEATURE = 3  # with fewer rows, predictions follow them
WAYS = 3.0  # in which a number is judged: the largest severity of so many is shared among them
RIDGE = 3.0  # rows by which a coefficient is drawn to 0: a level of one row says little
FAVOURITE = 0.3  # the share of the rows from which on one value, such as 0, is a kind of its own
SKEWED = 0.6  # how much of the inner spread lies above the middle, from which on logs are taken


@dataclass(frozen=True, eq=False)
class Measure:
    """A column of numbers on the scale on which it is roughly symmetric: as it is, or its logs."""

    place: int  # of the column in the sheet
    z: Floats  # deviations from the median, in units of the spread; NaN for a gap
    is_log: bool
    unit: float  # one unit of z, in numbers or logs
    middle: float
    step: float  # between neighbouring values, in units of z: a prediction cannot be nearer to a whole number

    def of_numbers(self, numbers: Floats) -> Floats:
        """Return numbers on the measure's scale."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((np.log(numbers) if self.is_log else numbers) - self.middle) / self.unit)

    @classmethod
    def of(cls, place: int, numbers: Floats) -> "Measure | None":
        """Return a column's measure, None if it hardly varies; a value that very many rows have counts as a gap."""
        levels, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
        if len(levels) < 10:
            return None
        favourite = levels[counts.argmax()] if counts.max() > FAVOURITE * len(numbers) else np.nan
        numbers = np.where(np.isfinite(numbers) & (numbers != favourite), numbers, np.nan)
        present = numbers[np.isfinite(numbers)]
        low, middle, high = np.quantile(present, [0.1, 0.5, 0.9])
        is_log = present.min() > 0 and high - middle > SKEWED * (high - low)
        x = np.log(numbers) if is_log else numbers
        middle = float(np.nanmedian(x))
        unit = float(np.nanmedian(np.abs(x - middle)) / 0.6745) or float(np.nanstd(x))
        if unit <= 0:
            return None
        z = (x - middle) / unit
        return cls(place, z, is_log, unit, middle, float(np.median(np.diff(np.unique(z[~np.isnan(z)])))))


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the other columns say of one column of numbers, in units of its measure, and how well they can."""

    measure: Measure
    expected: Floats  # (n,) in units of z
    trust: float  # the share of the variance that is predicted
    alone: Floats  # (n,) one in how many rows is as far from the column's other numbers
    kind: Codes  # (n,) the category among whose rows the number is oddest, by its place in the sheet; -1 for none
    severity: Floats  # (n,) one in how many rows is as far off, alone, given the other columns, or among its kind

    @property
    def numbers(self) -> Floats:
        """Return the predictions as numbers of the column."""
        x = self.expected * self.measure.unit + self.measure.middle
        return np.exp(x) if self.measure.is_log else x


def predictions(columns: Sequence[Column]) -> list[Prediction]:
    """Predict each column of numbers from all others, by ridge regressions that share their sums of products."""
    measures = [
        measure
        for place, column in enumerate(columns)
        if column.numbers is not None
        and not column.names_rows
        and (measure := Measure.of(place, column.numbers)) is not None
    ]
    if not measures:
        return []
    features, owner = _features(columns, measures)
    products = features.T @ features
    gaps = np.zeros(features.shape)
    for place, measure in enumerate(measures, 1):  # the first feature is constant
        gaps[:, place] = np.isnan(measure.z)
    ridge = RIDGE * np.eye(len(owner))
    chance = GAPS / len(measures)
    result = []
    for measure in measures:
        present = ~np.isnan(measure.z)
        y = np.clip(np.where(present, measure.z, 0.0), -WIDEST, WIDEST)
        others = owner != measure.place
        gram = (products + ridge)[np.ix_(others, others)]
        weights = np.linalg.solve(gram, features[:, others].T @ y)
        expected = features[:, others] @ weights
        trust = float(np.clip(1 - np.var((y - expected)[present]) / np.var(y[present]), 0.0, 1.0))
        alone = _on_each_side(measure.z, chance)
        # A row without a number that matters here is predicted as if it had the usual one.
        without = gaps[:, others] @ np.abs(weights) > np.std((y - expected)[present])
        without |= ROWS_PER_FEATURE * len(owner) > len(y)
        filled = np.where(
            without, 1.0, _on_each_side(np.where(without, np.nan, measure.z - expected), chance, measure.step)
        )
        within, kind = _within_kinds(measure, columns, chance)
        severity = np.fmax(np.fmax(alone, filled), within) / WAYS
        alone = np.where(present, alone, 1.0)
        kind = np.where(within > np.fmax(alone, filled), kind, -1)
        severity = np.where(present, np.maximum(severity, 1.0), 1.0)
        result.append(Prediction(measure, expected, trust, alone, kind, severity))
    return result


def _on_each_side(off: Floats, chance: float, step: float = 0.0) -> Floats:
    """Return one in how many numbers above the middle is as far above it, and below as far below: tails may differ."""
    severity = np.ones(len(off))
    if step > COARSE:
        off = step * np.round(off / step)  # whole numbers stay whole steps from what is predicted
    for side in (off, -off):
        beyond = np.flatnonzero(side > 0)
        if len(beyond):
            severity[beyond] = far_out(np.maximum(side[beyond] - step, 0.0), chance)
    return severity


def _within_kinds(measure: Measure, columns: Sequence[Column], chance: float) -> tuple[Floats, Codes]:
    """Return one in how many numbers is as far from those of the row's kind, by the category that says most; and that.

    A linear model has one spread for all rows: a house of 1893 with a heat pump is no surprise to it, although all
    others with one were built within fifteen years. Severity is shared among the categories that are tried.
    """
    present = ~np.isnan(measure.z)
    z = np.clip(np.where(present, measure.z, 0.0), -WIDEST, WIDEST)
    telling = [
        (place, column)
        for place, column in enumerate(columns)
        if column.level_numbers is None and 1 < len(column.levels) <= FEW_LEVELS
        if _explained(z[present], column.codes[present]) >= TELLING
    ]
    highest, kind = np.ones(len(z)), np.full(len(z), -1)
    for place, column in telling:
        off = np.full(len(z), np.nan)
        for level in range(len(column.levels)):
            rows = np.flatnonzero((column.codes == level) & present)
            if len(rows) >= KIND:
                from_middle = np.abs(measure.z[rows] - np.median(measure.z[rows]))
                spread = max(float(np.quantile(from_middle, 0.75)), measure.step, NARROWEST)
                off[rows] = from_middle / spread
        severity = far_out(off, chance) / len(telling)
        if (severity[present] > len(z)).mean() <= EXCEPTIONS:
            kind = np.where(severity > highest, place, kind)
            highest = np.fmax(highest, severity)
    return highest, kind


def _explained(z: Floats, codes: Codes) -> float:
    """Return the share of the variance that lies between the levels of a category."""
    counts = np.maximum(np.bincount(codes), 1)
    means = np.bincount(codes, z) / counts
    return float(np.var(means[codes])) / max(float(np.var(z)), 1e-12)


def _features(columns: Sequence[Column], measures: Sequence[Measure]) -> tuple[Floats, np.ndarray]:
    """Return what predicts: each measure, cut off far out, and the levels of categories; and the column of each."""
    rows = len(columns[0].codes)
    blocks, owner = [np.ones((rows, 1))], [-1]
    for measure in measures:
        blocks.append(np.clip(np.nan_to_num(measure.z), -WIDEST, WIDEST)[:, None])
        owner.append(measure.place)
    for place, column in enumerate(columns):
        if column.varies and len(column.levels) <= FEW_LEVELS and len(owner) < MOST_FEATURES:
            blocks.append((column.codes[:, None] == np.arange(1, len(column.levels))).astype(np.float64))
            owner += [place] * (len(column.levels) - 1)
    return np.concatenate(blocks, axis=1), np.array(owner)
