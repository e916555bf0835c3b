"""Tell columns that name the rows from columns that say something about them."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.representations.dates import learn_format
from centrality.tables.columns import is_text
from centrality.tables.written_numbers import learn_writing

FEW_ROWS = 20  # with fewer, no column is called an identifier
CODE_LENGTH = 5  # digits from which numbers that are all equally long may be codes
CHANCE = 3.0  # deviations by which fewer numbers than expected come again, in an identifier
YEARS = 1700, 2200
ORDER = 0.9  # rank correlation with another column from which on a column counts as a measurement
HARDLY_REPEATED = 0.9  # the share of an identifier's cells that differ from all others
LOOKED_AT = 10_000  # rows whose order is compared
BEYOND_DOUBLES = 2**53  # whole numbers from here on are rounded when they are computed with
NANOSECONDS = 10**18, 22 * 10**17  # since 1970: moments from 2001 to 2039
NEARLY_ALL = 0.95  # share of different values in a column of identifiers, of which rows entered twice repeat some


def names_rows(column: pa.ChunkedArray) -> bool:
    """Say whether a column looks like an identifier of the rows, even if a few rows occur twice.

    >>> names_rows(pa.chunked_array([[f"H{number}" for number in range(100)] + ["H7"]]))
    True
    """
    kind = column.type
    if len(column) < FEW_ROWS or not (pa.types.is_integer(kind) or is_text(kind)):
        return False
    different = pa.chunked_array([column.drop_null().unique()])
    if len(different) < HARDLY_REPEATED * len(column):
        return False
    if not is_text(kind):
        numbers = different.to_numpy().astype(np.float64)
        return is_unique_by_design(numbers) or _may_identify(numbers)
    texts = different.cast(pa.string())
    says_more = learn_format(texts)[0] is not None or learn_writing(texts)[0] is not None  # they are dates or amounts
    return not (says_more or pc.any(pc.match_substring(texts, " ")).as_py())


def too_long_to_measure(values: pa.ChunkedArray) -> bool:
    """Say whether whole numbers can only be codes: arithmetic would round them, and they are no moments."""
    ends = pc.min_max(values)
    least = ends["min"].as_py()
    largest = ends["max"].as_py()
    if least is None or min(abs(least), abs(largest)) < BEYOND_DOUBLES or (least < 0 < largest):
        return False
    return not NANOSECONDS[0] <= least <= largest < NANOSECONDS[1]


def identifiers(
    names: Sequence[str], rows: int, numbers_of: Callable[[str, int], NDArray[np.float64]]
) -> dict[str, bool]:
    """Return the columns of numbers that may be identifiers, and of each whether it surely is one.

    It is one if fewer numbers come again than chance would let: of so many whole numbers in such a range. It may be one
    if all are different and equally long, and correlate with no other column. `numbers_of(name, step)` returns every
    step-th number of a column; memory holds one whole column, and few rows of all.
    """
    sure = {}
    likely = []
    for name in names:
        x = numbers_of(name, 1)
        if is_unique_by_design(x):
            sure[name] = True
        elif _may_identify(x):
            likely.append(name)
    if not likely:
        return sure
    from scipy.stats import rankdata  # takes longer to import than all else that scores rows

    # Ranks of mean zero and unit length, so that products of two are rank correlations; a gap has rank zero.
    step = -(-rows // LOOKED_AT)
    ranks = {}
    for name in names:
        rank = rankdata(numbers_of(name, step), nan_policy="omit")
        centred = np.where(np.isnan(rank), np.nanmean(rank), rank)
        centred = centred - centred.mean()
        ranks[name] = centred / (np.linalg.norm(centred) or 1.0)
    alone = [n for n in likely if all(abs(ranks[n] @ ranks[other]) < ORDER for other in names if other != n)]
    return sure | dict.fromkeys(alone, False)


def is_unique_by_design(x: NDArray[np.float64]) -> bool:
    """Say whether whole numbers come again far less often than if they were drawn: they number the rows.

    Years are none, though each may come once.
    """
    n = len(x)
    if n < FEW_ROWS or not (x[:LOOKED_AT] == np.floor(x[:LOOKED_AT])).all() or not (x == np.floor(x)).all():
        return False  # also for NaN
    again = n - len(np.unique(x))
    if again > (1 - NEARLY_ALL) * n or (x.min() >= YEARS[0] and x.max() <= YEARS[1]):
        return False
    expected = n * (n - 1) / 2 / (np.ptp(x) + 1)  # pairs of equal numbers
    return bool(again + CHANCE * np.sqrt(expected) < expected)


def _may_identify(x: NDArray[np.float64]) -> bool:
    """Say whether the numbers are whole, all different, and have all the same length."""
    for numbers in (x[:LOOKED_AT], x):  # most columns repeat a number, or have a fraction, in the first rows
        if len(x) < FEW_ROWS or not (numbers == np.floor(numbers)).all() or len(np.unique(numbers)) < len(numbers):
            return False  # also for NaN
    least = np.abs(x).min()
    largest = np.abs(x).max()
    return bool(least >= 10.0 ** (CODE_LENGTH - 1) and np.floor(np.log10(least)) == np.floor(np.log10(largest)))
