"""Impossible and mis-scaled numbers: a decimal slipped, another unit, a wrong sign, far from all that the row says."""

from collections.abc import Iterator

import numpy as np

from centrality._internal.text import number
from centrality.findings.columns import Codes, Column
from centrality.findings.finding import Finding
from centrality.findings.numbers import Prediction
from centrality.findings.sheet import Sheet

CHANCE = 0.1  # the share of the cells called far off that ordinary data as large would have, at most
SLIPS = (10.0, 100.0, 1000.0, 10_000.0, 1e6)
UNITS = {2.54: "inches and centimetres", 3.281: "feet and metres", 1.609: "miles and kilometres",
         2.205: "pounds and kilograms", 4.546: "gallons and litres", 12.0: "months and years",
         60.0: "minutes and hours", 24.0: "hours and days", 7.0: "days and weeks"}  # fmt: skip
SAME_UNIT = 3  # rows from which on another unit is named
USUAL = 0.9  # the share of a column's numbers that are as near to what is expected as a corrected one must be
COMMON = 5  # rows far off that hold the same value: more are no slips
NEGATIVE = 0.02  # the most rows with a minus by mistake


def find(sheet: Sheet) -> Iterator[Finding]:
    far_rows = _far_rows(sheet)
    for prediction in sheet.predictions:
        column = sheet.columns[prediction.measure.place]
        far = far_rows[prediction.measure.place]
        named = np.zeros(0, dtype=np.intp)
        for factor, rows in _factors(prediction, column, far).items():
            named = np.concatenate([named, rows])
            yield _mis_scaled(sheet, column, prediction, factor, rows)
        rest = np.setdiff1d(far, named)
        if len(rest):
            yield _far_off(sheet, column, prediction, rest)
    for column in sheet.columns:
        yield from _negative(sheet, column)


def _far_rows(sheet: Sheet) -> dict[int, Codes]:
    """Return, by column, the cells so far off that hardly any would be in ordinary data of this size.

    Of so many cells as odd as that, at most a tenth would be there by chance (Benjamini and Hochberg).
    Of each row only one cell counts, as a wrong one makes the others look wrong, too: that which is far off both given
    the others and by itself.
    """
    places = [prediction.measure.place for prediction in sheet.predictions]
    if not places:
        return {}
    doubts = sheet.doubts[:, places]
    blame = doubts * np.stack([prediction.alone for prediction in sheet.predictions], axis=1)
    rising = np.arange(1, len(doubts) + 1)
    for k in range(len(places)):
        highest = np.sort(doubts[:, k])[::-1]
        enough = np.flatnonzero(highest * rising >= doubts.size / CHANCE)
        bound = max(highest[enough[-1]], len(doubts)) if len(enough) else np.inf
        blame[doubts[:, k] < bound, k] = 0.0
    found = {}
    for k, place in enumerate(places):
        column = sheet.columns[place]
        far = np.flatnonzero((blame[:, k] > 0) & (blame[:, k] >= blame.max(1)))
        far = far[np.bincount(column.codes[far], minlength=len(column.levels))[column.codes[far]] <= COMMON]
        found[place] = far[np.argsort(-doubts[far, k], kind="stable")]
    return found


def _factors(prediction: Prediction, column: Column, far: Codes) -> dict[float, Codes]:
    """Return the rows that would be ordinary if divided by a factor, by the factor."""
    assert column.numbers is not None
    measure, numbers = prediction.measure, column.numbers
    usual_error = np.nanquantile(np.abs(measure.z - prediction.expected), USUAL)
    factors: dict[float, Codes] = {}
    left = far
    for factor in (*SLIPS, *UNITS):
        for by in (factor, 1 / factor):
            if len(left) == 0 or (factor in UNITS and len(left) < SAME_UNIT):
                continue
            corrected = measure.of_numbers(numbers[left] / by)
            fits = np.abs(corrected - prediction.expected[left]) <= usual_error
            if column.is_whole:  # a slip does not make a whole number of a fraction
                fits &= numbers[left] / by == np.round(numbers[left] / by)
            if fits.sum() >= (SAME_UNIT if factor in UNITS else 1):
                factors[by] = left[fits]
                left = left[~fits]
    return factors


def _mis_scaled(sheet: Sheet, column: Column, prediction: Prediction, factor: float, rows: Codes) -> Finding:
    size = max(factor, 1 / factor)
    way = "large" if factor > 1 else "small"
    unit = UNITS.get(round(size, 3))
    cause = f"another unit ({unit})?" if unit else "a decimal point that slipped, or another unit?"
    first = int(rows[0])
    return sheet.finding(
        "scale",
        f"{column.name} is about {number(size)} times too {way}",
        f"{cause} {_beside(column, prediction, first)}",
        columns=[column.name],
        rows=rows,
        severity=float(np.median(sheet.doubts[rows, prediction.measure.place])),
        advice=f"{'Divide' if factor > 1 else 'Multiply'} these cells by {number(size)} if the source says so.",
    )


def _far_off(sheet: Sheet, column: Column, prediction: Prediction, rows: Codes) -> Finding:
    first = int(rows[0])
    kinds = [sheet.columns[place].name for place in np.unique(prediction.kind[rows]) if place >= 0]
    if kinds:
        others = f"others of the same {' and '.join(kinds)}"
        reason = _beside_its_kind(sheet, column, prediction, first)
    else:
        others = "what the other columns say" if prediction.trust > 0.5 else "all others"
        reason = _beside(column, prediction, first)
    return sheet.finding(
        "scale",
        f"{column.name} is far from {others}",
        f"a mistake, or another kind of row? {reason}",
        columns=[column.name],
        rows=rows,
        severity=float(np.median(sheet.doubts[rows, prediction.measure.place])),
        advice="Look at these cells in the source.",
    )


def _beside(column: Column, prediction: Prediction, row: int) -> str:
    """Say what a row holds and what would be expected."""
    cell = f"{column.written(column.codes[row])} in row {row:,}"
    return cell if column.is_date else f"{cell}, where about {number(_three_digits(prediction.numbers[row]))} is usual"


def _beside_its_kind(sheet: Sheet, column: Column, prediction: Prediction, row: int) -> str:
    """Say what a row holds, and between what nine of ten others of its kind lie."""
    assert column.numbers is not None
    cell = f"{column.written(column.codes[row])} in row {row:,}"
    kind = sheet.columns[int(prediction.kind[row])]
    alike = column.numbers[kind.codes == kind.codes[row]]
    if prediction.kind[row] < 0 or column.is_date:
        return cell
    low, high = np.nanquantile(alike, [0.05, 0.95])
    return (
        f"{cell}; nine of ten with {kind.name} {kind.written(kind.codes[row])} lie from {number(low)} to {number(high)}"
    )


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _negative(sheet: Sheet, column: Column) -> Iterator[Finding]:
    """Find a minus by mistake: rare, and as large as the other numbers are without it."""
    if column.numbers is None or column.is_date:
        return
    rows = np.flatnonzero(column.numbers < 0)
    others = column.numbers[column.numbers > 0]
    if not 0 < len(rows) <= NEGATIVE * len(others) or len(others) < 50:
        return
    low, high = np.quantile(others, [0.02, 0.98])
    sizes = -column.numbers[rows]
    if ((sizes >= low) & (sizes <= high)).mean() < USUAL or low < high / 1000 or len(np.unique(sizes)) < len(sizes) / 3:
        return
    yield sheet.finding(
        "scale",
        f"{column.name} is negative",
        f"a wrong sign? without it, these would be ordinary; all other {len(others):,} are above 0",
        columns=[column.name],
        rows=rows,
        severity=max(sheet.one_in(rows), float(np.median(sheet.doubts[rows, sheet.columns.index(column)]))),
        advice="Take the minus away if the source says so.",
    )
