"""A fitted model: from vectors to scores, contributions and thresholds.

Rows come in as (n, p) arrays or CSR matrices in the user's units, already checked. They pass through the networks,
whose outputs become two raw scores (`raw`) and then a pair of units (`units`). Everything else follows from that pair:
the score at t is its mixture, the centrality is the mixture squeezed into [0, 1].
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError, optional
from centrality._internal.devices import cores, is_cpu
from centrality._internal.input import CheckedRows
from centrality.analysis import conformal
from centrality.analysis.drift import TrainingScores
from centrality.analysis.report import Report
from centrality.engine import engine
from centrality.model.explain import MOST, ROWS_WALKED, VALUES_TRIED, ScoreField, nearest
from centrality.network.calibration import Calibration, Mixing
from centrality.network.context import Context, ContextCalibration
from centrality.network.engine_backend import EngineScorer, NetworkScorer, require_finite_scores
from centrality.network.network import Network
from centrality.network.refinement import Refinement
from centrality.network.scaling import Scaling, dense, rows_per_block

if TYPE_CHECKING:
    from torch import Tensor

    from centrality.model.reservoir import Reservoir
    from centrality.torch.module import Centrality, DeviceScorer


Matrix = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)


FEWEST_PER_BLOCK = 8  # rows that `rows_per_block` never divides


def map_blocks(work: Callable[[CheckedRows], NDArray[Number]], X: CheckedRows, device: str) -> NDArray[Number]:
    """Return `work` of the rows, block by block on all cores; row i belongs to X[i]."""
    return work(X) if X.shape[0] <= FEWEST_PER_BLOCK else block_by_block(X, rows_per_block(X.shape[1]), work, device)


def block_by_block(
    X: CheckedRows, size: int, work: Callable[[CheckedRows], NDArray[Number]], device: str
) -> NDArray[Number]:
    """Apply `work` to each block of rows, one block per thread, and join the results along the first dimension."""
    n = X.shape[0]
    starts = range(0, n, size)
    if len(starts) == 1:
        return work(X)
    result: NDArray[Number] | None = None
    threads = cores() if is_cpu(device) else 1
    with ThreadPoolExecutor(threads) as pool:  # it starts none before there is work for them
        try:
            parts = (pool.map if threads > 1 else map)(lambda start: work(X[start : start + size]), starts)
            for start, part in zip(starts, parts, strict=True):
                if result is None:
                    result = np.empty((n, *part.shape[1:]), dtype=part.dtype)
                result[start : start + size] = part
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # so that Ctrl-C does not wait for the blocks not yet begun
            raise
    assert result is not None  # there is at least one block
    return result


def map_valid_rows(vectors: CheckedRows, work: Callable[[CheckedRows], Matrix]) -> Matrix:
    """Return `work` of these vectors, row by row; the result is NaN for rows without a vector, which are all NaN."""
    if not isinstance(vectors, np.ndarray) or not np.isnan(vectors[:, 0]).any():  # one column tells: quick
        return work(vectors)
    valid = np.asarray(~np.isnan(vectors).all(1))
    if valid.all():
        return work(vectors)
    values = work(
        vectors[valid] if valid.any() else np.zeros((1, vectors.shape[1]))
    )  # one row gives the result's shape
    result = np.full((len(vectors), *values.shape[1:]), np.nan)
    result[valid] = values[: valid.sum()]
    return result


def scorer_for(network: Network, device: str = "cpu") -> NetworkScorer:
    """Return the scorer of this network on this device."""
    if network.layout.standard and is_cpu(device):
        return EngineScorer(network, engine())
    optional("torch", "torch")
    from centrality.torch.module import TorchScorer  # brings torch

    return TorchScorer(network, device)


OFFSET_STEPS = 40  # values of t from 0 to 1: between two of them, quantiles of scores are nearly linear in t
History = dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class FittedModel(FrozenArrays):
    """Everything that scoring needs, and the record of the fit. It is immutable: a change makes a new value."""

    network: Network
    scorer: NetworkScorer = field(compare=False, repr=False)  # the network, packed for scoring on the device
    scaling: Scaling
    calibration: Calibration
    noise_scale: tuple[float, ...]
    members_differ: bool  # several networks, each trained on other rows
    offset: float  # the score below which `predict` says outlier
    offset_at_t: float  # the t for which `offset` holds
    offsets: Matrix | None  # (OFFSET_STEPS + 1,) the same from t = 0 to t = 1; None: marks set only the one
    history: History  # the losses of training
    remembered: Reservoir = field(compare=False, repr=False)  # for further training; never saved in a file
    names: tuple[str, ...] | None  # of the columns, where the training rows had names
    inliers: conformal.CalibrationRows | None  # the calibration rows; None: no row was left out of training
    training_scores: TrainingScores
    typical: Matrix  # (k, p) the deepest point, and those of further regions, in the user's units
    context: Context | None = None  # makes the user's rows relative to their context; all else here is about those
    context_calibration: ContextCalibration | None = None  # makes units comparable between contexts
    report: Report | None = None  # None while the fit goes on
    refinement: Refinement | None = None  # the correction learned from marks; None: no marks were learned
    device: str = field(default="cpu", compare=False)  # where it scores

    def offset_for(self, t: float) -> float:
        """Return the score below which `predict` says outlier at this t."""
        if t == self.offset_at_t:
            return self.offset
        if self.offsets is None:
            raise InputError(
                f"This model knows only at t={self.offset_at_t:g} which rows are outliers, not at t={t:g}: marks set "
                "it. Learn them at this t."
            )
        return float(np.interp(t, np.linspace(0, 1, OFFSET_STEPS + 1), self.offsets))

    def to_torch(self, t: float, device: str = "cpu", context: Context | None = None) -> Centrality:
        """Return a torch module that goes from rows to scores; `t` is used by calls that give none.

        With the `context` it takes the user's rows; without it, rows that `relative` has changed already.
        """
        optional("torch", "torch")
        from centrality.torch.module import Centrality  # brings torch

        return Centrality(
            self.network,
            self.scaling,
            self.calibration,
            self.refinement,
            context=context,
            context_calibration=self.context_calibration,
            t=t,
            device=device,
        )

    @cached_property
    def _by_device(self) -> dict[str, DeviceScorer]:
        return {}

    def _on_gpu(self, rows: Any) -> DeviceScorer | None:
        """Return the scorer of the GPU that holds the rows or the model; None if some of the work needs the CPU."""
        device = str(rows.device) if hasattr(rows, "is_cuda") else self.device
        if not device.startswith("cuda") or sparse.issparse(rows):
            return None
        from centrality.torch.module import DeviceScorer  # brings torch

        if device not in self._by_device:
            self._by_device[device] = DeviceScorer(self.to_torch(0.5, device), device)
        return self._by_device[device]

    def tensor_on_gpu(self, X: Any) -> Tensor | None:
        """Return X if it is a tensor that can be scored on its own GPU; None if it must be checked on the CPU."""
        if type(X).__module__.partition(".")[0] != "torch" or not X.is_cuda:
            return None
        if self.context is not None:
            return None
        fits = X.dim() == 2 and len(X) > 0 and X.shape[1] == self.width and X.is_floating_point() and self.names is None
        return X.detach() if fits and bool(X.isfinite().all()) else None

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_by_device"}  # made again

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.scaling.center)

    @property
    def features(self) -> list[str]:
        """Return the names of the columns; they are x0, x1, ... if the training rows had none."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(self.width)]

    def on(self, device: str) -> FittedModel:
        """Return the same model on this device."""
        if self.device == device:
            return self
        return replace(self, device=device, scorer=scorer_for(self.network, device))

    # Rows relative to their context, if there is one.

    def relative(self, rows: CheckedRows) -> CheckedRows:
        """Return the user's rows relative to their context, as the methods below take them; unchanged without one."""
        return rows if self.context is None else self.context.relative(rows)

    def absolute(self, rows: Matrix) -> Matrix:
        """Return rows or points in the user's units: the inverse of `relative`."""  # (n, p)
        return rows if self.context is None else self.context.absolute(rows)

    def _in_context_of(self, points: Matrix, rows: Matrix) -> Matrix:
        """Return the points, each with the context of its row."""  # (n, p), (n, p)
        if self.context is not None:
            points = points.copy()
            points[:, self.context.given] = rows[:, self.context.given]
        return points

    def _behaviour(self) -> NDArray[np.intp]:
        return np.arange(self.width) if self.context is None else self.context.behaviour

    def typical_for(self, rows: CheckedRows) -> Matrix:
        """Return the typical point nearest to each row, in the row's context."""  # (n, p)
        return self._in_context_of(self.typical[self.nearest_typical(rows)], dense(rows))

    def origins(self, rows: CheckedRows, points: Matrix | None = None) -> Matrix:
        """Return the units of the point each row is explained against: the nearest of these, in the row's context."""
        points = self.typical if points is None else points
        at = self.nearest(points, rows)
        if self.context is None:
            return self.units(points)[at]
        return self.units(self._in_context_of(points[at], dense(rows)))  # (n, 2)

    # From rows to scores, each one forward pass.

    def raw(self, rows: CheckedRows) -> Matrix:
        """Return the uncalibrated global logit and local potential."""  # (n, 2)
        return map_blocks(lambda block: self.scorer.raw(block, self.scaling, self.calibration), rows, self.device)

    def units(self, rows: CheckedRows) -> Matrix:
        """Return the global and the local score in the units in which they are mixed."""  # (n, 2)
        if (on_gpu := self._on_gpu(rows)) is not None:
            return on_gpu.units(rows)
        units = map_blocks(
            lambda block: self.scorer.head_scores(block, self.scaling, self.calibration), rows, self.device
        )
        if self.context_calibration is not None:
            units = self.context_calibration(units, dense(rows))
        return units if self.refinement is None else units + self.shift(rows)[:, None]

    def shift(self, rows: CheckedRows) -> Matrix:
        """Return the correction learned from marks, added to both head scores; 0 without marks."""  # (n,)
        return np.zeros(rows.shape[0]) if self.refinement is None else self._of_scaled(rows, self.refinement.shift)

    def refinement_by_column(self, rows: CheckedRows) -> Matrix:
        """Return each column's part in the `shift` of each row."""  # (n, p)
        return np.zeros(rows.shape) if self.refinement is None else self._of_scaled(rows, self.refinement.parts)

    def _of_scaled(self, rows: CheckedRows, work: Callable[[Matrix], Matrix]) -> Matrix:
        def of_block(block: CheckedRows) -> Matrix:
            return work(self.scaling.apply(block).astype(np.float64))

        return map_blocks(of_block, rows, self.device)

    @property
    def mixing(self) -> Mixing:
        """Return the rule that mixes the heads: `mixing(heads, t)` is the centrality of rows with these heads."""
        return self.calibration.mixing

    def heads(self, rows: CheckedRows) -> Matrix:
        """Return global and local centrality, each in [0, 1]."""  # (n, 2)
        return self.calibration.mixing.squeeze(self.units(rows))

    def centrality(self, rows: CheckedRows, t: float | Sequence[float]) -> Matrix:
        """Return the head scores mixed at t and squeezed into [0, 1]."""  # (n,), or (n, len(t)) for several
        if self._is_native(rows) and isinstance(t, float | int) and 0 <= t <= 1:
            work = partial(self.scorer.mixtures, self.scaling, self.calibration, float(t), squeezed=True)
            return map_blocks(work, rows, self.device)
        return self.calibration.mixing.centrality(self.units(rows), t)

    def _is_native(self, rows: CheckedRows) -> bool:
        """Say whether the engine computes all of a score: without a context, without marks, on the CPU."""
        return (
            self.context_calibration is None
            and self.refinement is None
            and self.device == "cpu"
            and not hasattr(rows, "is_cuda")
        )

    def scores(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the head scores mixed at t."""  # (n,)
        if self._is_native(rows) and 0 <= t <= 1:
            work = partial(self.scorer.mixtures, self.scaling, self.calibration, float(t), squeezed=False)
            return map_blocks(work, rows, self.device)
        return self.calibration.mixing.mixed(self.units(rows), t)

    def standard_error(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the standard error of each centrality over other draws of training rows and networks.

        Networks that were each trained on another half of the rows differ as much as two fits to all rows would (that
        is the variance by balanced half-samples); the mean of networks that saw the same rows differs by √members less.
        """  # (n,)
        if (members := self.network.members) < 2:
            raise InputError(
                f"A standard error needs an ensemble of at least 2, this model has {members}: FUSE(ensemble=6), say."
            )

        def of_members(block: CheckedRows) -> Matrix:  # (n, members, 2)
            outputs = require_finite_scores(self.scorer.of_rows(block, self.scaling))
            return np.stack([self.calibration.units(raw) for raw in self.calibration.of_members(outputs)], axis=1)

        by_member = np.moveaxis(map_blocks(of_members, rows, self.device), 1, 0)
        if self.context_calibration is not None:
            by_member = np.stack([self.context_calibration(scores, dense(rows)) for scores in by_member])
        mixing = self.calibration.mixing
        mixtures = np.column_stack([mixing.mixed(scores, t) for scores in by_member])
        centralities = mixing.squeeze(mixtures + self.shift(rows)[:, None])
        if self.members_differ:
            return np.asarray(np.std(centralities, axis=1))
        return np.asarray(np.std(centralities, axis=1, ddof=1) / np.sqrt(members))

    # Why, and what would make a row typical.

    def contributions(
        self, rows: CheckedRows, baseline: Matrix | None = None, owner: NDArray[np.intp] | None = None
    ) -> Matrix:
        """Return what each column contributes to units(row) - units(baseline): global, then local.

        Without a baseline, a row is compared with the typical point nearest to it. `owner` says which feature each
        column belongs to, where several are one feature: they are tried together.
        """  # (n, 2, p)
        points = self.typical if baseline is None else baseline
        owner = np.arange(self.width) if owner is None else owner
        field = self._field()

        def work(block: CheckedRows) -> Matrix:
            rows = dense(block)
            origins = self._in_context_of(points[self.nearest(points, rows)], rows)
            change = self.units(block) - self.units(origins)
            shares = field.shares(self.scaling.scaled(origins), self.scaling.scaled(rows), owner)
            return shares * change[:, :, None]

        size = max(1, VALUES_TRIED // (self.width * min(MOST, self.width)))
        return block_by_block(rows, size, work, self.device)

    def explain(
        self, rows: CheckedRows, t: float, baseline: Matrix | None = None, owner: NDArray[np.intp] | None = None
    ) -> Matrix:
        """Return what each column contributes to f(row, t) - f(baseline, t)."""  # (n, p)
        origin, mixing = self.origins(rows, baseline), self.calibration.mixing
        return mixing.contributions(self.contributions(rows, baseline, owner), self.units(rows), origin, t)

    def toward_center(self, rows: CheckedRows, steps: int, t: float) -> Matrix:
        """Return a path from each row toward the centre, on which f never falls."""  # (n, steps + 1, p)
        field = self._field()
        center = self.scaling.scaled(self.typical[:1])
        free = self.scaling.varying() & np.isin(np.arange(self.width), self._behaviour())

        def work(block: CheckedRows) -> Matrix:
            values = dense(block).astype(np.float64)
            points = field.ascend(self.scaling.scaled(values), center, steps, free, t)
            return self.scaling.in_users_units(values, points)

        return block_by_block(rows, ROWS_WALKED, work, self.device)

    def _field(self) -> ScoreField:
        return ScoreField(
            self.scorer,
            self.calibration,
            reach=max(self.noise_scale) * self.width**0.5,
            refinement=self.refinement,
            context_calibration=self.context_calibration,
        )

    def nearest_typical(self, rows: CheckedRows) -> NDArray[np.intp]:
        """Return which of the typical points is nearest to each row."""  # (n,)
        return self.nearest(self.typical, rows)

    def nearest(self, points: Matrix, rows: CheckedRows) -> NDArray[np.intp]:
        """Return which of these points, in the user's units, is nearest to each row."""  # (n,)
        behaviour = self._behaviour()
        scaled_points = self.scaling.scaled(points)[:, behaviour]

        def work(block: CheckedRows) -> NDArray[np.intp]:
            return nearest(scaled_points, self.scaling.scaled(block)[:, behaviour])

        return map_blocks(work, rows, self.device)

    # What the scores of calibration and training rows say about new ones.

    def calibrated(self, units: Matrix | None, contamination: float | str = 0.0) -> FittedModel:
        """Return this model with the calibration rows that have these units; None keeps the rows it has."""
        units = self.calibration_rows().units if units is None else units
        return replace(self, inliers=conformal.CalibrationRows.of(units, contamination, self.calibration.mixing))

    def threshold(self, units: Matrix, rule: conformal.Rule, t: float) -> float:
        """Return the score at t, in units, below which rows with these units are to be called outliers."""
        inliers = self.inlier_scores(t) if rule.needs_inliers else None
        return rule.threshold(self.mixing.mixed(units, t), inliers)

    def inlier_scores(self, t: float) -> Matrix:
        """Return the scores at t, in units, of the calibration rows that count as inliers."""  # (m,) in order
        return self.calibration_rows().scores(self.calibration.mixing, t)

    def calibration_rows(self) -> conformal.CalibrationRows:
        """Return the calibration rows; raise if the model has none."""
        if self.inliers is None:
            raise InputError(
                "p-values need calibration rows: inliers that the model was not trained on. Call calibrate(C) with "
                "such rows, or fit with holdout=0.2 to keep a fifth of the training rows aside for it."
            )
        return self.inliers

    def bounds(self, low: float) -> Matrix:
        """Return the `low` quantile of each head on typical rows."""  # (2,)
        if not 0 < low < 1:
            raise InputError(f"low must be a share of the rows between 0 and 1, got {low!r}.")
        if self.inliers is not None:
            return self.calibration.mixing.squeeze(self.inliers.quantile(low))
        return np.asarray(np.quantile(self.training_scores.quantiles, low, axis=1))
