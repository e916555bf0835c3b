"""Comparisons for the global head: which of two rows is nearer to the anchors.

A comparison answers with margins: positive where the first row is nearer, negative where the second is, zero where
they tie. Rows are named by their position among those that training holds. Named metrics have their table in
`named_metrics`; what users bring instead is in `dissimilarities`.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from centrality.training.dissimilarities import DissimilarityFunction, DissimilarityMatrix, MetricFunction
from centrality.training.named_metrics import NamedMetric
from centrality.training.rows import Rows
from centrality.training.schemes import Index

ANCHORS_AT_ONCE = 4096  # when a scheme uses all of them


class Comparison(Protocol):
    """Tells which of two candidates is nearer to each of some anchors."""

    on_device: bool  # tensors in, tensors out, nothing asked of the host: a step can hold it

    def margin(self, candidates: Tensor, anchors: Tensor, opponents: int) -> Tensor:
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


def preference(comparison: Comparison, candidates: Tensor, anchors: Tensor, opponents: int = 1) -> Tensor:
    """Return π̂, the share of anchors that are nearer to the first candidate than to its opponent.

    Ties do not vote; without a vote it is 1/2.
    """  # (members, opponents, b)
    lead = votes = None
    for start in range(0, anchors.shape[-1], ANCHORS_AT_ONCE):
        vote = comparison.margin(candidates, anchors[..., start : start + ANCHORS_AT_ONCE], opponents).sign_()
        won = vote.sum(-1)  # wins - losses
        cast = vote.abs_().sum(-1)  # wins + losses
        lead, votes = (won, cast) if lead is None or votes is None else (lead + won, votes + cast)
    assert lead is not None and votes is not None  # noqa: PT018  there is an anchor
    return lead.div_(votes.clamp_(min=1)).add_(1).mul_(0.5).to(torch.float32)
