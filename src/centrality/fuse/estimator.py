"""Define FUSE, the estimator people import."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from centrality._internal import model_file
from centrality._internal.checks import InputError, warn_caller
from centrality._internal.devices import find_device, start_in_background
from centrality._internal.input import (
    CheckedRows,
    Dissimilarity,
    ModelRows,
    RandomState,
    random_numbers,
    require_finite,
    rows_to_fit,
    unchanged_on_failure,
    warn_of_labels,
)
from centrality.analysis.drift_columns import TrainingColumns
from centrality.fuse.background import bounds_of
from centrality.fuse.comparisons import compare
from centrality.fuse.config import HELD_VALUES, Plan, Settings, Task, paper_settings, places_of, require_possible
from centrality.fuse.data import TrainingData
from centrality.fuse.initialize import noise_scales
from centrality.fuse.train import train
from centrality.model.finish import Reservoir, Trained, calibrated_on, finish_fit, with_report
from centrality.model.fitted import FittedModel, History, joined, scorer_for
from centrality.model.interface import CentralityModel
from centrality.model.reader import NumberReader
from centrality.network.calibration import checked_calibration, one_t
from centrality.network.context import Context
from centrality.network.folds import Folds, Units, restrict_dissimilarity, split, split_few, split_off_holdout
from centrality.network.network import Network
from centrality.network.scaling import ColumnRange, Scaling, with_column_range

if TYPE_CHECKING:
    from torch import nn

    from centrality.fuse.paper import PaperFUSE

BOUNDS_ROWS = 20_000  # rows that bound what the networks add to their backgrounds
CALIBRATION_ROWS = 20_000  # rows that fix the quantiles: their rank error is then below 0.001 at 1% and 99%


class FUSE(CentralityModel):
    """FUSE learns how typical each row is, from 0 (odd) to 1 (typical), without labels.

    The dial t says what is meant: at t = 0 a row is typical if it is close to everything, at t = 1 if there are many
    rows like it. One fit answers for every t, and scoring does not need the training rows.

    Two networks' outputs are mixed by t. The global head learns by comparisons: which of two rows is nearer to a
    random third one? The local head learns a smoothed log-density of the rows, by removing noise from them
    (denoising score matching), starting from a background: a mixture of a few groups of rows with shrunk
    covariances. The name stands for Fused Unified centrality Score Estimation.

    Parameters
    ----------
    t : float, default=0.5
        The dial of `centrality` and `score_samples`: 0 is global, 1 is local.
    metric : str or callable, default="euclidean"
        "euclidean", "manhattan", "cosine", or a function of two batches of rows, (n, p) and (m, p), that gives their
        (n, m) dissimilarities. The first two compare scaled rows, the others rows as given.
    novelty : bool, default=False
        The training rows are clean: they are learned for longer, and the background is of up to 64 Gaussians, each with
        1% of the rows at least. Otherwise rows may hold outliers: it is of up to 16 t-distributions, which far rows
        hardly move, each with 5% of the rows at least.
    given : str, int, or a sequence of either, default=None
        Names or positions of the columns that are the context: a row is then typical or odd for its kind, among rows of
        a like context, and its context alone makes no row odd. In a `Chain`, of the raw columns.
    contamination : float or "auto", default="auto"
        The share of the training rows that `predict` calls outliers; "auto" draws the line where a tenth of new rows of
        the same kind are called, or a hundredth with `novelty`.
    holdout : float or None, default=None
        The share of the training rows to keep aside, drawn at random, and to calibrate on (see `calibrate`).
    random_state : int, numpy Generator, RandomState or None, default=None
        A seed makes fits identical with the same libraries: on a CPU to the bit, whatever the CPU.
    progress : bool, default=False
        Show a bar while fitting.

    Other Parameters
    ----------------
    ensemble : int or "auto", default="auto"
        How many networks to train side by side, each on another half of the rows; of each head, the network that finds
        the row oddest decides; `standard_error` is how they differ. "auto" is 4 where rows are few (below 3000, or 30 a
        column), or 6 with `given`; else 1, which leaves a tenth of them out.
    noise_scale : float, list of float or "auto", default="auto"
        The paper's η, in units of the scaled rows: a number; a list, for one potential per scale, rescaled and
        averaged; or "auto", the spacing of the rows, which is the median distance to the 10th neighbour over √p, or
        five scales with `given`.
    scaling : str, default="auto"
        "auto" centres columns on their medians, divides them by deviations that the outer tenth of the values cannot
        stretch, and bends them like a logarithm beyond ten of these; columns of like scale (within a factor of five)
        share one, so that distances keep their meaning. "standard" standardises, "none" takes rows as they are. A
        constant column carries no weight, except with "none".
    hidden : sequence of int, default=(128, 128)
        The widths of the encoder's GELU layers; a linear projection as wide as the last one follows.
    encoder : torch.nn.Module or None, default=None
        A module from (n, p) to (n, q), in place of the above. It is copied, not changed.
    max_steps : int or None, default=None
        The budget of training steps. None means 500, 200 for each network of an ensemble, 1000 with `novelty`, whatever
        the number of rows.
    device : str, default="auto"
        "auto" and "cpu" compute on the CPU; "cuda", "cuda:1" and "mps" on a GPU, by torch.

    Attributes
    ----------
    history_ : dict of lists "step", "global", "local": the losses of the first step, then means since the line before.
    noise_scale_ : tuple of the noise scales used.
    offset_ : the score below which `predict` says outlier.
    center_ : the deepest point, at the model's own t: the mean of the most central training row and its neighbours.
    fitted_ : all that was learned, as one frozen value (`centrality.model.fitted.FittedModel`).
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import FUSE
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = FUSE(random_state=0, max_steps=200).fit(X)
    >>> centre, edge = model.centrality([[0.0, 0.0], [4.0, 4.0]])
    >>> bool(centre > edge)
    True
    """

    def __init__(
        self,
        *,
        t: float = 0.5,
        metric: str | Callable[..., Any] = "euclidean",
        novelty: bool = False,
        given: Sequence[str] | Sequence[int] | str | int | None = None,
        contamination: float | str = "auto",
        holdout: float | None = None,
        ensemble: int | str = "auto",
        noise_scale: float | Sequence[float] | str = "auto",
        scaling: str = "auto",
        hidden: Sequence[int] = (128, 128),
        encoder: "nn.Module | None" = None,
        max_steps: int | None = None,
        device: str = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        self.t = t
        self.metric = metric
        self.novelty = novelty
        self.given = given
        self.contamination = contamination
        self.holdout = holdout
        self.ensemble = ensemble
        self.noise_scale = noise_scale
        self.scaling = scaling
        self.hidden = hidden
        self.encoder = encoder
        self.max_steps = max_steps
        self.device = device
        self.random_state = random_state
        self.progress = progress

    @classmethod
    def as_in_paper(cls, experiment: str, **changes: Any) -> "PaperFUSE":
        """Return a `PaperFUSE` with the settings of the paper's experiments: "synthetic", "real" or "outlier".

        Algorithm 1 for 30 epochs, one shared encoder, η = 1, raw features, clipping; `changes` override.
        """
        from centrality.fuse.paper import PaperFUSE  # here: it is a FUSE itself

        return PaperFUSE(**(paper_settings(experiment) | changes))

    def _settings(self) -> Settings:
        return Settings(self.get_params(deep=False))

    def fit(self, X: ModelRows, y: object = None, *, dissimilarity: Dissimilarity = None) -> Self:
        """Learn what is typical of the rows of X; `y` is ignored.

        `dissimilarity` compares rows by something other than their vectors: a square matrix, or a function of
        two row numbers (or of two arrays of them).
        """
        warn_of_labels(y)
        return self._fit(X, dissimilarity)

    def _fit(self, X: ModelRows, dissimilarity: Dissimilarity, as_new: NDArray[np.floating] | None = None) -> Self:
        """Fit to the rows X; `as_new` are the same rows encoded as if they were new, by which they are judged."""
        with unchanged_on_failure(self):
            first, why = ColumnRange(), "an anchor and a pair to compare"
            X = rows_to_fit(self, X, at_least=3, why=why, all_finite=first.all_finite)
            # Now, not when training is over: settings that matter only then.
            one_t(self.t)
            settings = self._settings()
            checked_calibration(settings["calibration"])
            settings.share_of_outliers()
            seed = int(random_numbers(self.random_state).randint(2**31))
            rng = np.random.default_rng(seed)
            X_as_new = X if as_new is None else as_new
            learned, aside = split_off_holdout(self.holdout, X, rng)
            held = None if aside is None else X_as_new[aside]
            if learned is not None:
                dissimilarity = restrict_dissimilarity(dissimilarity, learned, X.shape[0])
                X, X_as_new = X[learned], X_as_new[learned]
            parted, context, shown = settings.split(X, rng), None, X
            if self.given is not None:
                require_possible(settings, dissimilarity, X)
                context, made = self._context(X, seed)
                X, X_as_new, shown = made, made, context.mix_in_known_rows(X, made, seed)
                held = None if held is None else context.relative(held)
            columns = start_in_background(lambda: TrainingColumns.of(X_as_new))
            trained = self._trained(
                shown, dissimilarity, rng, seed, parted=parted, context=context, first=first, columns=columns
            )
            self.fitted_ = self._finish_fit(trained, X, X_as_new, held, rng)
        return self

    def _trained(
        self,
        X: CheckedRows,
        dissimilarity: Dissimilarity,
        rng: np.random.Generator,
        seed: int,
        *,
        parted: Folds | None,
        context: Context | None,
        first: ColumnRange,
        columns: Callable[[], TrainingColumns],
    ) -> Trained:
        device = find_device(self.device)
        # Rows that are relative to their kinds are scaled already.
        scaling = Scaling.fit(X, self.scaling if context is None else "none", self._measurements)
        if self.scaling == "auto" and context is None:
            scaling = with_column_range(
                scaling, X if parted is None else parted.rows_for_range(X), first, self._measurements
            )
        settings = self._settings()
        members, left_out = settings.members(*X.shape), None if parted is None else parted.left_out
        plan = replace(Plan.of(settings, members), left_out=left_out)
        most, own = plan.rows_needed() if members == 1 else None, None if parted is None else parted.fold_of_row
        off, given = self._uses_synthetic_rows(dissimilarity), None if context is None else context.given
        rows = TrainingData(
            X, scaling, rng, max_values=settings.max_values, most=most, folds=own, off_support=off, given=given
        )
        comparison = compare(rows, self.metric, dissimilarity)
        plan = replace(plan, noise_scales=noise_scales(self.noise_scale, rows, rng))
        network = settings.initialize(rows, plan, members, rng, np.random.default_rng(seed + 1))
        task = Task(network=network, rows=rows, comparison=comparison, plan=plan, rng=rng, seed=seed + 2, device=device)
        network, history = train(task)
        network = _bounded(network, rows, plan, device)
        seen, names = Reservoir(None, None, X.shape[0]), getattr(self, "feature_names_in_", None)
        return Trained(network, device, scaling, plan.noise_scales, history, seen, names, context, parted, columns)

    def _context(self, X: CheckedRows, seed: int) -> tuple[Context, NDArray[np.float64]]:
        """Fit the context model; return it, and the rows relative to their context, computed as for new rows."""
        names, owner = (None, None) if self._origins is None else self._origins
        columns = getattr(self, "feature_names_in_", None) if names is None else names
        places, of = places_of(self.given, columns, np.arange(X.shape[1]) if owner is None else owner)
        scaling = Scaling.fit(X, self.scaling, self._measurements)
        weighed = self.scaling == "none" or (self.scaling == "auto" and self._measurements is not None)
        return Context.fit(X, scaling, places, of, seed, weighed=weighed)

    def _uses_synthetic_rows(self, dissimilarity: Dissimilarity) -> bool:
        """Say whether made rows are compared too, which needs comparisons of scaled rows.

        The paper makes none, and with `novelty` the background says what lies off the data (measured: made rows cost
        .03 of average precision there).
        """
        unlike = self._settings().by_paper or self.novelty or dissimilarity is not None
        return not unlike and self.metric in ("euclidean", "manhattan")

    def _finish_fit(
        self,
        trained: Trained,
        X: CheckedRows,
        X_as_new: CheckedRows,
        held: CheckedRows | None,
        rng: np.random.Generator,
    ) -> FittedModel:
        """Set all quantiles, by a sample if rows are many, and report on the fit."""
        settings = self._settings()
        judged = np.arange(X.shape[0]) if trained.split is None else trained.split.held_out_rows()
        if len(judged) > CALIBRATION_ROWS:
            judged = np.sort(rng.choice(judged, size=CALIBRATION_ROWS))
        fitted = finish_fit(
            trained,
            X,
            X_as_new,
            judged,
            calibration=settings["calibration"],
            t=self.t,
            share_of_outliers=settings.share_of_outliers(),
            of_new_rows=self.contamination == "auto",
            clean=self.novelty,
            level_is_open=not settings.by_paper,
        )
        held_aside = 0 if held is None else held.shape[0]
        weights = settings.loss_weights(trained.noise_scale, X.shape[1])
        fitted = with_report(fitted, X, held_aside=held_aside, weights=weights, origins=self._origins)
        if held is not None:
            fitted = calibrated_on(held, fitted)
        folds = None if trained.split is None else trained.split.fold_of_row
        return replace(fitted, remembered=Reservoir.of(X, folds, rng))

    def partial_fit(self, X: ModelRows, y: object = None) -> Self:
        """Go on learning from new rows, for as many steps as their share of all rows seen so far; `y` is ignored.

        Scaling and noise scales stay as the first rows set them, but the ends of the columns move outward. Earlier rows
        are remembered by a small uniform sample (it is not saved: a loaded model learns from the new rows alone, and
        forgets more). What `calibrate` kept is dropped, since it was scored by another model.
        """
        if not hasattr(self, "fitted_"):
            return self.fit(X)
        before = self.fitted_
        if before.refinement is not None:
            advice = "go on learning with the model as it was fitted, and then learn the marks again."
            raise InputError(f"This model has learned marks, which partial_fit would forget: {advice}")
        X = self._reader().vectors(X)
        seed = int(random_numbers(self.random_state).randint(2**31)) + before.remembered.seen
        rng, members, parted = np.random.default_rng(seed), before.network.members, None
        if not self._settings().by_paper:
            n, alike, given = X.shape[0], not before.independent_halves, before.context is not None
            parted = split(n, members, rng, alike=alike, given=given, units=Units.of(X))
            parted = parted or split_few(n, members, rng, alike=alike, given=given)
            parted = replace(parted, fold_of_row=before.remembered.with_its_copies(X, parted.fold_of_row))
        remembered = before.remembered.with_new(X, None if parted is None else parted.fold_of_row, rng)
        rows = remembered.rows
        assert rows is not None  # it remembers some of X at least
        if rows.shape[0] < 3:
            raise InputError(f"partial_fit needs at least 3 rows to compare, got {X.shape[0]}.")
        known = None if parted is None or remembered.folds is None else Folds(remembered.folds, parted.left_out)
        if known is not None and not known.suffices:  # then all networks learn from all rows
            known, remembered = None, replace(remembered, folds=None)
        scaling = before.scaling if before.scaling.seen is None else with_column_range(before.scaling, X)
        plan = Plan.of(self._settings(), members).for_update(before.noise_scale, X.shape[0] / remembered.seen)
        plan = replace(plan, left_out=None if known is None else known.left_out)
        network, history = self._continue_training(rows, scaling, known, plan, seed)
        kept = before.device, scaling, before.noise_scale, history, remembered, before.names, before.context, known
        trained = Trained(network, *kept, columns=lambda: TrainingColumns.of(rows))
        self.fitted_ = replace(self._finish_fit(trained, rows, rows, None, rng), remembered=remembered)
        if before.inliers is not None and self.fitted_.inliers is None:
            warn_caller(
                "No row was left out of this training: p-values and detect need calibrate(C) with fresh rows now."
            )
        return self

    def _continue_training(
        self, X: CheckedRows, scaling: Scaling, known: Folds | None, plan: Plan, seed: int
    ) -> tuple[Network, History]:
        """Train a copy of the network on these rows; return it with the history of all training so far."""
        before, rng = self.fitted_, np.random.default_rng(seed + 1)
        own, off = None if known is None else known.fold_of_row, self._uses_synthetic_rows(None)
        given = None if before.context is None else before.context.given
        rows = TrainingData(X, scaling, rng, max_values=HELD_VALUES, folds=own, off_support=off, given=given)
        task = Task(
            network=before.network,
            rows=rows,
            comparison=compare(rows, self.metric, None),
            plan=plan,
            rng=rng,
            seed=seed,
            device=before.device,
        )
        network, went_on = train(task)
        network = _bounded(network, rows, plan, before.device)
        return network, joined(before.history, went_on)

    # Rows of numbers: what `CentralityModel` asks of a kind of model.

    def _reader(self) -> NumberReader:
        if "fitted_" not in vars(self):  # quick; the check is slow, but words the error
            check_is_fitted(self)
        return NumberReader(self, self.fitted_)

    def _scored(self, X: ModelRows, work: Callable[..., NDArray[np.float64]], *given: object) -> NDArray[np.float64]:
        there = self.fitted_.tensor_on_gpu(X) if hasattr(X, "is_cuda") and hasattr(self, "fitted_") else None
        rows = self._reader().vectors(X) if there is None else there
        return work(self.fitted_, rows, *given)  # every row has its numbers: none is left out

    def _baseline(self, baseline: ModelRows) -> NDArray[np.float64]:
        if hasattr(baseline, "columns"):
            return super()._baseline(baseline)
        row = np.atleast_2d(np.asarray(baseline, dtype=np.float64))
        if row.shape != (1, self.fitted_.width):
            raise InputError(f"baseline must be one row of {self.fitted_.width} numbers, got shape {row.shape}.")
        require_finite(row, None)
        return np.asarray(self.fitted_.relative(row))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file: no training rows, no pickle."""
        check_is_fitted(self)
        from centrality.fuse.parts import parts_of  # here: it makes models as well

        model_file.write(path, *parts_of(self))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _bounded(network: Network, rows: TrainingData, plan: Plan, device: str) -> Network:
    """Return the network with bounds of what it adds to its background, set by rows held that it has not learned."""
    if not network.background:
        return network
    some = np.linspace(0, len(rows) - 1, min(len(rows), BOUNDS_ROWS)).astype(np.intp)
    added = scorer_for(replace(network, background={}), device)(rows.z[some])[:, :, 1:]
    counts = np.ones(added.shape[:2], dtype=bool)
    for member in range(network.members):
        unseen = ~np.isin(some, rows.without(plan.left_out_by(member)))
        if unseen.any():  # none are where rows held are a sample, of which none is left out
            counts[member] = unseen
    return replace(network, background={**network.background, "bounds": bounds_of(added, counts)})
