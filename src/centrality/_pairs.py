"""Comparisons for the global head: which of two rows is nearer to the anchors.

A comparison answers with a margin: positive where the first row is nearer, negative where the second is,
zero where they tie. The sampling schemes of the paper's Supplement say who is compared, before whom.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from centrality._rows import Rows

Index = NDArray[np.intp]
METRICS = ("euclidean", "manhattan", "cosine")
TIE = 1e-6  # relative to what was compared: closer than this is float32 rounding, not a preference
ANCHOR_BLOCK = 4096  # anchors compared at once when a scheme uses all of them


class Comparison(Protocol):
    def margin(self, first: Index, second: Index, anchors: Index) -> Tensor:
        """(b,) and (b,) row numbers before shared (m,) or own (b, m) anchors -> (b, m)."""

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        """The only anchors to be used when a batch shares them, or None where any row will do."""


@dataclass(frozen=True)
class Scheme:
    """Who is compared before whom; see the Supplement, "Different sampling strategy investigation"."""

    split: bool  # anchors and candidates come from three disjoint thirds
    all_pairs: bool  # every candidate meets every other, not only its match
    all_anchors: bool  # every anchor judges every pair, not only a subsample


SCHEMES = {
    1: Scheme(split=True, all_pairs=False, all_anchors=False),
    2: Scheme(split=True, all_pairs=True, all_anchors=False),
    3: Scheme(split=True, all_pairs=True, all_anchors=True),
    4: Scheme(split=False, all_pairs=True, all_anchors=True),
}


class Partition:
    """One random split of the rows into anchors S0 and candidates S1, S2."""

    def __init__(self, n: int, scheme: Scheme, rng: np.random.Generator) -> None:
        order = rng.permutation(n)
        third = n // 3
        self.scheme, self._rng = scheme, rng
        if scheme.split:
            self.first, self.second, self.anchors = (
                order[:third],
                order[third : 2 * third],
                order[2 * third :],
            )
        else:
            self.first = self.second = self.anchors = order

    def pairs(self, batch_size: int) -> Iterator[tuple[Index, Index]]:
        """Batches of candidate pairs, in random order and without a list of them all.

        Both candidate sets are shuffled, so matching the one with the other shifted by d is a random
        matching, and all shifts together are all pairs.
        """
        size = len(self.first)
        start = 0 if self.scheme.split else size  # unsplit, the first matching pairs each row with itself
        stop = size**2 if self.scheme.all_pairs else size
        for k in range(start, stop, batch_size):
            shift, row = np.divmod(np.arange(k, min(k + batch_size, stop)), size)
            yield self.first[row], self.second[(row + shift) % size]

    def judges(self, count: int, pairs: int | None) -> Index:
        """Anchors: (m,) shared by a batch, or (pairs, m) drawn for each pair; no more than there are.

        S0 is shuffled, so any window of it is a random subset without repetition.
        """
        size = len(self.anchors)
        if self.scheme.all_anchors or count >= size:
            return self.anchors
        start = self._rng.integers(size, size=pairs)
        return np.asarray(self.anchors[(np.asarray(start)[..., None] + np.arange(count)) % size])


def preference(comparison: Comparison, first: Index, second: Index, anchors: Index) -> Tensor:
    """π̂: the share of anchors that find the first row nearer. Ties do not vote; without a vote it is 1/2."""
    lead = votes = torch.zeros(())
    for start in range(0, anchors.shape[-1], ANCHOR_BLOCK):
        vote = comparison.margin(first, second, anchors[..., start : start + ANCHOR_BLOCK]).sign()  # (b, m)
        lead = lead + vote.sum(1)  # wins - losses
        votes = votes + vote.abs().sum(1)  # wins + losses
    return (lead / votes.clamp(min=1)).add_(1).mul_(0.5)  # (b,)


class OfVectors:
    """Rows compared by a metric: a named one on the rows, or the user's function of two batches.

    Euclidean and Manhattan distances see the scaled rows, as the network does. The cosine and a user's
    function see the rows as they were given: centring would turn every angle, and only the user knows the
    units of a function.
    """

    def __init__(self, rows: Rows, metric: str | Callable[..., Any]) -> None:
        if not callable(metric) and metric not in METRICS:
            raise ValueError(
                f"metric must be one of {', '.join(METRICS)}, or a function of two batches of rows, got {metric!r}."
            )
        self.rows, self.metric = rows, metric
        self._tie: float | None = None
        if callable(metric):
            _try_metric(metric, rows)

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        return None

    def margin(self, first: Index, second: Index, anchors: Index) -> Tensor:
        if anchors.ndim == 2:  # one product with all the anchors of the batch, then each pair's own
            every, own = np.unique(anchors, return_inverse=True)
            margin = self.margin(first, second, every)
            return margin.gather(1, torch.from_numpy(own.reshape(anchors.shape)).to(margin.device))
        if callable(self.metric):
            before = self.rows.as_given(anchors)
            distances = [_called(self.metric, self.rows.as_given(index), before) for index in (first, second)]
            return torch.from_numpy(distances[1] - distances[0])
        x, y, a = (self._vectors(index) for index in (first, second, anchors))
        if self._tie is None:  # any batch can tell
            self._tie = TIE * self._size(x, y, a)
        if self.metric == "manhattan":
            margin = torch.cdist(y, a, p=1) - torch.cdist(x, a, p=1)
        else:
            # |x - a|² < |y - a|²  <=>  (x - y)·a > (x - y)·(x + y) / 2: no distance is ever formed
            difference = x - y
            level = torch.linalg.vecdot(difference, x + y)[:, None]
            margin = torch.addmm(level, difference, a.T, beta=-0.5)
        return functional.hardshrink(margin, self._tie)  # exactly 0 where it is no more than rounding

    def _size(self, x: Tensor, y: Tensor, a: Tensor) -> float:
        """How large the numbers are whose rounding is left in a margin."""
        if self.metric == "manhattan":
            return float(torch.cdist(x, a, p=1).mean())
        return float((x - y).norm(dim=1).mean() * (x.norm(dim=1).mean() + a.norm(dim=1).mean()))

    def _vectors(self, index: Index) -> Tensor:
        if self.metric != "cosine":
            return self.rows.take(index)
        given = torch.from_numpy(self.rows.as_given(index).astype(np.float32)).to(self.rows.device)
        return functional.normalize(given, dim=1)  # of unit length, the nearer is the one of smaller angle


class OfMatrix:
    """Rows compared by a dissimilarity matrix that the user brings."""

    def __init__(self, matrix: Any, n: int) -> None:
        self.matrix = np.asarray(matrix)
        _require_dissimilarity(self.matrix, n)

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        return None

    def margin(self, first: Index, second: Index, anchors: Index) -> Tensor:
        near, far = (self.matrix[index[:, None], anchors] for index in (first, second))
        return torch.from_numpy(np.subtract(far, near, dtype=np.float64))


class OfRowNumbers:
    """Rows compared by the user's function of two row numbers.

    Such functions are slow (an alignment, a shortest path), so batches share one fixed panel of anchors,
    and what was asked once about a row is remembered: n × panel calls at most.
    """

    def __init__(self, function: Callable[..., Any], n: int) -> None:
        self.n = n
        self._function = _elementwise(function)
        self._panel: Index | None = None
        self._known: dict[int, NDArray[np.float64]] = {}

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        if self._panel is None:
            self._panel = rng.permutation(self.n)[:count]
        return self._panel

    def margin(self, first: Index, second: Index, anchors: Index) -> Tensor:
        return torch.from_numpy(self._distances(second, anchors) - self._distances(first, anchors))

    def _distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        if self._panel is None or not np.array_equal(anchors, self._panel):
            return self._ask(rows[:, None], anchors)
        for row in set(rows.tolist()) - self._known.keys():
            self._known[row] = self._ask(np.full(len(anchors), row), anchors)
        return np.stack([self._known[row] for row in rows.tolist()])

    def _ask(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        rows, anchors = np.broadcast_arrays(rows, anchors)
        answer = np.asarray(self._function(rows.ravel(), anchors.ravel()), dtype=np.float64)
        if not np.isfinite(answer).all():
            k = int(np.flatnonzero(~np.isfinite(answer))[0])
            raise ValueError(
                "dissimilarity must give finite numbers, "
                f"got {answer[k]} for rows {rows.flat[k]} and {anchors.flat[k]}."
            )
        return answer.reshape(rows.shape)


def compare(rows: Rows, metric: str | Callable[..., Any], dissimilarity: Any) -> Comparison:
    """The comparison the user asked for: a given dissimilarity if there is one, else the metric."""
    if dissimilarity is None:
        return OfVectors(rows, metric)
    if callable(dissimilarity):
        return OfRowNumbers(dissimilarity, len(rows))
    return OfMatrix(dissimilarity, len(rows))


def _try_metric(metric: Callable[..., Any], rows: Rows) -> None:
    few = np.arange(min(3, len(rows)))
    _called(metric, rows.as_given(few[:2]), rows.as_given(few))


def _called(metric: Callable[..., Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    distances = np.asarray(metric(a, b), dtype=np.float64)
    if distances.shape != (len(a), len(b)):
        raise ValueError(
            f"metric must give a ({len(a)}, {len(b)}) array of dissimilarities for batches of {len(a)} and "
            f"{len(b)} rows, got shape {distances.shape}."
        )
    if not np.isfinite(distances).all():
        raise ValueError("metric must give finite dissimilarities, got NaN or infinity.")
    return distances


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arrays of row numbers: as it is if it takes them, else called pair by pair."""
    singly = [float(function(0, 1)), float(function(1, 2))]
    try:
        together = np.asarray(function(np.array([0, 1]), np.array([1, 2])), dtype=np.float64)
    except Exception:  # whatever it says: it was written for two plain numbers, for which it has just worked
        together = np.empty(0)
    if together.shape == (2,) and np.allclose(together, singly):
        return function
    return np.vectorize(lambda i, j: function(int(i), int(j)), otypes=[np.float64])


def _require_dissimilarity(matrix: NDArray[Any], n: int) -> None:
    if matrix.shape != (n, n):
        raise ValueError(
            f"dissimilarity must be a square matrix with one row and column for each of the {n} rows of X, "
            f"got shape {matrix.shape}."
        )
    block = max(1, (1 << 22) // n)
    for start in range(0, n, block):
        part, mirror = matrix[start : start + block], matrix[:, start : start + block].T
        if not np.isfinite(part).all() or (part < 0).any():
            raise ValueError("dissimilarity must hold finite numbers that are not negative.")
        uneven = np.abs(part - mirror)
        if (uneven > 1e-6 * np.maximum(part, mirror) + 1e-12).any():
            i, j = np.unravel_index(uneven.argmax(), uneven.shape)
            raise ValueError(
                f"dissimilarity must be symmetric, but the entry ({start + i}, {j}) is {part[i, j]} "
                f"and ({j}, {start + i}) is {mirror[i, j]}."
            )
