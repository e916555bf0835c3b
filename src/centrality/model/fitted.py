"""A fitted model: from vectors to scores, contributions and thresholds.

Rows come in as (n, p) arrays or CSR matrices in the user's units, already checked. They pass through the networks,
whose outputs become two raw scores (`raw`), and these the two head scores, global and local: `units` when calibrated,
`heads` when also squeezed into [0, 1]. All else follows from these two: the score at t is their mixture, the centrality
is the mixture squeezed into [0, 1].
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError, optional
from centrality._internal.devices import count_threads
from centrality._internal.input import CheckedRows
from centrality.analysis import conformal
from centrality.analysis.certificate import Certificate, most_ordinary
from centrality.analysis.drift import TrainingScores
from centrality.analysis.report import Report
from centrality.engine import engine
from centrality.model.explain import MOST_FEATURES_TRIED, ROWS_WALKED, VALUES_TRIED, ScoreField, nearest
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


SAME_ROWS = 0.5  # rank correlation of scores above which rows are taken for those of the fit, in the same order
FEWEST_PER_BLOCK = 8  # `rows_per_block` never returns fewer rows


def map_blocks(work: Callable[[CheckedRows], NDArray[Number]], X: CheckedRows, device: str) -> NDArray[Number]:
    """Apply `work` to the rows, block by block on all cores: row i of the result is that of X[i]."""
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
    threads = count_threads() if device == "cpu" else 1
    map_starts: Callable[..., Iterable[NDArray[Number]]]
    with ThreadPoolExecutor(threads) as pool:  # no thread starts before it has work
        map_starts = pool.map if threads > 1 else map
        try:
            parts = map_starts(lambda start: work(X[start : start + size]), starts)
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
    """Apply `work` to the rows that have a vector; the result is NaN for the others, whose numbers are all NaN."""
    if not isinstance(vectors, np.ndarray) or not np.isnan(vectors[:, 0]).any():  # quick: one column is enough
        return work(vectors)
    valid = np.asarray(~np.isnan(vectors).all(1))
    if valid.all():
        return work(vectors)
    # Without any valid row, a row of zeros tells the shape of the result.
    values = work(vectors[valid] if valid.any() else np.zeros((1, vectors.shape[1])))
    result = np.full((len(vectors), *values.shape[1:]), np.nan)
    result[valid] = values[: valid.sum()]
    return result


def scorer_for(network: Network, device: str = "cpu") -> NetworkScorer:
    """Return the scorer of this network on this device."""
    if network.layout.standard and device == "cpu":
        return EngineScorer(network, engine())
    optional("torch", "torch")
    from centrality.torch.module import TorchScorer  # brings torch

    return TorchScorer(network, device)


OFFSET_STEPS = 40  # intervals between t = 0 and t = 1, in each of which quantiles of scores are nearly linear in t
History = dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class FittedModel(FrozenArrays):
    """Everything that scoring needs, and the record of the fit. It never changes: methods return changed copies."""

    network: Network
    scorer: NetworkScorer = field(compare=False, repr=False)  # the network, packed for scoring on the device
    scaling: Scaling
    calibration: Calibration
    noise_scale: tuple[float, ...]
    members_differ: bool  # several networks, each trained on different rows
    offset: float  # the score at `offset_at_t` below which `predict` says outlier
    offset_at_t: float
    offsets: Matrix | None  # (OFFSET_STEPS + 1,) the offsets from t = 0 to t = 1; None after marks, which set only one
    history: History  # the losses of training
    remembered: Reservoir = field(compare=False, repr=False)  # a sample of the training rows; never saved in a file
    names: tuple[str, ...] | None  # the names of the columns, if the training rows had any
    inliers: conformal.CalibrationRows | None  # the calibration rows; None if no row was left out of training
    training_scores: TrainingScores
    typical: Matrix  # (k, p) the deepest point, and those of further regions, in the user's units
    # Expresses the user's rows relative to their context; the networks and all other attributes take relative rows.
    context: Context | None = None
    context_calibration: ContextCalibration | None = None  # makes units comparable between rows of different contexts
    report: Report | None = None  # None until the fit is complete
    refinement: Refinement | None = None  # the correction learned from marks; None before any were learned
    device: str = field(default="cpu", compare=False)  # the device that scores

    def knows_offset_for(self, t: float) -> bool:
        """Say whether the model has a threshold at this t: marks set it at one t only."""
        return self.offsets is not None or t == self.offset_at_t

    def offset_for(self, t: float) -> float:
        """Return the score below which `predict` says outlier at this t."""
        if t == self.offset_at_t:
            return self.offset
        if self.offsets is None:
            raise InputError(
                f"This model's threshold was learned from marks at t={self.offset_at_t:g}; there is none at t={t:g}. "
                "Learn the marks at this t."
            )
        return float(np.interp(t, np.linspace(0, 1, OFFSET_STEPS + 1), self.offsets))

    def to_torch(self, t: float, device: str = "cpu", context: Context | None = None) -> Centrality:
        """Return a torch module that scores rows; `t` is its default.

        With the `context` it takes the user's rows; without it, the relative ones that `relative` returns.
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
    def _gpu_scorers(self) -> dict[str, DeviceScorer]:  # by device
        return {}

    def _gpu_scorer(self, device: str) -> DeviceScorer:
        """Return the scorer of this GPU, which holds the rows or the model."""
        from centrality.torch.module import DeviceScorer  # brings torch

        if device not in self._gpu_scorers:
            self._gpu_scorers[device] = DeviceScorer(self.to_torch(0.5, device), device)
        return self._gpu_scorers[device]

    def tensor_on_gpu(self, X: Any) -> Tensor | None:
        """Return X if it is a tensor of finite numbers that its own GPU can score; else None: the CPU checks it."""
        if type(X).__module__.partition(".")[0] != "torch" or not X.is_cuda:
            return None
        if self.context is not None:
            return None
        has_all_columns = X.dim() == 2 and len(X) > 0 and X.shape[1] == self.width
        is_scorable = has_all_columns and X.is_floating_point() and self.names is None
        return X.detach() if is_scorable and bool(X.isfinite().all()) else None

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.scaling.center)

    @property
    def features(self) -> list[str]:
        """Return the names of the columns; they are x0, x1, ... if the training rows had none."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(self.width)]

    def on(self, device: str) -> FittedModel:
        """Return this model as one that scores on this device."""
        if self.device == device:
            return self
        return replace(self, device=device, scorer=scorer_for(self.network, device))

    # Rows relative to their context, if the model has one.

    def relative(self, rows: CheckedRows) -> CheckedRows:
        """Return the user's rows relative to their context; without a context, as they are.

        All methods below take relative rows.
        """
        return rows if self.context is None else self.context.relative(rows)

    def absolute(self, rows: Matrix) -> Matrix:
        """Return rows or points in the user's units: the inverse of `relative`."""  # (n, p)
        return rows if self.context is None else self.context.absolute(rows)

    def _in_context_of(self, points: Matrix, rows: Matrix) -> Matrix:  # (n, p), (n, p) -> (n, p)
        """Return the points, each with the context columns of the matching row."""
        if self.context is not None:
            points = points.copy()
            points[:, self.context.given] = rows[:, self.context.given]
        return points

    def typical_for(self, rows: CheckedRows) -> Matrix:
        """Return the typical point nearest to each row, in the row's context."""  # (n, p)
        return self._in_context_of(self.typical[self.nearest_typical(rows)], dense(rows))

    def origins(self, rows: CheckedRows, points: Matrix | None = None) -> Matrix:
        """Return the head scores of the point that each row is compared with: the nearest one, in the row's context.

        Without `points`, that is the nearest typical point.
        """  # (n, 2)
        points = self.typical if points is None else points
        index = self.nearest(points, rows)
        if self.context is None:
            return self.units(points)[index]
        return self.units(self._in_context_of(points[index], dense(rows)))

    # From rows to scores, each by one forward pass.

    def raw(self, rows: CheckedRows) -> Matrix:
        """Return the uncalibrated global logit and local potential."""  # (n, 2)
        return map_blocks(lambda block: self.scorer.raw(block, self.scaling, self.calibration), rows, self.device)

    def units(self, rows: CheckedRows) -> Matrix:
        """Return the head scores: global and local, calibrated so that they can be mixed."""  # (n, 2)
        device = str(cast(Any, rows).device) if hasattr(rows, "is_cuda") else self.device
        if device.startswith("cuda") and not sparse.issparse(rows):
            return self._gpu_scorer(device).units(rows)
        units = map_blocks(
            lambda block: self.scorer.head_scores(block, self.scaling, self.calibration), rows, self.device
        )
        if self.context_calibration is not None:
            units = self.context_calibration(units, dense(rows))
        return units if self.refinement is None else units + self.shift(rows)[:, None]

    def shift(self, rows: CheckedRows) -> Matrix:
        """Return the correction learned from marks, added to both head scores; 0 without marks."""  # (n,)
        return np.zeros(rows.shape[0]) if self.refinement is None else self._map_scaled(rows, self.refinement.shift)

    def refinement_by_column(self, rows: CheckedRows) -> Matrix:
        """Return how much of each row's `shift` is due to each column."""  # (n, p)
        return np.zeros(rows.shape) if self.refinement is None else self._map_scaled(rows, self.refinement.parts)

    def _map_scaled(self, rows: CheckedRows, work: Callable[[Matrix], Matrix]) -> Matrix:
        """Apply `work` to the scaled rows, block by block."""
        return map_blocks(lambda block: work(self.scaling.apply(block).astype(np.float64)), rows, self.device)

    @property
    def mixing(self) -> Mixing:
        """Return the rule that mixes the heads: `mixing(heads, t)` is the centrality of rows with these heads."""
        return self.calibration.mixing

    def heads(self, rows: CheckedRows) -> Matrix:
        """Return global and local centrality, each in [0, 1]."""  # (n, 2)
        return self.calibration.mixing.squeeze(self.units(rows))

    def centrality(self, rows: CheckedRows, t: float | Sequence[float]) -> Matrix:
        """Return the head scores mixed at t and squeezed into [0, 1]."""  # (n,), or (n, len(t)) for several
        if self._computes_mixtures and not hasattr(rows, "is_cuda") and isinstance(t, float | int) and 0 <= t <= 1:
            work = partial(self.scorer.mixtures, self.scaling, self.calibration, float(t), squeezed=True)
            return map_blocks(work, rows, self.device)
        return self.calibration.mixing.centrality(self.units(rows), t)

    @cached_property
    def _computes_mixtures(self) -> bool:
        """Say whether the scorer computes mixtures by itself: on the CPU, without a context and without marks."""
        return self.context_calibration is None and self.refinement is None and self.device == "cpu"

    def scores(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the head scores mixed at t."""  # (n,)
        if self._computes_mixtures and not hasattr(rows, "is_cuda") and 0 <= t <= 1:
            work = partial(self.scorer.mixtures, self.scaling, self.calibration, float(t), squeezed=False)
            return map_blocks(work, rows, self.device)
        return self.calibration.mixing.mixed(self.units(rows), t)

    def require_ensemble(self) -> None:
        """Raise if there is one network only: networks that differ show a standard error."""
        if self.network.members < 2:
            raise InputError(
                "A standard error needs an ensemble, or training rows to train again on: this model has one network "
                "and remembers no rows. Call stability(X, rows) with the training rows X."
            )

    def standard_error(self, rows: CheckedRows, t: float) -> Matrix:
        """Return the standard error of each centrality over other draws of training rows and networks.

        Networks trained on different halves of the rows differ as much as two fits to all rows would (that is the
        variance by balanced half-samples); for networks trained on the same rows, divide by √members.
        """  # (n,)
        members = self.network.members
        self.require_ensemble()

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
        """Return what each column contributes to units(row) - units(baseline), for the global and the local head.

        Without a baseline, a row is compared with the typical point nearest to it. `owner` says which feature each
        column belongs to: columns of one feature are changed together.
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

        size = max(1, VALUES_TRIED // (self.width * min(MOST_FEATURES_TRIED, self.width)))
        return block_by_block(rows, size, work, self.device)

    def explain(
        self, rows: CheckedRows, t: float, baseline: Matrix | None = None, owner: NDArray[np.intp] | None = None
    ) -> Matrix:
        """Return what each column contributes to f(row, t) - f(baseline, t)."""  # (n, p)
        origins = self.origins(rows, baseline)
        contributions = self.contributions(rows, baseline, owner)
        return self.calibration.mixing.contributions(contributions, self.units(rows), origins, t)

    def toward_center(self, rows: CheckedRows, steps: int, t: float) -> Matrix:
        """Return a path from each row toward the centre, on which f(x, t) never falls."""  # (n, steps + 1, p)
        field = self._field()
        center = self.scaling.scaled(self.typical[:1])
        free = self.scaling.varying()
        if self.context is not None:
            free[self.context.given] = False

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
        columns = slice(None) if self.context is None else self.context.behaviour
        scaled_points = self.scaling.scaled(points)[:, columns]
        return map_blocks(
            lambda block: nearest(scaled_points, self.scaling.scaled(block)[:, columns]), rows, self.device
        )

    # Thresholds, by the scores of calibration and training rows.

    def calibrated(self, units: Matrix | None, contamination: float | str = 0.0) -> FittedModel:
        """Return this model, calibrated by rows with these head scores; None stands for its present ones."""
        units = self.calibration_rows().units if units is None else units
        return replace(self, inliers=conformal.CalibrationRows.of(units, contamination, self.calibration.mixing))

    def threshold(self, units: Matrix, rule: conformal.Rule, t: float) -> float:
        """Return the rule's threshold at t, for rows with these head scores."""
        inliers = self.inlier_scores(t) if rule.needs_inliers else None
        return rule.threshold(self.mixing.mixed(units, t), inliers)

    def inlier_scores(self, t: float) -> Matrix:
        """Return the scores at t of the calibration rows that count as inliers, in rising order."""  # (m,)
        return self.calibration_rows().scores(self.calibration.mixing, t)

    def held_out_units(self, units: Matrix) -> Matrix:
        """Return units of rows; calibration rows of the fit get those by networks trained without the row.

        The rows must be those of the fit, in their order; otherwise all keep the given units.
        """
        rows = self.calibration_row_numbers(self.mixing.mixed(units, 0.5), 0.5)
        if rows is None:
            return units
        units = units.copy()
        units[rows] = self.calibration_rows().units
        return units

    def calibration_row_numbers(self, scores: Matrix, t: float) -> NDArray[np.intp] | None:
        """Say which of the rows with these scores at t are calibration rows; None if they are not the rows of the fit.

        They count as the rows of the fit if they are as many and their ranks agree.
        """
        inliers = self.inliers
        valid = np.flatnonzero(~np.isnan(scores))
        if inliers is None or inliers.rows is None or len(valid) != self.remembered.seen:
            return None
        rows = valid[inliers.rows]
        scores_then_and_now = np.column_stack([self.mixing.mixed(inliers.units, t), scores[rows]])
        ranks = scores_then_and_now.argsort(0).argsort(0)
        return rows if np.asarray(np.corrcoef(ranks.T))[0, 1] > SAME_ROWS else None

    def stands_apart(self, units: Matrix, t: float) -> NDArray[np.bool_]:
        """Say which of the rows with these units are too odd to belong to the tail of the others' scores."""
        scores = self.mixing.mixed(self.held_out_units(units), t)
        order = np.argsort(scores, kind="stable")  # rows without a score come last
        is_apart = np.zeros(len(scores), dtype=bool)
        is_apart[order[: conformal.count_apart(scores[order[: int((~np.isnan(scores)).sum())]])]] = True
        return is_apart

    def ranks(self, units: Matrix, t: float) -> NDArray[np.int64]:
        """Return how many calibration rows score no higher than each row; of a row without a score, all may."""
        calibration = self.inlier_scores(t)
        scores = self.mixing.mixed(units, t)
        return np.where(np.isnan(scores), len(calibration), np.searchsorted(calibration, scores, side="right"))

    def certificate(
        self, rows: NDArray[np.intp], units: Matrix, t: float, confidence: float = 0.95
    ) -> Certificate | None:
        """Say how many of these rows, chosen among all with these units, are ordinary at most.

        Nothing can be said without calibration rows, nor of the rows of the fit, which are among them: None.
        """
        if self.inliers is None or self.calibration_row_numbers(self.mixing.mixed(units, 0.5), 0.5) is not None:
            return None
        ranks = self.ranks(units, t)
        m = self.calibration_count(t)
        return Certificate(len(rows), most_ordinary(ranks[rows], ranks, m, confidence), len(ranks), m, confidence)

    def calibration_count(self, t: float) -> int:
        """Return how many calibration rows count as inliers at t; 0 if the model has none."""
        return 0 if self.inliers is None else len(self.inlier_scores(t))

    def calibration_rows(self) -> conformal.CalibrationRows:
        """Return the calibration rows; raise if the model has none."""
        if self.inliers is None:
            raise InputError(
                "p-values need calibration rows: inliers that the model was not trained on. Call calibrate(C) with "
                "such rows, or fit with holdout=0.2 to keep a fifth of the training rows aside for it."
            )
        return self.inliers

    def bounds(self, low: float) -> Matrix:
        """Return the `low` quantile of each head over the calibration rows, or over training rows if there are none."""
        if not 0 < low < 1:
            raise InputError(f"low must be a share of the rows between 0 and 1, got {low!r}.")
        if self.inliers is not None:
            return self.calibration.mixing.squeeze(self.inliers.quantile(low))
        return np.asarray(np.quantile(self.training_scores.quantiles, low, axis=1))  # (2,)
