"""Comparisons for the global head: which of two rows is nearer to the anchors.

A comparison answers with margins: positive where the first row is nearer, negative where the second is, zero where
they tie. Rows are named by their position among those that training holds.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from centrality.training.losses import opponents
from centrality.training.rows import Rows, take
from centrality.training.schemes import Index

METRICS = ("euclidean", "manhattan", "cosine")
TIE = 1e-6  # relative to what was compared: closer than this is float32 rounding, not a preference
ANCHOR_BLOCK = 4096  # anchors compared at once when a scheme uses all of them


class Comparison(Protocol):
    on_device: bool  # tensors in, tensors out, nothing asked of the host: a step can hold it

    def margin(self, candidates: Tensor, anchors: Tensor, meetings: int) -> Tensor:
        """First candidates, then as many second ones (members, 2b), before the anchors that they all share
        (members, m) or that each pair has to itself (members, b, m) -> (members, meetings, b, m)."""

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        """The only anchors to be used when a batch shares them, or None where any row will do."""

    def renew(self) -> None:
        """Training holds other rows now."""


def preference(comparison: Comparison, candidates: Tensor, anchors: Tensor, meetings: int = 1) -> Tensor:
    """π̂ (members, meetings, b): the share of anchors that find the first row nearer.

    Ties do not vote; without a vote it is 1/2.
    """
    lead = votes = None
    for start in range(0, anchors.shape[-1], ANCHOR_BLOCK):
        vote = comparison.margin(candidates, anchors[..., start : start + ANCHOR_BLOCK], meetings).sign_()
        won = vote.sum(-1)  # wins - losses
        cast = vote.abs_().sum(-1)  # wins + losses
        lead, votes = (won, cast) if lead is None or votes is None else (lead + won, votes + cast)
    assert lead is not None and votes is not None  # noqa: PT018  there is an anchor
    return lead.div_(votes.clamp_(min=1)).add_(1).mul_(0.5).to(torch.float32)


class OfVectors:
    """Rows compared by a named metric.

    Euclidean and Manhattan distances see the scaled rows, as the network does. The cosine sees the rows as they were
    given: centring would turn every angle.
    """

    on_device = True

    def __init__(self, rows: Rows, metric: str) -> None:
        if metric not in METRICS:
            raise ValueError(
                f"metric must be one of {', '.join(METRICS)}, or a function of two batches of rows, got {metric!r}."
            )
        self.rows, self.metric, self.manhattan = rows, metric, metric == "manhattan"
        self.vectors = rows.z
        if metric == "cosine" or rows.z.mean(0).abs().max() > 1:
            self.vectors = torch.empty_like(rows.z)
        self.renew()
        few = self.vectors[:1000]
        size = few.abs().sum(1) if self.manhattan else few.square().sum(1)
        self._tie = TIE * float(size.mean())

    def renew(self) -> None:
        if self.metric == "cosine":
            given = torch.from_numpy(self.rows.as_given()).to(self.rows.device)
            self.vectors.copy_(functional.normalize(given, dim=1))
        elif self.vectors is not self.rows.z:  # distances do not feel a shift, but squares of large numbers round badly
            torch.sub(self.rows.z, self.rows.z.mean(0), out=self.vectors)

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        return None

    def margin(self, candidates: Tensor, anchors: Tensor, meetings: int) -> Tensor:
        if anchors.dim() == 3:
            return self._before_own(candidates, anchors)
        x, a = take(self.vectors, candidates), take(self.vectors, anchors)
        if self.manhattan:
            far = torch.cdist(x, a, p=1)
        else:  # half of |x - a|², less |a|², which no difference feels: one product, no distance is ever formed
            far = torch.baddbmm(torch.linalg.vecdot(x, x)[:, :, None], x, a.mT, beta=0.5, alpha=-1)
        first, second = far.chunk(2, dim=1)
        margin = opponents(second, meetings).sub_(first[:, None])
        # Exactly 0 where it is no more than rounding. In place: fresh memory costs more than the arithmetic.
        return torch.ops.aten.hardshrink.out(margin, self._tie, out=margin)  # type: ignore[no-any-return]

    def _before_own(self, candidates: Tensor, anchors: Tensor) -> Tensor:
        """One product with all the anchors of the batch, then each pair's own."""
        found = []
        for own, judges in zip(candidates, anchors, strict=True):
            every, place = judges.unique(return_inverse=True)
            found.append(self.margin(own[None], every[None], 1)[0, 0].gather(1, place))
        return torch.stack(found)[:, None]


class ByNumber:
    """Rows compared by something that is asked for distances between row numbers, on the host."""

    on_device = False

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        return None

    def renew(self) -> None:
        """Nothing to do: rows are asked for by their numbers in X."""

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        """(b,) row numbers and (m,) or (b, m) anchors -> (b, m)."""
        raise NotImplementedError

    def margin(self, candidates: Tensor, anchors: Tensor, meetings: int) -> Tensor:
        found = []
        for own, judges in zip(self._numbers(candidates), self._numbers(anchors), strict=True):
            first, second = (self.distances(half, judges) for half in np.split(own, 2))
            found.append([np.roll(second, -shift, 0) - first for shift in range(meetings)])
        return torch.from_numpy(np.asarray(found)).to(candidates.device)

    def _numbers(self, positions: Tensor) -> Index:
        return np.asarray(self.rows.numbers[positions.cpu().numpy()])


class OfFunction(ByNumber):
    """By the user's function of two batches of rows, as they were given: only the user knows its units."""

    def __init__(self, rows: Rows, metric: Callable[..., Any]) -> None:
        super().__init__(rows)
        self.metric = metric
        few = np.arange(min(3, len(rows)))
        self.distances(few[:2], few)  # a function of the wrong kind says so before training

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        if anchors.ndim == 2:
            every, place = np.unique(anchors, return_inverse=True)
            return np.take_along_axis(self.distances(rows, every), place.reshape(anchors.shape), axis=1)
        a, b = self.rows.given(rows), self.rows.given(anchors)
        distances = np.asarray(self.metric(a, b), dtype=np.float64)
        if distances.shape != (len(a), len(b)):
            raise ValueError(
                f"metric must give a ({len(a)}, {len(b)}) array of dissimilarities for batches of {len(a)} and "
                f"{len(b)} rows, got shape {distances.shape}."
            )
        if not np.isfinite(distances).all():
            raise ValueError("metric must give finite dissimilarities, got NaN or infinity.")
        return distances


class OfMatrix(ByNumber):
    """By a dissimilarity matrix that the user brings."""

    def __init__(self, rows: Rows, matrix: Any) -> None:
        super().__init__(rows)
        self.matrix = np.asarray(matrix)
        _require_dissimilarity(self.matrix, rows.total)

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        return np.asarray(self.matrix[rows[:, None], anchors], dtype=np.float64)


class OfRowNumbers(ByNumber):
    """By the user's function of two row numbers.

    Such functions are slow (an alignment, a shortest path), so batches share one fixed panel of anchors,
    and what was asked once about a row is remembered: n × panel calls at most.
    """

    def __init__(self, rows: Rows, function: Callable[..., Any]) -> None:
        super().__init__(rows)
        self._function = _elementwise(function)
        self._panel: Index | None = None
        self._known: dict[int, NDArray[np.float64]] = {}

    def panel(self, count: int, rng: np.random.Generator) -> Index | None:
        if self._panel is None:
            self._panel = rng.permutation(len(self.rows))[:count]
        return self._panel

    def distances(self, rows: Index, anchors: Index) -> NDArray[np.float64]:
        if self._panel is None or not np.array_equal(anchors, self.rows.numbers[self._panel]):
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
    if callable(dissimilarity):
        return OfRowNumbers(rows, dissimilarity)
    if dissimilarity is not None:
        return OfMatrix(rows, dissimilarity)
    return OfFunction(rows, metric) if callable(metric) else OfVectors(rows, metric)


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
    block = (1 << 22) // n  # rows at a time; of four million, no matrix has room
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
