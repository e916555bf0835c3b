"""Comparisons for the global head: which of two rows is nearer to the anchors.

A comparison answers with margins: positive where the first row is nearer, negative where the second is, zero where
they tie. Rows are named by their position among those that training holds. Named metrics have their table in
`named_metrics`; what users bring instead is in `dissimilarities`.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from centrality.training.dissimilarities import DissimilarityFunction, DissimilarityMatrix, MetricFunction
from centrality.training.named_metrics import NamedMetric
from centrality.training.rows import Rows
from centrality.training.schemes import Index

ANCHORS_AT_ONCE = 4096  # when a scheme uses all of them


class Comparison(Protocol):
    """Tells which of two candidates is nearer to each of some anchors."""

    def margin(self, candidates: Index, anchors: Index, opponents: int) -> NDArray[np.floating]:
        """Return by how much each first candidate is nearer than its opponents to every anchor.

        Candidates (members, 2b) are first ones, then as many second ones. They share their anchors (members, m), or
        each pair has its own (members, b, m), and then one opponent only.
        """  # -> (members, opponents, b, m)

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return the only anchors to be used when a batch shares them, or None where any row will do."""

    def renew(self) -> None:
        """Take note that training holds other rows now."""


def compare(rows: Rows, metric: str | Callable[..., Any], dissimilarity: Any) -> Comparison:
    """Return the comparison the user asked for: by a given dissimilarity if there is one, else by the metric."""
    if callable(dissimilarity):
        return DissimilarityFunction(rows, dissimilarity)
    if dissimilarity is not None:
        return DissimilarityMatrix(rows, dissimilarity)
    return MetricFunction(rows, metric) if callable(metric) else NamedMetric(rows, metric)


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
