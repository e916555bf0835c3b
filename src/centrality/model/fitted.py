"""Hold a fitted model as one frozen value: whoever needs to score takes it, not the estimator.

Rows come in as (n, p) arrays or CSR matrices in the user's units, already checked. They pass through the networks
(`outputs`), become two raw scores (`raw`), are calibrated (`heads`), and are mixed by the dial t last.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._checks import InputError
from centrality._estimator import CheckedRows
from centrality.model.blocks import block_by_block, in_blocks
from centrality.model.explanations import ROWS_EXPLAINED, ROWS_WALKED, Field, evened
from centrality.model.replay import Memory
from centrality.model.typical import nearest
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense, rows_per_block
from centrality.network.scorer import Outputs, Scorer, scorer_for
from centrality.scores import conformal
from centrality.scores.calibration import OLD_SOFT, Calibration
from centrality.scores.drift import TrainingScores
from centrality.scores.folds import Folds, hashes
from centrality.scores.report import Report

if TYPE_CHECKING:
    from centrality.model.on_device import OnDevice

OFFSET_STEPS = 40  # from t = 0 to t = 1; between two of them scores, and their quantiles, are nearly linear
History = dict[str, list[float]]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """Hold everything that scoring needs, and how the model came about. A change makes a new value."""

    network: Network
    scaling: Scaling
    calibration: Calibration
    noise_scale: tuple[float, ...]
    offset: float  # the score below which `predict` says outlier
    history: History  # the losses of training
    replay: Memory  # a sample of the rows seen, to go on learning from; it never goes into a file
    names: tuple[str, ...] | None = None  # of the columns, where the training rows had names
    folds: Folds | None = None  # None: the networks were trained on all rows, and judge them as they judge any others
    inliers: conformal.Inliers | None = None  # the calibration rows; None: no row was left out of training
    training_scores: TrainingScores | None = None  # None, as the next two: the file is from before they were kept
    typical: Matrix | None = None  # (k, p) the deepest point, and those of further regions, in the user's units
    report: Report | None = None
    device: str = "cpu"  # where it scores
    offset_at_t: float | None = None  # the t for which `offset` holds
    offsets: Matrix | None = None  # (OFFSET_STEPS + 1,) the same from t = 0 to t = 1

    def offset_for(self, t: float) -> float:
        """Return the score below which `predict` says outlier at this t."""
        if self.offset_at_t is None or t == self.offset_at_t:
            return self.offset
        if self.offsets is None:
            raise InputError(
                f"This model knows only at t={self.offset_at_t:g} which rows are outliers, not at t={t:g}: its file is "
                "from before others were kept, or a second pass set the quantiles. Fit it at this t."
            )
        return float(np.interp(t, np.linspace(0, 1, OFFSET_STEPS + 1), self.offsets))

    @cached_property
    def scorer(self) -> Scorer:
        """Return what scores with the network, on the device."""
        return scorer_for(self.network, self.device)

    @cached_property
    def on_gpu(self) -> OnDevice | None:
        """Return what scores from end to end on a GPU; None where the host has a part in it.

        It has on a CPU, with old calibrations, and where training rows are to be recognised.
        """
        known = self.folds is not None and len(self.folds.known) > 0
        if not self.device.startswith("cuda") or known or self.calibration.kind == OLD_SOFT:
            return None
        from centrality.model.on_device import OnDevice  # brings torch
        from centrality.network.torch_scorer import TorchScorer

        assert isinstance(self.scorer, TorchScorer)
        return OnDevice(self.scorer.folded, self.scaling, self.calibration, self.device)

    def tensor_on_gpu(self, X: Any) -> Any | None:
        """Return X if it is a tensor on a GPU that can be scored where it lies; None if the host must look at it."""
        if type(X).__module__.partition(".")[0] != "torch" or not X.is_cuda or self.on_gpu is None:
            return None
        fits = X.dim() == 2 and len(X) > 0 and X.shape[1] == self.width and X.is_floating_point() and self.names is None
        return X.detach() if fits and bool(X.isfinite().all()) else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("scorer", "on_gpu")}  # made again

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.scaling.center)

    @property
    def features(self) -> list[str]:
        """Return what the columns are called: x0, x1, ... where the training rows had no names."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(self.width)]

    def on(self, device: str) -> Fitted:
        """Return the same model on this device."""
        return self if self.device == device else replace(self, device=device)

    # From rows to scores, each one forward pass.

    def outputs(self, rows: CheckedRows) -> Outputs:
        """Return what the networks say of the rows."""  # (members, n, 1 + k)
        return np.moveaxis(self._finished(rows, lambda outputs: np.moveaxis(outputs, 0, 1)), 1, 0)

    def raw(self, rows: CheckedRows) -> Matrix:
        """Return the uncalibrated global logit and local potential."""  # (n, 2)
        return self._finished(rows, self.calibration.raw)

    def raw_of_all(self, rows: CheckedRows) -> Matrix:
        """Return the same of all members together, whether they have seen the rows or not."""  # (n, 2)
        return in_blocks(self.scorer, self.scaling, rows, self.calibration.raw)

    def heads(self, rows: CheckedRows) -> Matrix:
        """Return global and local centrality, each in [0, 1]."""  # (n, 2)
        if self.on_gpu is not None and not sparse.issparse(rows):
            return self.on_gpu.heads(rows)
        return self._finished(rows, self.calibration.heads_of)

    def comparable_heads(self, rows: CheckedRows) -> Matrix:
        """Return the heads of rows judged as the training rows were, each by the members without its fold."""  # (n, 2)
        return in_blocks(
            self.scorer, self.scaling, rows, self.calibration.heads_of, folds=self.folds, as_if_trained_on=True
        )

    def centrality(self, rows: CheckedRows, t: float | Sequence[float]) -> Matrix:
        """Return the heads mixed at t."""  # (n,), or (n, len(t)) for several
        if self.on_gpu is not None and not sparse.issparse(rows):
            return self.on_gpu.centrality(rows, t)
        return self._finished(rows, lambda outputs: self._mixed(outputs, t))

    def scores(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the same before it is squeezed into [0, 1]."""  # (n,)
        if self.on_gpu is not None and not sparse.issparse(rows):
            return self.on_gpu.scores(rows, t)
        return self._finished(rows, lambda outputs: self.calibration.scores(self.calibration.raw(outputs), t))

    def standard_error(self, rows: CheckedRows, t: float) -> Matrix:
        """Return how far each centrality may be off for another draw of networks."""  # (n,)
        if (members := self.network.members) < 2:
            raise InputError(
                f"A standard error needs an ensemble of at least 2, this model has {members}: FUSE(ensemble=5), say."
            )

        def error(outputs: Outputs) -> Matrix:
            each = np.stack([self.calibration.mixing(heads, t) for heads in self.calibration.heads_of_each(outputs)])
            return np.asarray(each.std(0, ddof=1) / np.sqrt(members))

        return in_blocks(self.scorer, self.scaling, rows, error)  # of all members, whatever they have seen

    def _finished(self, rows: CheckedRows, finish: Callable[[Outputs], Matrix]) -> Matrix:
        return in_blocks(self.scorer, self.scaling, rows, finish, folds=self.folds)

    # Why, and what would make a row typical.

    def explain(self, rows: CheckedRows, t: float, baseline: Matrix | None = None) -> Matrix:
        """Return what each column contributes to f(row, t) - f(baseline, t).

        Without a baseline, a row's own is the typical point next to it.
        """  # (n, p)
        field, points = self._field(t), self.typical_points() if baseline is None else baseline
        starts = self.scaling.scaled(points)

        def work(block: CheckedRows) -> Matrix:
            z = self.scaling.scaled(dense(block))
            parts = field.contributions(starts[nearest(starts, z)].astype(np.float32), z.astype(np.float32))
            return parts if self.folds is None else self._adding_up(block, parts, t)

        return block_by_block(rows, ROWS_EXPLAINED, work, self.device)

    def _adding_up(self, rows: CheckedRows, parts: Matrix, t: float) -> Matrix:
        """Let the contributions of rows that were trained on add up to what members say that have not seen them.

        The field is that of all members together, which knows these rows better than it should.
        """
        assert self.folds is not None
        found, _ = self.folds.recognised(hashes(self.scaling.scaled(dense(rows)), self.folds.grain))
        if len(found):
            some = rows[found]
            seen = self.calibration.centrality(self.raw_of_all(some), t)
            parts[found] = evened(parts[found], parts[found].sum(1) + self.centrality(some, t) - seen)
        return parts

    def _mixed(self, outputs: Outputs, t: float | Sequence[float]) -> Matrix:
        return self.calibration.centrality(self.calibration.raw(outputs), t)

    def toward_center(self, rows: CheckedRows, steps: int, t: float) -> Matrix:
        """Return the way that each row would take to become typical, uphill along f."""  # (n, steps + 1, p)
        field, centre = self._field(t), self.scaling.scaled(self.known_center()[None])

        def work(block: CheckedRows) -> Matrix:
            given = dense(block).astype(np.float64)
            points = field.uphill(self.scaling.scaled(given), centre, steps, self.scaling.varying())
            return self.scaling.in_users_units(given, points)

        return block_by_block(rows, ROWS_WALKED, work, self.device)

    def _field(self, t: float) -> Field:
        reach = max(self.noise_scale) * self.width**0.5
        return Field(self.scorer, self.calibration, reach, t)

    def known_center(self) -> Matrix:
        """Return the deepest point; an error if the model's file holds none."""  # (p,)
        return np.asarray(self.typical_points()[0])

    def typical_points(self) -> Matrix:
        """Return the typical points; an error if the model's file holds none."""  # (k, p)
        if self.typical is None:
            raise InputError("This model's file was written before explanations: fit it again to ask for them.")
        return self.typical

    def nearest_typical(self, rows: CheckedRows) -> NDArray[np.intp]:
        """Return which of the typical points is next to each row."""  # (n,)
        points = self.scaling.scaled(self.typical_points())

        def work(block: CheckedRows) -> NDArray[np.intp]:
            return nearest(points, self.scaling.scaled(dense(block)))

        return block_by_block(rows, rows_per_block(self.width), work, self.device)

    # What the scores of calibration and training rows say about new ones.

    def calibrated(self, heads: Matrix | None, contamination: float = 0.0) -> Fitted:
        """Return this model with these heads of fresh rows, or those it has, as the measure for p-values."""
        heads = self.calibration_rows().heads if heads is None else heads
        return replace(self, inliers=conformal.Inliers.of(heads, contamination))

    def inlier_scores(self, t: float) -> Matrix:
        """Return the centralities at t of the calibration rows that count as inliers."""  # (m,) in order
        return self.calibration_rows().scores(self.calibration.mixing, t)

    def calibration_rows(self) -> conformal.Inliers:
        """Return the calibration rows; an error if there are none."""
        if self.inliers is None:
            raise InputError(
                "p-values need calibration rows: inliers that the model was not trained on. Call calibrate(C) with "
                "such rows, or fit with holdout=0.2 to keep a fifth of the training rows aside for it."
            )
        return self.inliers

    def known_training_scores(self) -> TrainingScores:
        """Return what the model keeps of its training rows' scores; an error if its file holds none."""
        if self.training_scores is None:
            raise InputError("This model was saved before training scores were kept: fit it again to ask for this.")
        return self.training_scores

    def bounds(self, low: float) -> Matrix:
        """Return the `low` quantile of each head on typical rows."""  # (2,)
        if not 0 < low < 1:
            raise InputError(f"low must be a share of the rows between 0 and 1, got {low!r}.")
        if self.inliers is not None:
            return self.inliers.quantile(low)
        return np.asarray(np.quantile(self.known_training_scores().quantiles, low, axis=1))
