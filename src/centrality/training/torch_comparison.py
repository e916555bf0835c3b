"""Compare rows by a named metric with torch, on the device where they lie."""

from typing import Self

import torch
from torch import Tensor

from centrality.training.comparisons import Comparison
from centrality.training.losses import opponents_of_first
from centrality.training.named_metrics import NamedMetric


def half_squares(x: Tensor, anchors: Tensor) -> Tensor:  # (members, n, p), (members, m, p) -> (members, n, m)
    """Return ½|x - a|² less ½|a|², which no difference feels: one product, and no distance is ever formed."""
    return torch.baddbmm(torch.linalg.vecdot(x, x)[:, :, None], x, anchors.mT, beta=0.5, alpha=-1)


def sums_of_gaps(x: Tensor, anchors: Tensor) -> Tensor:  # (members, n, p), (members, m, p) -> (members, n, m)
    """Return Manhattan distances."""
    return torch.cdist(x, anchors, p=1)


KERNELS = {"euclidean": half_squares, "manhattan": sums_of_gaps}


class TorchComparison:
    """Finds preferences as `comparisons.preference` does, with nothing asked of the host."""

    def __init__(self, metric: NamedMetric, device: torch.device) -> None:
        self._metric, self._distances = metric, KERNELS[metric.kernel]
        self._vectors = torch.empty(metric.vectors.shape, device=device)

    @classmethod
    def of(cls, comparison: Comparison, device: torch.device) -> Self | None:
        """Return the comparison for this device; None if only the host can compare."""
        return cls(comparison, device) if isinstance(comparison, NamedMetric) else None

    def renew(self) -> None:
        """Take over the vectors of the rows that are held now."""
        self._vectors.copy_(torch.from_numpy(self._metric.vectors))

    def preference(self, candidates: Tensor, anchors: Tensor, opponents: int) -> Tensor:
        """Return π̂ of candidates (members, 2b) before anchors (members, m)."""  # (members, opponents, b)
        far = self._distances(take(self._vectors, candidates), take(self._vectors, anchors))
        first, second = far.chunk(2, dim=1)
        margin = opponents_of_first(second, opponents).sub_(first[:, None])
        # In place: fresh memory costs more than the arithmetic.
        vote = torch.ops.aten.hardshrink.out(margin, self._metric.tie, out=margin).sign_()
        lead = vote.sum(-1)  # wins - losses
        votes: Tensor = vote.abs_().sum(-1)  # wins + losses
        return lead.div_(votes.clamp_(min=1)).add_(1).mul_(0.5)  # type: ignore[no-any-return]


def take(rows: Tensor, index: Tensor) -> Tensor:  # (n, p), (...,) -> (..., p)
    """Return rows[index], in a fraction of the time."""
    return rows.index_select(0, index.reshape(-1)).view(*index.shape, rows.shape[1])
