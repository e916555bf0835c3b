"""Hold a fitted model as one frozen value: whoever needs to score takes it, not the estimator.

Rows come in as (n, p) arrays or CSR matrices in the user's units, already checked. They pass through the networks
(`outputs`), become two raw scores (`raw`), are calibrated (`heads`), and are mixed by the dial t last.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import CheckedRows
from centrality.model.blocks import block_by_block, in_blocks
from centrality.model.explanations import ROWS_EXPLAINED, ROWS_WALKED, Field
from centrality.model.replay import Memory
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense
from centrality.network.scorer import Scorer
from centrality.scores import conformal
from centrality.scores.calibration import Calibration, Outputs, blend
from centrality.scores.drift import TrainingScores
from centrality.scores.report import Report

OFFSET_STEPS = 40  # from t = 0 to t = 1; scores are linear in t, and their quantiles nearly so between two steps
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
    inliers: Matrix | None = None  # (m, 2) heads of the calibration rows
    training_scores: TrainingScores | None = None  # None, as the next two: the file is from before they were kept
    center: Matrix | None = None  # (p,) the deepest point, in the user's units
    report: Report | None = None
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
        """Return the network, folded for scoring."""
        return Scorer(self.network)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.scaling.center)

    @property
    def features(self) -> list[str]:
        """Return what the columns are called: x0, x1, ... where the training rows had no names."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(self.width)]

    def on(self, device: torch.device) -> Fitted:
        """Return the same model on this device."""
        return self if self.scorer.device == device else replace(self, network=copy.deepcopy(self.network).to(device))

    # From rows to scores, each one forward pass.

    def outputs(self, rows: CheckedRows) -> Outputs:
        """Return what the networks say of the rows."""  # (members, n, 1 + k)
        return np.moveaxis(self._finished(rows, lambda outputs: np.moveaxis(outputs, 0, 1)), 1, 0)

    def raw(self, rows: CheckedRows) -> Matrix:
        """Return the uncalibrated global logit and local potential."""  # (n, 2)
        return self._finished(rows, self.calibration.raw)

    def heads(self, rows: CheckedRows) -> Matrix:
        """Return global and local centrality, each in [0, 1]."""  # (n, 2)
        return self._finished(rows, self.calibration.heads_of)

    def centrality(self, rows: CheckedRows, t: float | Sequence[float]) -> Matrix:
        """Return the heads mixed at t."""  # (n,), or (n, len(t)) for several
        return self._finished(rows, lambda outputs: blend(self.calibration.heads_of(outputs), t))

    def scores(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the heads mixed at t before they are bent into [0, 1]."""  # (n,)
        return self._finished(rows, lambda outputs: self.scores_of(self.calibration.raw(outputs), t))

    def scores_of(self, raw: Matrix, t: float) -> Matrix:
        """Return the scores that these raw ones amount to."""  # (n, 2) -> (n,)
        return blend(self.calibration.unbounded(raw), t)

    def standard_error(self, rows: CheckedRows, t: float) -> Matrix:
        """Return how far each centrality may be off for another draw of networks."""  # (n,)
        if (members := self.network.members) < 2:
            raise InputError(
                f"A standard error needs an ensemble of at least 2, this model has {members}: FUSE(ensemble=5), say."
            )

        def error(outputs: Outputs) -> Matrix:
            each = np.stack([blend(heads, t) for heads in self.calibration.heads_of_each(outputs)])
            return np.asarray(each.std(0, ddof=1) / np.sqrt(members))

        return self._finished(rows, error)

    def _finished(self, rows: CheckedRows, finish: Callable[[Outputs], Matrix]) -> Matrix:
        return in_blocks(self.scorer, self.scaling, rows, finish)

    # Why, and what would make a row typical.

    def explain(self, rows: CheckedRows, t: float, baseline: Matrix | None = None) -> Matrix:
        """Return what each column contributes to f(row, t) - f(baseline, t)."""  # (n, p)
        field, start = self._field(t), self.scaling.apply(self._start(baseline))

        def work(block: CheckedRows) -> Matrix:
            return field.contributions(start, self.scaling.apply(dense(block)))

        return block_by_block(rows, ROWS_EXPLAINED, work, self.scorer.device)

    def toward_center(self, rows: CheckedRows, steps: int, t: float) -> Matrix:
        """Return the way that each row would take to become typical, uphill along f."""  # (n, steps + 1, p)
        field, centre = self._field(t), self.scaling.scaled(self._start(None))

        def work(block: CheckedRows) -> Matrix:
            given = dense(block).astype(np.float64)
            points = field.uphill(self.scaling.scaled(given), centre, steps, self.scaling.varying())
            return self.scaling.in_users_units(given, points)

        return block_by_block(rows, ROWS_WALKED, work, self.scorer.device)

    def _field(self, t: float) -> Field:
        reach = max(self.noise_scale) * self.width**0.5
        return Field(self.scorer, self.calibration, reach, t)

    def _start(self, baseline: Matrix | None) -> Matrix:
        return self.known_center()[None] if baseline is None else baseline

    def known_center(self) -> Matrix:
        """Return the deepest point; an error if the model's file holds none."""  # (p,)
        if self.center is None:
            raise InputError("This model's file was written before explanations: fit it again to ask for them.")
        return self.center

    # What the scores of calibration and training rows say about new ones.

    def calibrated(self, heads: Matrix) -> Fitted:
        """Return this model with the heads of fresh inliers as the measure for p-values."""
        return replace(self, inliers=conformal.evenly_spaced(heads[~np.isnan(heads).any(1)]))

    def calibration_heads(self) -> Matrix:
        """Return the heads of the calibration rows; an error if there are none."""  # (m, 2)
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
            return np.asarray(np.quantile(self.inliers, low, axis=0))
        return np.asarray(np.quantile(self.known_training_scores().quantiles, low, axis=1))
