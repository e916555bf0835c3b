"""Compare rows by what the user asked for; their own dissimilarity is computed here: a function, or a matrix."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from centrality._checks import InputError
from centrality._estimator import Dissimilarity
from centrality.training.comparisons import Comparison, NamedMetric
from centrality.training.rows import Rows
from centrality.training.schemes import Index

MATRIX_VALUES_CHECKED_AT_ONCE = 1 << 22
ASYMMETRY, ASYMMETRY_AT_ZERO = 1e-6, 1e-12  # of two entries that count as equal: relative, and absolute


def compare(rows: Rows, metric: str | Callable[..., ArrayLike], dissimilarity: Dissimilarity) -> Comparison:
    """Return the comparison that the user asked for: by their dissimilarity if there is one, else by the metric."""
    if callable(dissimilarity):
        return DissimilarityFunction(rows, dissimilarity)
    if dissimilarity is not None:
        return DissimilarityMatrix(rows, dissimilarity)
    return MetricFunction(rows, metric) if callable(metric) else NamedMetric(rows, metric)


class HostComparison(Comparison):
    """Compares rows by distances between row numbers of X, which a subclass finds on the host."""

    @abstractmethod
    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:  # (b,), (m,) or (b, m) -> (b, m)
        """Return the distances from each row to the anchors that all share, or to its own."""

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.float64]:
        """Return by how much each first candidate is nearer than its opponents."""
        found = []
        for of_member, before in zip(self._numbers(candidates), self._numbers(anchors), strict=True):
            first, second = (self.distances(half, before) for half in np.split(of_member, 2))
            found.append([np.roll(second, -shift, 0) - first for shift in range(opponents)])
        return np.asarray(found)

    def _numbers(self, positions: Index) -> Index:
        return np.asarray(self._rows.numbers[positions])


class MetricFunction(HostComparison):
    """Compares by the user's function of two batches of rows, unscaled: the function is in the user's units."""

    def __init__(self, rows: Rows, metric: Callable[..., ArrayLike]) -> None:
        super().__init__(rows)
        self._metric = metric
        few = np.arange(min(3, len(rows)))
        self.distances(few[:2], few)  # a function of the wrong kind fails before training

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Call the function and check its result; one call serves all anchors, even if each row has its own."""
        if anchors.ndim == 2:
            every, place = np.unique(anchors, return_inverse=True)
            return np.take_along_axis(self.distances(rows, every), place.reshape(anchors.shape), axis=1)
        a, b = self._rows.given(rows), self._rows.given(anchors)
        distances = np.asarray(self._metric(a, b), dtype=np.float64)
        if distances.shape != (len(a), len(b)):
            raise InputError(
                f"metric must give a ({len(a)}, {len(b)}) array of dissimilarities for batches of {len(a)} and "
                f"{len(b)} rows, got shape {distances.shape}."
            )
        if not np.isfinite(distances).all():
            raise InputError("metric must give finite dissimilarities, got NaN or infinity.")
        return distances


class DissimilarityMatrix(HostComparison):
    """Compares by the user's matrix of dissimilarities between all rows of X."""

    def __init__(self, rows: Rows, matrix: ArrayLike) -> None:
        super().__init__(rows)
        self._matrix = np.asarray(matrix)
        _require_dissimilarity(self._matrix, rows.total)

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Look up the distances in the matrix."""
        return np.asarray(self._matrix[rows[:, None], anchors], dtype=np.float64)


class DissimilarityFunction(HostComparison):
    """Compares by the user's function of two row numbers.

    Such functions are slow (an alignment, a shortest path), so batches share a few fixed anchors, and the distances
    of a row are cached while the same rows are held: one call for each row and anchor at most.
    """

    def __init__(self, rows: Rows, function: Callable[..., ArrayLike]) -> None:
        super().__init__(rows)
        self._function = _on_arrays(function)
        self._anchors: Index | None = None
        self._known: dict[int, NDArray[np.float64]] = {}  # a row's distances to the fixed anchors

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the anchors that all batches share; they are drawn on the first call."""
        if self._anchors is None:
            self._anchors = rng.permutation(len(self._rows))[:count]
        return self._anchors

    def renew(self) -> None:
        """Clear the cached distances: other rows are held now, also at the anchors' positions."""
        self._known.clear()

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Return cached distances; call the function for rows that are not in the cache."""
        if self._anchors is None or not np.array_equal(anchors, self._rows.numbers[self._anchors]):
            return self._ask(rows[:, None], anchors)
        for row in set(rows.tolist()) - self._known.keys():
            self._known[row] = self._ask(np.full(len(anchors), row), anchors)
        return np.stack([self._known[row] for row in rows.tolist()])

    def _ask(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        rows, anchors = np.broadcast_arrays(rows, anchors)
        answer = np.asarray(self._function(rows.ravel(), anchors.ravel()), dtype=np.float64)
        if not np.isfinite(answer).all():
            k = int(np.flatnonzero(~np.isfinite(answer))[0])
            raise InputError(
                "dissimilarity must give finite numbers, "
                f"got {answer[k]} for rows {rows.flat[k]} and {anchors.flat[k]}."
            )
        return answer.reshape(rows.shape)


def _on_arrays(function: Callable[..., ArrayLike]) -> Callable[..., ArrayLike]:
    """Return the function as it is if it takes arrays of row numbers, else one that calls it pair by pair."""
    singly = [float(np.asarray(function(0, 1))), float(np.asarray(function(1, 2)))]
    together = np.empty(0)
    with suppress(Exception):  # any error means that it takes only two plain numbers, for which it has just worked
        together = np.asarray(function(np.array([0, 1]), np.array([1, 2])), dtype=np.float64)
    if together.shape == (2,) and np.allclose(together, singly):
        return function
    return np.vectorize(lambda i, j: function(int(i), int(j)), otypes=[np.float64])


def _require_dissimilarity(matrix: NDArray[np.floating], n: int) -> None:
    if matrix.shape != (n, n):
        raise InputError(
            f"dissimilarity must be a square matrix with one row and column for each of the {n} rows of X, "
            f"got shape {matrix.shape}."
        )
    block = max(1, MATRIX_VALUES_CHECKED_AT_ONCE // n)
    for start in range(0, n, block):
        part, mirror = matrix[start : start + block], matrix[:, start : start + block].T
        if not np.isfinite(part).all() or (part < 0).any():
            raise InputError("dissimilarity must hold finite numbers that are not negative.")
        uneven = np.abs(part - mirror)
        if (uneven > ASYMMETRY * np.maximum(part, mirror) + ASYMMETRY_AT_ZERO).any():
            i, j = np.unravel_index(uneven.argmax(), uneven.shape)
            raise InputError(
                f"dissimilarity must be symmetric, but the entry ({start + i}, {j}) is {part[i, j]} "
                f"and ({j}, {start + i}) is {mirror[i, j]}."
            )
