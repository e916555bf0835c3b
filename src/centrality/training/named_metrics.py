"""Metrics that are called by name. A new one is an entry in METRICS."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from centrality._checks import InputError
from centrality.training.losses import opponents_of_first
from centrality.training.rows import Rows, take
from centrality.training.schemes import Index

TIE_TOLERANCE = 1e-6  # relative to the size of rows: closer than this is float32 rounding, not a preference
TIE_SAMPLE = 1000  # rows that tell how large rows are


def half_squares(x: Tensor, anchors: Tensor) -> Tensor:  # (members, n, p), (members, m, p) -> (members, n, m)
    """Return ½|x - a|² less ½|a|², which no difference feels: one product, and no distance is ever formed."""
    return torch.baddbmm(torch.linalg.vecdot(x, x)[:, :, None], x, anchors.mT, beta=0.5, alpha=-1)


def sums_of_gaps(x: Tensor, anchors: Tensor) -> Tensor:  # (members, n, p), (members, m, p) -> (members, n, m)
    """Return Manhattan distances."""
    return torch.cdist(x, anchors, p=1)


@dataclass(frozen=True)
class Metric:
    """How rows are compared by a metric."""

    distances: Callable[[Tensor, Tensor], Tensor]  # from rows to anchors, up to what depends on the anchor alone
    size: Callable[[Tensor], Tensor]  # (n, p) -> (n,) of rows, in units of `distances`
    directions_only: bool = False  # of rows as they were given; else scaled rows are compared, as the network sees them


METRICS = {
    "euclidean": Metric(half_squares, size=lambda rows: rows.square().sum(1)),
    "manhattan": Metric(sums_of_gaps, size=lambda rows: rows.abs().sum(1)),
    # Rows as given: centring would turn every angle.
    "cosine": Metric(half_squares, size=lambda rows: rows.square().sum(1), directions_only=True),
}


class NamedMetric:
    """Compares rows by a named metric, on the device."""

    on_device = True

    def __init__(self, rows: Rows, name: str) -> None:
        if name not in METRICS:
            raise InputError(
                f"metric must be one of {', '.join(METRICS)}, or a function of two batches of rows, got {name!r}."
            )
        self._rows, self._metric, self._vectors = rows, METRICS[name], rows.z
        if self._metric.directions_only or rows.z.mean(0).abs().max() > 1:
            self._vectors = torch.empty_like(rows.z)
        self.renew()
        self._tie = TIE_TOLERANCE * float(self._metric.size(self._vectors[:TIE_SAMPLE]).mean())

    def renew(self) -> None:
        """Find the vectors of the rows that are held now."""
        if self._metric.directions_only:
            given = torch.from_numpy(self._rows.as_given()).to(self._rows.device)
            self._vectors.copy_(functional.normalize(given, dim=1))
        elif self._vectors is not self._rows.z:
            # Distances do not feel a shift, but squares of large numbers round badly.
            torch.sub(self._rows.z, self._rows.z.mean(0), out=self._vectors)

    def fixed_anchors(self, count: int, rng: np.random.Generator) -> Index | None:
        """Return None: any row will do."""
        return None

    def margin(self, candidates: Tensor, anchors: Tensor, opponents: int) -> Tensor:
        """Return by how much each first candidate is nearer than its opponents, exactly 0 within rounding."""
        if anchors.dim() == 3:
            return self._margin_before_own_anchors(candidates, anchors)
        far = self._metric.distances(take(self._vectors, candidates), take(self._vectors, anchors))
        first, second = far.chunk(2, dim=1)
        margin = opponents_of_first(second, opponents).sub_(first[:, None])
        # In place: fresh memory costs more than the arithmetic.
        return torch.ops.aten.hardshrink.out(margin, self._tie, out=margin)  # type: ignore[no-any-return]

    def _margin_before_own_anchors(self, candidates: Tensor, anchors: Tensor) -> Tensor:
        """Compare all pairs of a batch before all of its anchors at once, then pick each pair's own."""
        found = []
        for of_member, own in zip(candidates, anchors, strict=True):
            every, place = own.unique(return_inverse=True)
            found.append(self.margin(of_member[None], every[None], 1)[0, 0].gather(1, place))
        return torch.stack(found)[:, None]
