"""Compare rows with anchors: by metric, by function, by matrix.

A comparison returns margins: positive where the first row is nearer, negative where the second is, zero where
they tie. Rows are named by their position among those that training holds. A new metric with a name is an entry in
METRICS, and a kernel in the engine; what users bring instead is in `dissimilarities`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from centrality._internal.checks import InputError
from centrality._internal.input import Dissimilarity
from centrality.fuse.data import Index, TrainingData
from centrality.network.folds import check_square

ANCHORS_AT_ONCE = 4096  # most anchors, when a scheme uses all of them
TIE_TOLERANCE = 1e-6  # relative to the size of rows: closer than this is float32 rounding, not a preference
TIE_SAMPLE = 1000  # rows that tell how large rows are

Vectors = NDArray[np.float32]


class Comparison(ABC):
    """Compares candidates by which of two is nearer to each of some anchors."""

    def __init__(self, data: TrainingData) -> None:
        self._data = data

    @abstractmethod
    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.floating]:
        """Return by how much each first candidate is nearer than its opponents to every anchor.

        Candidates (members, 2b) are first ones, then as many second ones. They share their anchors (members, m), or
        each pair has its own (members, b, m), and then one opponent only.
        """  # -> (members, opponents, b, m)

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the only anchors to use when a batch shares its anchors; None: any row can be one."""
        return None

    def reload(self) -> None:
        """Update what depends on the rows in memory, which have just been replaced by others."""
        return


def preference(
    comparison: Comparison, candidates: Index, anchors: Index, opponents: int = 1, *, literal: bool = False
) -> NDArray[np.float32]:
    """Return π̂, the share of anchors that are nearer to the first candidate than to its opponent.

    Ties do not vote; without a vote it is 1/2. Read literally, the paper counts a tie against the first candidate.
    """  # (members, opponents, b)
    lead = votes = None
    for start in range(0, anchors.shape[-1], ANCHORS_AT_ONCE):
        vote = np.sign(comparison.margin(candidates, anchors[..., start : start + ANCHORS_AT_ONCE], opponents))
        won = vote.sum(-1)  # wins - losses
        cast = np.abs(vote).sum(-1)  # wins + losses
        lead, votes = (won, cast) if lead is None or votes is None else (lead + won, votes + cast)
    assert lead is not None and votes is not None  # noqa: PT018  there is an anchor
    if literal:
        return np.asarray(0.5 * (lead + votes) / anchors.shape[-1], dtype=np.float32)
    return np.asarray(0.5 + 0.5 * lead / np.maximum(votes, 1), dtype=np.float32)


def euclidean_rank_keys(x: Vectors, anchors: Vectors) -> Vectors:  # (n, p), (m, p) -> (n, m)
    """Return ½|x|² - x·a. It ranks x by distance to a: the ½|a|² left out is the same for all x."""
    return np.asarray(np.float32(0.5) * np.einsum("ij,ij->i", x, x)[:, None] - x @ anchors.T)


def manhattan_distances(x: Vectors, anchors: Vectors) -> Vectors:  # (n, p), (m, p) -> (n, m)
    """Return Manhattan distances."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(x, anchors, "cityblock"), dtype=np.float32)


@dataclass(frozen=True)
class Metric:
    """Describe a metric: its distances, the sizes of rows that rounding depends on, and its kernel in the engine."""

    distances: Callable[[Vectors, Vectors], Vectors]  # from rows to anchors, up to a term of the anchor alone
    size: Callable[[Vectors], NDArray[np.floating]]  # (n, p) -> (n,) of rows, in units of `distances`
    kernel: str  # what the engine calls these distances
    directions_only: bool = False  # of rows as they were given; else scaled rows are compared, as the network sees them


def _squares(rows: Vectors) -> NDArray[np.floating]:
    return np.asarray(np.square(rows).sum(1))


def _sizes(rows: Vectors) -> NDArray[np.floating]:
    return np.asarray(np.abs(rows).sum(1))


METRICS = {
    "euclidean": Metric(euclidean_rank_keys, _squares, "euclidean"),
    "manhattan": Metric(manhattan_distances, _sizes, "manhattan"),
    # Rows as given: centring would turn every angle.
    "cosine": Metric(euclidean_rank_keys, _squares, "euclidean", directions_only=True),
}


class NamedMetric(Comparison):
    """Compares rows by a named metric; a learner may also compute it itself from `kernel`, `vectors` and `tie`."""

    def __init__(self, data: TrainingData, name: str) -> None:
        super().__init__(data)
        self._metric = METRICS[name]
        # A shift changes no distance, but squares of large numbers round badly.
        self._centred = not self._metric.directions_only and bool(np.abs(data.z.mean(0)).max() > 1)
        self.kernel = self._metric.kernel
        self.vectors: Vectors = data.candidates  # (n + s, p) that are compared: rows, then synthetic ones
        self.reload()
        self.tie = TIE_TOLERANCE * float(self._metric.size(self.vectors[:TIE_SAMPLE]).mean())

    def reload(self) -> None:
        """Compute the vectors to compare from the rows that are in memory now."""
        data = self._data
        if self._metric.directions_only:
            rows = data.unscaled().astype(np.float32)
            lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
            self.vectors = np.ascontiguousarray(rows / lengths, dtype=np.float32)
        elif self._centred:
            self.vectors = data.candidates - data.z.mean(0)
        if not data.learned_columns.all():  # rows are compared by their behaviours, relative to their context
            self.vectors = self.vectors * data.learned_columns

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:
        """Return by how much each first candidate is nearer than its opponents; differences within rounding are 0."""
        members = zip(candidates, anchors, strict=True)
        margins = np.stack([self._margin(of_member, its_anchors, opponents) for of_member, its_anchors in members])
        margins[np.abs(margins) <= self.tie] = 0.0
        return margins

    def _margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:  # -> (opponents, b, m)
        """Return the margins of one member, by anchors that all pairs share, (m,), or by each pair's own, (b, m)."""
        if anchors.ndim == 2:  # pairs with anchors of their own have one opponent: of all margins, pick each pair's
            distinct, place = np.unique(anchors, return_inverse=True)
            margins = self._margin(candidates, distinct, 1)[0]
            return np.take_along_axis(margins, place.reshape(anchors.shape), axis=1)[None]
        first, second = np.split(self._metric.distances(self.vectors[candidates], self.vectors[anchors]), 2)
        return np.stack([np.roll(second, -shift, 0) - first for shift in range(opponents)])


MATRIX_VALUES_CHECKED_AT_ONCE = 1 << 22
ASYMMETRY, ASYMMETRY_AT_ZERO = 1e-6, 1e-12  # of two entries that count as equal: relative, and absolute


def check_metric(metric: object) -> str | Callable[..., ArrayLike]:
    """Return the metric; raise unless it is one of METRICS, or a function."""
    if callable(metric) or (isinstance(metric, str) and metric in METRICS):
        return metric
    raise InputError(
        f"metric must be one of {', '.join(METRICS)}, or a function of two batches of rows, got {metric!r}."
    )


def compare(data: TrainingData, metric: str | Callable[..., ArrayLike], dissimilarity: Dissimilarity) -> Comparison:
    """Return the comparison that the user asked for: by their dissimilarity if there is one, else by the metric."""
    if callable(dissimilarity):
        return DissimilarityFunction(data, dissimilarity)
    if dissimilarity is not None:
        return DissimilarityMatrix(data, dissimilarity)
    return MetricFunction(data, metric) if callable(metric) else NamedMetric(data, metric)


class HostComparison(Comparison):
    """Compares rows by distances between row numbers of X, which a subclass finds on the host."""

    @abstractmethod
    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:  # (b,), (m,) or (b, m) -> (b, m)
        """Return the distances from each row to the anchors that all share, or to its own."""

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.float64]:
        """Return by how much each first candidate is nearer than its opponents."""
        margins = []
        numbers = self._data.row_numbers
        for of_member, its_anchors in zip(numbers[candidates], numbers[anchors], strict=True):
            first_rows, second_rows = np.split(of_member, 2)
            first, second = self.distances(first_rows, its_anchors), self.distances(second_rows, its_anchors)
            margins.append([np.roll(second, -shift, 0) - first for shift in range(opponents)])
        return np.asarray(margins)


class MetricFunction(HostComparison):
    """Compares by the user's function of two batches of rows, unscaled: the function is in the user's units."""

    def __init__(self, data: TrainingData, metric: Callable[..., ArrayLike]) -> None:
        super().__init__(data)
        self._metric = metric
        few = np.arange(min(3, len(data)))
        self.distances(few[:2], few)  # a function of the wrong kind fails before training

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Call the function and check its result; one call serves all anchors, even if each row has its own."""
        if anchors.ndim == 2:
            every, place = np.unique(anchors, return_inverse=True)
            return np.take_along_axis(self.distances(rows, every), place.reshape(anchors.shape), axis=1)
        a, b = self._data.unscaled(rows), self._data.unscaled(anchors)
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

    def __init__(self, data: TrainingData, matrix: ArrayLike) -> None:
        super().__init__(data)
        self._matrix = np.asarray(matrix)
        _require_dissimilarity(self._matrix, data.total)

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Look up the distances in the matrix."""
        return np.asarray(self._matrix[rows[:, None], anchors], dtype=np.float64)


class DissimilarityFunction(HostComparison):
    """Compares by the user's function of two row numbers.

    Such functions are slow (an alignment, a shortest path), so batches share a few fixed anchors, and the distances
    of a row are cached while the same rows are held: one call for each row and anchor at most.
    """

    def __init__(self, data: TrainingData, function: Callable[..., ArrayLike]) -> None:
        super().__init__(data)
        self._function = _on_arrays(function)
        self._anchors: Index | None = None
        self._known: dict[int, NDArray[np.float64]] = {}  # a row's distances to the fixed anchors

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the anchors that all batches share; they are drawn on the first call."""
        if self._anchors is None:
            self._anchors = rng.permutation(len(self._data))[:count]
        return self._anchors

    def reload(self) -> None:
        """Clear the cached distances: other rows are held now, also at the anchors' positions."""
        self._known.clear()

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Return cached distances; call the function for rows that are not in the cache."""
        if self._anchors is None or not np.array_equal(anchors, self._data.row_numbers[self._anchors]):
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
    check_square(matrix, n)
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
