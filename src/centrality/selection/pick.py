"""Pick rows: typical, diverse, odd, or to label.

Diverse rows are chosen so that the mean distance of all rows to the nearest chosen one is small (facility location).
For rows to label it is the mean square of that distance, in which rows far from all chosen ones, such as those of a
rare class, count more. Rows are chosen one after another by greedy k-means++: each step draws a few candidates, in
proportion to that distance or square, and takes the best of them. So every prefix of the choice is a good choice for
its size. Very many rows are represented by a sample, whose mean distance is within a per cent of that of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from centrality import tables
from centrality._internal.checks import InputError, generator, whole_number
from centrality._internal.input import CheckedRows, ModelRows, in_memory
from centrality._internal.text import none_if_missing
from centrality.model.fitted import FittedModel, map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.calibration import one_t
from centrality.representations.base import is_frame

Labels = str | Sequence[object] | NDArray[Any]


def codes_of(X: Any, by: Labels | None, n: int) -> NDArray[np.intp]:  # (n,)
    """Return the number of each row's group; groups are numbered in the sorted order of their values, 0 without groups.

    `by` is the name of a column of a frame, or one value for each of the n rows.

    >>> codes_of(None, ["b", "a", None, "b"], 4)
    array([1, 0, 2, 1])
    """
    if by is None:
        return np.zeros(n, dtype=np.intp)
    values = _labels(X, by)
    if len(values) != n:
        raise InputError(f"by must hold one value for each of the {n:,} rows, got {len(values):,}.")
    in_order = values_of(X, by)
    if len(in_order) == n > 1:
        raise InputError("by must tell groups of rows, but its values differ in every row.")
    places = {value: place for place, value in enumerate(in_order)}
    return np.array([places[value] for value in values], dtype=np.intp)


def values_of(X: Any, by: Labels) -> list[object]:
    """Return the distinct values by which rows are grouped: numbers by size, others sorted as text, missing ones last.

    >>> values_of(None, [10, 9, None, 10])
    [9, 10, None]
    """
    distinct = set(_labels(X, by))
    values: list[Any] = [value for value in distinct if value is not None]
    are_numbers = all(isinstance(value, Real) for value in values)
    return sorted(values, key=None if are_numbers else str) + [None] * (None in distinct)


def _labels(X: Any, by: Labels) -> list[object]:
    """Return the value of each row, None if it is missing."""
    if not isinstance(by, str):
        return [none_if_missing(value) for value in by]
    X = in_memory(X)
    if isinstance(X, pa.RecordBatch) or not is_frame(X):
        raise InputError(f"by={by!r} names a column, but the rows are no frame: give one value for each row instead.")
    frame = nw.from_native(X, eager_only=True)
    tables.require(frame.columns, [by])
    return [none_if_missing(value) for value in frame[by].to_list()]


def shares_of(k: int, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Divide k among groups of these sizes as evenly as possible; no group gets more than its size.

    >>> shares_of(7, np.array([100, 2, 100])).tolist()
    [3, 2, 2]
    """
    shares = np.zeros(len(sizes), dtype=np.intp)
    for _ in range(len(sizes) + 1):
        unfilled = np.flatnonzero(shares < sizes)
        missing = k - int(shares.sum())
        if missing <= 0 or not len(unfilled):
            break
        share, rest = divmod(missing, len(unfilled))
        shares[unfilled] += share + (np.arange(len(unfilled)) < rest)
        shares = np.minimum(shares, sizes)
    return shares


def interleaved(parts: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Interleave the rows of all groups: the first of each group, then the second of each, and so on.

    >>> interleaved([np.array([5, 6, 7]), np.array([1])]).tolist()
    [5, 1, 6, 7]
    """
    place = np.concatenate([np.arange(len(part)) for part in parts])
    return np.asarray(np.concatenate(parts)[np.argsort(place, kind="stable")])


SAMPLE = 10_000  # rows that represent all others, or ten times the rows to choose, if that is more
DISTANCES = 1 << 18  # distances computed in each step, at least: the fewer the rows, the more candidates are tried
FEWEST_TRIED = 16  # candidates drawn in each step

Floats = NDArray[np.float32]


def sample_for(k: int, rows: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows from which k are chosen: all of them or, of very many, a sample in the same order."""
    size = max(SAMPLE, 10 * k)
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def spread(
    Z: Floats,  # (m, p)
    k: int,
    rng: np.random.Generator,
    weight: Floats | None = None,  # (m,)
    *,
    squared: bool = False,
    progress: bool = False,
) -> NDArray[np.intp]:  # (k,)
    """Return the numbers of k rows, chosen so that the weighted mean distance of all rows to the nearest is small.

    With `squared`, it is the mean of squared distances. Rows of weight 0 are chosen last.

    >>> line = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]], dtype=np.float32)
    >>> sorted(spread(line, 3, np.random.default_rng(0)) // 2)  # one of each pair, and the last
    [np.int64(0), np.int64(1), np.int64(2)]
    """
    weight = np.ones(len(Z), dtype=np.float32) if weight is None else weight
    tries = max(FEWEST_TRIED, DISTANCES // len(Z))
    squares = np.einsum("ij,ij->i", Z, Z)
    apart: Floats | None = None  # (m,) the distance of each row to the nearest chosen one, or its square
    chosen: list[int] = []
    for _ in tqdm(range(k), disable=not progress, desc="Picking", leave=False):
        sums = np.cumsum(weight if apart is None else weight * apart, dtype=np.float64)
        if not sums[-1] > 0:  # every row with a weight equals a chosen one
            break
        drawn = np.searchsorted(sums, rng.random(tries) * sums[-1], side="right")
        candidates = np.unique(drawn.clip(max=len(sums) - 1))
        tried = squares[candidates, None] + squares - 2 * Z[candidates] @ Z.T
        np.maximum(tried, 0, out=tried)
        if not squared:
            np.sqrt(tried, out=tried)
        if apart is not None:
            np.minimum(tried, apart, out=tried)
        best = int(np.argmin(tried @ weight))
        chosen.append(int(candidates[best]))
        apart = tried[best]
        apart[chosen[-1]] = 0  # rounding may have left a little: no row is chosen twice
    if len(chosen) < k:  # add other rows at random, those with a weight first
        others = rng.permutation(np.setdiff1d(np.arange(len(weight)), chosen))
        others = others[np.argsort(-(weight[others] > 0).astype(np.int8), kind="stable")]
        chosen += others[: k - len(chosen)].tolist()
    return np.array(chosen, dtype=np.intp)


KINDS = ("typical", "diverse", "representative", "odd", "to label")
# The share of the rows, the least central, that need not be covered: fewer of rows to label, as rare classes are odd.
OUTLYING = {"representative": 0.05, "to label": 0.01}


def select(
    model: CentralityModel,
    X: ModelRows,
    k: int,
    what: str = "diverse",
    *,
    by: Labels | None = None,
    t: float | None = None,
    random_state: int | None = 0,
    progress: bool = False,
) -> NDArray[np.intp]:  # (k,)
    """Return the positions of k rows of X, the best first: every prefix is a good choice for its size.

    Parameters
    ----------
    what : which rows.

        - "typical": the most central ones.
        - "odd": the least central ones.
        - "diverse": rows that cover all rows, odd ones too: the mean distance to the nearest of them is small.
        - "representative": rows that cover the others as "diverse" does, but for the 5% least central: no outliers.
        - "to label": what a classifier learns the most from: all rows but the 1% least central are covered, those far
          from what is chosen before others, so that rare classes and borders have their share.
    by : a column of X, or one value for each row: k is shared evenly among these groups, and they take turns.
    t : from 0, global, to 1, local; None is the model's own.
    random_state : the seed of kinds that cover rows; the same seed picks the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import FUSE, select
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = FUSE(random_state=0, max_steps=100).fit(X)
    >>> odd = select(model, X, 5, "odd")
    >>> bool(np.linalg.norm(X[odd], axis=1).min() > np.median(np.linalg.norm(X, axis=1)))
    True
    """
    reader_of(model).require_rows_apart()
    vectors = reader_of(model).vectors(X)
    rows = np.flatnonzero(~np.isnan(vectors).all(1)) if isinstance(vectors, np.ndarray) else np.arange(vectors.shape[0])
    groups = codes_of(X, by, vectors.shape[0])[rows]
    t = one_t(model.t if t is None else t)
    return Picker(model.fitted_, vectors, t, what, generator(random_state), progress).pick_by(groups, rows, k)


@dataclass(frozen=True)
class Picker:
    """Picks rows of one kind from the rows of a model."""

    fitted: FittedModel
    vectors: CheckedRows
    t: float
    what: str
    rng: np.random.Generator
    progress: bool = False

    def __post_init__(self) -> None:
        if self.what not in KINDS:
            raise InputError(f"what must be one of {', '.join(map(repr, KINDS))}, got {self.what!r}.")

    def pick_by(self, groups: NDArray[np.intp], rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return k of these rows, the best first: as many of each group as can be, in turn."""
        shares = shares_of(whole_number("k", k, at_most=len(rows)), np.bincount(groups))
        return interleaved([self.pick(rows[groups == g], int(share)) for g, share in enumerate(shares)])

    def pick(self, rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return k of these rows, the best first."""
        if self.what in ("typical", "odd"):
            order = np.argsort(self._scores(rows), kind="stable")
            return np.asarray(rows[order[::-1] if self.what == "typical" else order][:k])
        sample = sample_for(k, rows, self.rng)
        Z = self.fitted.scaling.apply(self.vectors[sample])
        weight = None
        if self.what in OUTLYING:  # the least central need not be covered
            scores = self._scores(sample)
            weight = (scores >= np.quantile(scores, OUTLYING[self.what])).astype(np.float32)
        chosen = spread(Z, k, self.rng, weight, squared=self.what == "to label", progress=self.progress)
        return np.asarray(sample[chosen])

    def _scores(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return map_valid_rows(self.vectors[rows], lambda block: self.fitted.scores(block, self.t))
