"""Say how far off numbers are: from what the other columns predict, and from their column's other numbers.

`far_out` says how rare a distance is: one in how many is as large, also beyond all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from centrality._internal.arrays import safe_divide
from centrality.findings.columns import Codes, Column, Floats

WIDEST = 4.0  # deviations at which predictors are cut off: a wild cell should not predict others
KIND = 20  # rows of a kind from which on its spread can be measured
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
FEWEST = 20  # numbers whose tail can be judged
TAIL = 0.1  # the share of the numbers, the farthest, that the tail is fitted to
APART = 0.05  # the largest share that may lie apart, beyond a gap
CHANCE = 0.05  # of a gap as wide in a tail without any: what is left out without need is judged all the same
PRIOR_SHAPE = 0.2  # a tail a little heavier than an exponential one,
PRIOR_ROWS = 20  # with the weight of so many rows
LIGHTEST = 0.0  # shapes of a tail
HEAVIEST = 1.0


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
    kind: Codes  # (n,) the column whose category the number is oddest in, by its place in the sheet; -1 for none
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
    # What predicts: a constant, each measure cut off far out, and the levels of categories; and the column of each.
    rows = len(columns[0].codes)
    blocks = [np.ones((rows, 1))]
    owners = [-1]
    for measure in measures:
        blocks.append(np.clip(np.nan_to_num(measure.z), -WIDEST, WIDEST)[:, None])
        owners.append(measure.place)
    for place, column in enumerate(columns):
        if column.varies and len(column.levels) <= FEW_LEVELS and len(owners) < MOST_FEATURES:
            blocks.append((column.codes[:, None] == np.arange(1, len(column.levels))).astype(np.float64))
            owners += [place] * (len(column.levels) - 1)
    features = np.concatenate(blocks, axis=1)  # (n, features)
    owner = np.array(owners)
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
    telling = []
    for place, column in enumerate(columns):
        if column.level_numbers is None and 1 < len(column.levels) <= FEW_LEVELS:
            codes = column.codes[present]  # the share of the variance that lies between the levels
            means = np.bincount(codes, z[present]) / np.maximum(np.bincount(codes), 1)
            if float(np.var(means[codes])) / max(float(np.var(z[present])), 1e-12) >= TELLING:
                telling.append((place, column))
    highest = np.ones(len(z))
    kind = np.full(len(z), -1)
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


def far_out(distances: Floats, chance: float = CHANCE) -> Floats:
    """Return one in how many of these distances is as large as each, at least 1; NaN stays.

    Within the numbers that is counted, and extrapolated where they end, by a generalized Pareto law that is fitted to
    the farthest tenth. Numbers beyond a gap that a tail does not have by itself are left out of the fit: else what is
    wrong would make the tail look heavy, and nothing odd. `chance` is that of so wide a gap in a tail without any.

    >>> rng = np.random.default_rng(0)
    >>> severity = far_out(np.append(np.abs(rng.normal(size=999)), 20.0))
    >>> bool(severity[-1] > 1e4), bool(np.median(severity) < 3)
    (True, True)
    """
    present = np.sort(distances[~np.isnan(distances)])
    if len(present) < FEWEST or present[0] == present[-1]:
        return np.where(np.isnan(distances), np.nan, 1.0)

    # Equal numbers are spread over the step to the next: whole numbers stand for a range.
    levels, first, counts = np.unique(present, return_index=True, return_counts=True)
    if 2 * len(levels) <= len(present):
        step = np.median(np.diff(levels))
        place = (np.arange(len(present)) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
        present = np.asarray(np.maximum(present + step * (place - 0.5), 0.0))
    at_least = len(present) - np.searchsorted(present, distances, side="left")
    counted = len(present) / np.maximum(at_least, 1.0)

    # Fit scale and shape of the generalized Pareto law to the tail of ordinary numbers, by their weighted moments.
    ordinary = present[: len(present) - _count_beyond_gap(present, chance)]
    size = max(int(TAIL * len(present)), FEWEST // 2)
    start = ordinary[-size - 1]
    excess = ordinary[-size:] - start
    scale = float(excess.mean())
    weighted = float((excess * (1 - (np.arange(1, size + 1) - 0.35) / size)).mean())
    shape = LIGHTEST
    if scale > 2 * weighted:
        shape = 2 - scale / (scale - 2 * weighted)
        shape = float(np.clip((size * shape + PRIOR_ROWS * PRIOR_SHAPE) / (size + PRIOR_ROWS), LIGHTEST, HEAVIEST))
        scale *= 1 - min(shape, 0.9)
    if scale <= 0:
        return np.where(np.isnan(distances), np.nan, counted)
    beyond = np.maximum(distances - start, 0.0) / scale
    further = np.log1p(shape * beyond) / shape if shape > 1e-6 else beyond
    extrapolated = np.exp(np.minimum(further, 50.0)) * len(ordinary) / size
    return np.where(distances > ordinary[-1], np.maximum(extrapolated, len(ordinary)), counted)


def _count_beyond_gap(present: Floats, chance: float) -> int:
    """Return how many of these rising numbers lie beyond a gap that is too wide for the tail that ends before it.

    In a Pareto tail, the i-th largest number is ahead of the next one by a factor whose logarithm, times i, is
    exponential with the same mean for all i; in a lighter tail this falls outward.
    """
    limit = max(int(APART * len(present)), 1)
    top = np.log(np.maximum(present[::-1][: 3 * limit + FEWEST // 2], 1e-300))
    steps = np.arange(1, len(top)) * (top[:-1] - top[1:])
    upto = np.concatenate([[0.0], np.cumsum(steps)])
    here = np.arange(1, min(limit, len(steps) - 1) + 1)  # the gap after so many numbers, beside the next steps inward
    end = np.minimum(here + np.maximum(FEWEST, 2 * here), len(steps))
    times = safe_divide(steps[: len(here)], (upto[end] - upto[here]) / (end - here))
    wide = np.flatnonzero(times > np.log(limit / chance))
    return int(wide[-1]) + 1 if len(wide) else 0
