"""Compare rows for the global head: which of two is nearer to the anchors.

A comparison returns margins: positive where the first row is nearer, negative where the second is, zero where
they tie. Rows are named by their position among those that training holds. A new metric with a name is an entry in
METRICS, and a kernel in the engine; what users bring instead is in `dissimilarities`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.training.rows import Rows
from centrality.training.schemes import Index

ANCHORS_AT_ONCE = 4096  # most anchors, when a scheme uses all of them
TIE_TOLERANCE = 1e-6  # relative to the size of rows: closer than this is float32 rounding, not a preference
TIE_SAMPLE = 1000  # rows that tell how large rows are

Vectors = NDArray[np.float32]


class Comparison(ABC):
    """Compares candidates by which of two is nearer to each of some anchors."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @abstractmethod
    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.floating]:
        """Return by how much each first candidate is nearer than its opponents to every anchor.

        Candidates (members, 2b) are first ones, then as many second ones. They share their anchors (members, m), or
        each pair has its own (members, b, m), and then one opponent only.
        """  # -> (members, opponents, b, m)

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the only anchors to use when a batch shares its anchors; None: any row can be one."""
        return None

    def renew(self) -> None:
        """Update what depends on the rows held, which have just been replaced by others."""
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


def half_squares(x: Vectors, anchors: Vectors) -> Vectors:  # (n, p), (m, p) -> (n, m)
    """Return ½|x|² - x·a. It ranks x by distance to a: the ½|a|² left out is the same for all x."""
    found = x @ anchors.T
    return np.asarray(np.float32(0.5) * np.einsum("ij,ij->i", x, x)[:, None] - found)


def sums_of_gaps(x: Vectors, anchors: Vectors) -> Vectors:  # (n, p), (m, p) -> (n, m)
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
    "euclidean": Metric(half_squares, _squares, "euclidean"),
    "manhattan": Metric(sums_of_gaps, _sizes, "manhattan"),
    # Rows as given: centring would turn every angle.
    "cosine": Metric(half_squares, _squares, "euclidean", directions_only=True),
}


class NamedMetric(Comparison):
    """Compares rows by a named metric; a learner may also compute it itself from `kernel`, `vectors` and `tie`."""

    def __init__(self, rows: Rows, name: str) -> None:
        if name not in METRICS:
            raise InputError(
                f"metric must be one of {', '.join(METRICS)}, or a function of two batches of rows, got {name!r}."
            )
        super().__init__(rows)
        self._metric = METRICS[name]
        # A shift changes no distance, but squares of large numbers round badly.
        self._centred = not self._metric.directions_only and bool(np.abs(rows.z.mean(0)).max() > 1)
        self.kernel = self._metric.kernel
        self.vectors: Vectors = rows.all  # (n + off, p) that are compared: the rows held, then those off the data
        self.renew()
        self.tie = TIE_TOLERANCE * float(self._metric.size(self.vectors[:TIE_SAMPLE]).mean())

    def renew(self) -> None:
        """Compute the vectors to compare from the rows that are held now."""
        if self._metric.directions_only:
            given = self._rows.as_given()
            lengths = np.maximum(np.linalg.norm(given, axis=1, keepdims=True), np.float32(1e-12))
            self.vectors = np.ascontiguousarray(given / lengths, dtype=np.float32)
        elif self._centred:
            self.vectors = self._rows.all - self._rows.z.mean(0)
        if not self._rows.learned.all():  # rows are compared by their behaviours, relative to their kinds
            self.vectors = self.vectors * self._rows.learned

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:
        """Return by how much each first candidate is nearer than its opponents; differences within rounding are 0."""
        both = zip(candidates, anchors, strict=True)
        margins = np.stack([self._margin(of_member, before, opponents) for of_member, before in both])
        margins[np.abs(margins) <= self.tie] = 0.0
        return margins

    def _margin(self, candidates: Index, anchors: Index, opponents: int) -> Vectors:  # -> (opponents, b, m)
        every, place = (anchors, None) if anchors.ndim == 1 else np.unique(anchors, return_inverse=True)
        far = self._metric.distances(self.vectors[candidates], self.vectors[every])
        first, second = np.split(far, 2)
        margins = np.stack([np.roll(second, -shift, 0) - first for shift in range(opponents)])
        # Pairs with anchors of their own have one opponent: of all margins, pick each pair's.
        return margins if place is None else np.take_along_axis(margins[0], place.reshape(anchors.shape), axis=1)[None]
