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


def find_far_numbers(sheet: Sheet) -> Iterator[Finding]:
    """Find numbers that a factor would make ordinary, and others far from all that the row says of them."""
    far_rows = _far_rows(sheet)
    for prediction in sheet.predictions:
        place = prediction.measure.place
        column = sheet.columns[place]
        unexplained = far_rows[place]
        for factor, rows in _rows_by_factor(prediction, column, far_rows[place]).items():
            unexplained = np.setdiff1d(unexplained, rows)
            size = max(factor, 1 / factor)
            unit = UNITS.get(round(size, 3))
            cause = f"another unit ({unit})?" if unit else "a decimal point that slipped, or another unit?"
            yield sheet.finding(
                "scale",
                f"{column.name} is about {number(size)} times too {'large' if factor > 1 else 'small'}",
                f"{cause} {_beside_expected(column, prediction, int(rows[0]))}",
                columns=[column.name],
                rows=rows,
                severity=float(np.median(sheet.doubts[rows, place])),
                advice=f"{'Divide' if factor > 1 else 'Multiply'} these cells by {number(size)} if the source says so.",
            )
        rows = np.sort(unexplained)
        if len(rows) == 0:
            continue
        first = int(rows[0])
        kinds = [sheet.columns[kind].name for kind in np.unique(prediction.kind[rows]) if kind >= 0]
        if kinds:
            others = f"others of the same {' and '.join(kinds)}"
            cell = f"{column.written(column.codes[first])} in row {first:,}"
            if prediction.kind[first] >= 0 and not column.is_date and column.numbers is not None:
                kind = sheet.columns[int(prediction.kind[first])]
                low, high = np.nanquantile(column.numbers[kind.codes == kind.codes[first]], [0.05, 0.95])
                cell += f"; nine of ten with {kind.name} {kind.written(kind.codes[first])} lie from {number(low)}"
                cell += f" to {number(high)}"
        else:
            others = "what the other columns say" if prediction.trust > 0.5 else "all others"
            cell = _beside_expected(column, prediction, first)
        yield sheet.finding(
            "scale",
            f"{column.name} is far from {others}",
            f"a mistake, or another kind of row? {cell}",
            columns=[column.name],
            rows=rows,
            severity=float(np.median(sheet.doubts[rows, place])),
            advice="Look at these cells in the source.",
        )


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
    rows_of_column = {}
    for k, place in enumerate(places):
        column = sheet.columns[place]
        far = np.flatnonzero((blame[:, k] > 0) & (blame[:, k] >= blame.max(1)))
        far = far[np.bincount(column.codes[far], minlength=len(column.levels))[column.codes[far]] <= COMMON]
        rows_of_column[place] = far[np.argsort(-doubts[far, k], kind="stable")]
    return rows_of_column


def _rows_by_factor(prediction: Prediction, column: Column, far: Codes) -> dict[float, Codes]:
    """Return the rows that would be ordinary if divided by a factor, by the factor."""
    assert column.numbers is not None
    numbers = column.numbers
    measure = prediction.measure
    usual_error = np.nanquantile(np.abs(measure.z - prediction.expected), USUAL)
    rows_by_factor: dict[float, Codes] = {}
    left = far
    for size in (*SLIPS, *UNITS):
        for factor in (size, 1 / size):
            if len(left) == 0 or (size in UNITS and len(left) < SAME_UNIT):
                continue
            corrected = numbers[left] / factor
            fits = np.abs(measure.of_numbers(corrected) - prediction.expected[left]) <= usual_error
            if column.is_whole:  # a slip does not make a whole number of a fraction
                fits &= corrected == np.round(corrected)
            if fits.sum() >= (SAME_UNIT if size in UNITS else 1):
                rows_by_factor[factor] = left[fits]
                left = left[~fits]
    return rows_by_factor


def _beside_expected(column: Column, prediction: Prediction, row: int) -> str:
    """Say what a row holds and what would be expected, in three digits."""
    cell = f"{column.written(column.codes[row])} in row {row:,}"
    if column.is_date:
        return cell
    return f"{cell}, where about {number(float(f'{prediction.numbers[row]:.3g}'))} is usual"


def find_wrong_signs(sheet: Sheet) -> Iterator[Finding]:
    """Find a minus by mistake: rare, and as large as the other numbers are without it."""
    for place, column in enumerate(sheet.columns):
        if column.numbers is None or column.is_date:
            continue
        rows = np.flatnonzero(column.numbers < 0)
        others = column.numbers[column.numbers > 0]
        if not 0 < len(rows) <= NEGATIVE * len(others) or len(others) < 50:
            continue
        low, high = np.quantile(others, [0.02, 0.98])
        sizes = -column.numbers[rows]
        few_sizes = len(np.unique(sizes)) < len(sizes) / 3
        if ((sizes >= low) & (sizes <= high)).mean() < USUAL or low < high / 1000 or few_sizes:
            continue
        yield sheet.finding(
            "scale",
            f"{column.name} is negative",
            f"a wrong sign? without it, these would be ordinary; all other {len(others):,} are above 0",
            columns=[column.name],
            rows=rows,
            severity=max(sheet.one_in(rows), float(np.median(sheet.doubts[rows, place]))),
            advice="Take the minus away if the source says so.",
        )
