"""Compare which of two candidates is nearer to an anchor: by a named metric, or by what the user brings.

Users bring a function of rows, a matrix, or a function of row numbers. A new named metric is an entry in METRICS, and a
kernel in the engine. Here candidates and anchors are positions of rows among those that training holds.
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

ANCHORS_AT_ONCE = 4096  # at most, when a scheme uses all rows as anchors
TIE_TOLERANCE = 1e-6  # of the size of rows: distances that differ by less are equal but for float32 rounding
TIE_SAMPLE = 1000  # rows that tell how large rows are
MATRIX_VALUES_CHECKED_AT_ONCE = 1 << 22
ASYMMETRY = 1e-6  # by which two entries of a matrix may differ and count as equal: relative to them,
ASYMMETRY_AT_ZERO = 1e-12  # and absolute

Vectors = NDArray[np.float32]


class Comparison(ABC):
    """Compares first candidates with second ones: which is nearer to each anchor?"""

    def __init__(self, data: TrainingData) -> None:
        self._data = data

    @abstractmethod
    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.floating]:
        """Return by how much each first candidate is nearer to every anchor than its opponents; 0 is a tie.

        Candidates (members, 2b) are b first ones, then b second ones. The opponents of first candidate i are the second
        ones i, i + 1, ... All pairs share the anchors (members, m); or each pair has its own, (members, b, m), and then
        each first candidate has one opponent only.
        """  # -> (members, opponents, b, m)

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the anchors that all batches must use; None: any row can be an anchor."""
        return None

    def reload(self) -> None:
        """Update what depends on the rows in memory, which have just been replaced by others."""
        return


def preference(
    comparison: Comparison, candidates: Index, anchors: Index, opponents: int = 1, *, literal: bool = False
) -> NDArray[np.float32]:
    """Return π̂, the share of anchors that are nearer to the first candidate than to its opponent.

    Anchors with a tie do not count; if all tie, it is 1/2. With `literal`, as the paper's formula is printed, a tie
    counts against the first candidate.
    """  # (members, opponents, b)
    wins_minus_losses = []
    wins_plus_losses = []
    for start in range(0, anchors.shape[-1], ANCHORS_AT_ONCE):
        win = np.sign(comparison.margin(candidates, anchors[..., start : start + ANCHORS_AT_ONCE], opponents))
        wins_minus_losses.append(win.sum(-1))
        wins_plus_losses.append(np.abs(win).sum(-1))
    lead = sum(wins_minus_losses[1:], start=wins_minus_losses[0])
    votes = sum(wins_plus_losses[1:], start=wins_plus_losses[0])
    if literal:
        return np.asarray(0.5 * (lead + votes) / anchors.shape[-1], dtype=np.float32)
    return np.asarray(0.5 + 0.5 * lead / np.maximum(votes, 1), dtype=np.float32)


def euclidean_rank_keys(x: Vectors, anchors: Vectors) -> Vectors:  # (n, p), (m, p) -> (n, m)
    """Return ½|x|² - x·a. It ranks the x by distance to a: what is left out, ½|a|², is the same for all x."""
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
    directions_only: bool = (
        False  # of rows in the user's units; else scaled rows are compared, as the network sees them
    )


METRICS = {
    "euclidean": Metric(euclidean_rank_keys, lambda rows: np.square(rows).sum(1), "euclidean"),
    "manhattan": Metric(manhattan_distances, lambda rows: np.abs(rows).sum(1), "manhattan"),
    # Of unscaled rows: centring would change every angle.
    "cosine": Metric(euclidean_rank_keys, lambda rows: np.square(rows).sum(1), "euclidean", directions_only=True),
}


class NamedMetric(Comparison):
    """Compares rows by a named metric. The engine computes it by itself, from `kernel`, `vectors` and `tie`."""

    def __init__(self, data: TrainingData, name: str) -> None:
        super().__init__(data)
        self._metric = METRICS[name]
        # A shift changes no distance, but squares of large numbers round badly.
        self._centred = not self._metric.directions_only and bool(np.abs(data.z.mean(0)).max() > 1)
        self.kernel = self._metric.kernel
        self.vectors: Vectors = data.candidates  # (n + s, p) what is compared: rows, then synthetic rows
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
        if not data.learned_columns.all():  # given a context, rows are compared by their other columns alone
            self.vectors = self.vectors * data.learned_columns

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:
        """Return the margins of `Comparison`; those within rounding are 0."""
        members = zip(candidates, anchors, strict=True)
        margins = np.stack([self._margin(of_member, its_anchors, opponents) for of_member, its_anchors in members])
        margins[np.abs(margins) <= self.tie] = 0.0
        return margins

    def _margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:  # -> (opponents, b, m)
        """Return the margins of one member, by anchors that all pairs share, (m,), or by each pair's own, (b, m)."""
        if anchors.ndim == 2:  # each pair is compared by all anchors, of which its own are then picked
            distinct, place = np.unique(anchors, return_inverse=True)
            margins = self._margin(candidates, distinct, 1)[0]
            return np.take_along_axis(margins, place.reshape(anchors.shape), axis=1)[None]
        first, second = np.split(self._metric.distances(self.vectors[candidates], self.vectors[anchors]), 2)
        return np.stack([np.roll(second, -shift, 0) - first for shift in range(opponents)])


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
    """Compares rows by distances between rows of X, which a subclass computes without the engine."""

    @abstractmethod
    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:  # (b,), (m,) or (b, m) -> (b, m)
        """Return the distances from each row to the anchors, which all rows share or each has for itself.

        Rows and anchors are numbers of rows of X, not positions among those that training holds.
        """

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.float64]:
        """Return the margins of `Comparison`."""
        margins = []
        numbers = self._data.row_numbers
        for of_member, its_anchors in zip(numbers[candidates], numbers[anchors], strict=True):
            first_rows, second_rows = np.split(of_member, 2)
            first = self.distances(first_rows, its_anchors)
            second = self.distances(second_rows, its_anchors)
            margins.append([np.roll(second, -shift, 0) - first for shift in range(opponents)])
        return np.asarray(margins)


class MetricFunction(HostComparison):
    """Compares by the user's function of two batches of rows, which are in the user's units."""

    def __init__(self, data: TrainingData, metric: Callable[..., ArrayLike]) -> None:
        super().__init__(data)
        self._metric = metric
        few = np.arange(min(3, len(data)))
        self.distances(few[:2], few)  # a function of the wrong kind fails before training

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Call the function once for all anchors, and check its result."""
        if anchors.ndim == 2:
            distinct, place = np.unique(anchors, return_inverse=True)
            return np.take_along_axis(self.distances(rows, distinct), place.reshape(anchors.shape), axis=1)
        a = self._data.unscaled(rows)
        b = self._data.unscaled(anchors)
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
        self._matrix = check_square(np.asarray(matrix), data.total)
        step = max(1, MATRIX_VALUES_CHECKED_AT_ONCE // data.total)
        for start in range(0, data.total, step):
            block = self._matrix[start : start + step]
            mirror = self._matrix[:, start : start + step].T
            if not np.isfinite(block).all() or (block < 0).any():
                raise InputError("dissimilarity must hold finite numbers that are not negative.")
            asymmetry = np.abs(block - mirror)
            if (asymmetry > ASYMMETRY * np.maximum(block, mirror) + ASYMMETRY_AT_ZERO).any():
                i, j = np.unravel_index(asymmetry.argmax(), asymmetry.shape)
                raise InputError(
                    f"dissimilarity must be symmetric, but the entry ({start + i}, {j}) is {block[i, j]} "
                    f"and ({j}, {start + i}) is {mirror[i, j]}."
                )

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Look up the distances in the matrix."""
        return np.asarray(self._matrix[rows[:, None], anchors], dtype=np.float64)


class DissimilarityFunction(HostComparison):
    """Compares by the user's function of two row numbers.

    Such functions are slow (an alignment, a shortest path). So all batches share a few anchors, and the distances of a
    row are cached for as long as training holds the same rows: the function is called once for a row and an anchor.
    """

    def __init__(self, data: TrainingData, function: Callable[..., ArrayLike]) -> None:
        super().__init__(data)
        self._function = function
        one_by_one = [float(np.asarray(function(0, 1))), float(np.asarray(function(1, 2)))]
        at_once = np.empty(0)
        with suppress(Exception):  # any error means that it takes only two plain numbers, for which it has just worked
            at_once = np.asarray(function(np.array([0, 1]), np.array([1, 2])), dtype=np.float64)
        if at_once.shape != (2,) or not np.allclose(at_once, one_by_one):  # it takes no arrays of row numbers
            self._function = np.vectorize(lambda i, j: function(int(i), int(j)), otypes=[np.float64])
        self._anchors: Index | None = None
        self._cache: dict[int, NDArray[np.float64]] = {}  # a row's distances to the fixed anchors

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the anchors that all batches share; they are drawn on the first call."""
        if self._anchors is None:
            self._anchors = rng.permutation(len(self._data))[:count]
        return self._anchors

    def reload(self) -> None:
        """Clear the cached distances: other rows are held now, also at the anchors' positions."""
        self._cache.clear()

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """Return cached distances; call the function for rows that are not in the cache."""
        if self._anchors is None or not np.array_equal(anchors, self._data.row_numbers[self._anchors]):
            return self._ask(rows[:, None], anchors)
        for row in set(rows.tolist()) - self._cache.keys():
            self._cache[row] = self._ask(np.full(len(anchors), row), anchors)
        return np.stack([self._cache[row] for row in rows.tolist()])

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
