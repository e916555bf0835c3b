"""Define FUSE, the estimator people import."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from centrality._internal import model_file
from centrality._internal.checks import InputError, warn_caller
from centrality._internal.devices import start_on_thread
from centrality._internal.input import (
    CheckedRows,
    Dissimilarity,
    ModelRows,
    RandomState,
    random_numbers,
    require_finite,
    rows_to_fit,
    rows_to_score,
    unchanged_on_failure,
    warn_of_labels,
)
from centrality.analysis.drift_columns import TrainingColumns
from centrality.fuse.background import limit_departures
from centrality.fuse.comparisons import Comparison, compare
from centrality.fuse.config import EXPERT_DEFAULTS, FitConfig
from centrality.fuse.data import TrainingData
from centrality.fuse.finish import FitRows, finish_fit
from centrality.fuse.initialize import choose_noise_scales, initialize
from centrality.fuse.train import continued, train
from centrality.model.fitted import FittedModel, History
from centrality.model.interface import CentralityModel
from centrality.model.reader import NumberReader
from centrality.model.reservoir import Reservoir
from centrality.network.context import Context
from centrality.network.folds import Folds, Records, restrict_dissimilarity, split, split_few, split_off_holdout
from centrality.network.network import Network
from centrality.network.scaling import ColumnRange, Scaling, with_column_range

if TYPE_CHECKING:
    from torch import nn

    from centrality.fuse.paper_fuse import PaperFUSE


class FUSE(CentralityModel):
    """FUSE learns how typical each row is, from 0 (odd) to 1 (typical), without labels.

    The dial t says what is meant: at t = 0 a row is typical if it is close to everything, at t = 1 if there are many
    rows like it. One fit answers for every t, and scoring does not need the training rows.

    The outputs of two heads are mixed by t. The global head learns by comparisons: which of two rows is nearer to a
    random third one? The local head learns a smoothed log-density of the rows, by removing noise from them
    (denoising score matching). It starts from a background: a mixture of a few groups of rows with shrunk
    covariances. The name stands for Fused Unified centrality Score Estimation.

    Parameters
    ----------
    t : float, default=0.5
        The dial of `centrality` and `score_samples`: 0 is global, 1 is local.
    metric : str or callable, default="euclidean"
        "euclidean", "manhattan", "cosine", or a function of two batches of rows, (n, p) and (m, p), that gives their
        (n, m) dissimilarities. The first two compare scaled rows, the others rows as given.
    novelty : bool, default=False
        Whether all training rows are clean. If so, training takes longer, and the background is a mixture of up to 64
        Gaussians, each fitted to at least 1% of the rows. If not, it is one of up to 16 t-distributions, each fitted to
        at least 5%: far rows hardly move them.
    given : str, int, or a sequence of either, default=None
        Names or positions of the context columns. Each row is then compared with rows of a similar context, and no row
        is odd because of its context alone. In a `Chain` they are columns of the table.
    contamination : float or "auto", default="auto"
        The share of the training rows that `predict` calls outliers. With "auto", `predict` calls a tenth of new rows
        from the same source outliers, or a hundredth with `novelty`.
    holdout : float or None, default=None
        The share of the training rows to keep aside, drawn at random, and to calibrate on (see `calibrate`).
    random_state : int, numpy Generator, RandomState or None, default=None
        A seed makes fits identical with the same libraries: on a CPU to the bit, whatever the CPU.
    progress : bool, default=False
        Show a bar while fitting.

    Other Parameters
    ----------------
    ensemble : int or "auto", default="auto"
        How many networks to train side by side. For each head the lowest score of any network counts, and
        `standard_error` says how much they differ. Each of several networks learns a different half of the rows; with
        `novelty` all learn the same. "auto" is 1 with `novelty` or an encoder, or where there are 3000 rows and 30 for
        each column; elsewhere it is 4, or 6 with `given`.
    noise_scale : float, list of float or "auto", default="auto"
        The paper's η, in units of the scaled rows. With a list the local head learns one log-density (potential) per
        scale; the potentials are rescaled and averaged. "auto" is the spacing of the rows: the median distance to the
        10th neighbour over √p. With `given` it is five scales.
    scaling : str, default="auto"
        "auto" centres columns on their medians, divides each by a robust deviation, which the most extreme tenth of
        the values cannot inflate, and bends them like a logarithm beyond ten deviations. Columns whose deviations are
        within a factor of five are all divided by the same one, so that distances keep their meaning. "standard"
        standardises, "none" takes rows as they are. A constant column carries no weight, except with "none".
    hidden : sequence of int, default=(128, 128)
        The widths of the encoder's GELU layers; a linear projection as wide as the last one follows.
    encoder : torch.nn.Module or None, default=None
        A module from (n, p) to (n, q), in place of our own encoder. It is copied, not changed.
    max_steps : int or None, default=None
        The number of training steps. None means 500 for one network, 200 for each of several, and 1000 with `novelty`;
        it does not grow with the rows.
    device : str, default="auto"
        "auto" and "cpu" compute on the CPU; "cuda", "cuda:1" and "mps" on a GPU, by torch.

    Attributes
    ----------
    history_ : dict of lists "step", "global" and "local": the losses of the first step, then means over
        at most 50 stretches of equal length.
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
        from centrality.fuse.paper_fuse import PaperFUSE, paper_settings  # paper_fuse imports this module

        return PaperFUSE(**(paper_settings(experiment) | changes))

    def fit(self, X: ModelRows, y: object = None, *, dissimilarity: Dissimilarity = None) -> Self:
        """Learn what is typical of the rows of X; `y` is ignored.

        `dissimilarity` compares rows by something other than their vectors: a square matrix, or a function of
        two row numbers (or of two arrays of them).
        """
        warn_of_labels(y)
        with unchanged_on_failure(self):
            self._fit(X, dissimilarity)
        return self

    def _fit(self, X: ModelRows, dissimilarity: Dissimilarity, as_new: CheckedRows | None = None) -> Self:
        """Fit in six steps; `as_new` are the same rows, encoded as new rows would be.

        The order of the random draws is a part of the result. They are: rows of the holdout, folds, rows in memory,
        synthetic rows, the sample that sets the noise scale, the background, batches, calibration rows, the reservoir.
        Weights are drawn from seed + 1, noise from seed + 2.
        """
        column_range = ColumnRange()
        why = "an anchor and a pair to compare"
        X = rows_to_fit(self, X, at_least=3, why=why, all_finite=column_range.all_finite)
        as_new = X if as_new is None else as_new
        seed = int(random_numbers(self.random_state).randint(2**31))
        rng = np.random.default_rng(seed)

        # 1. Set rows aside: for calibration (holdout), and for each network those it never learns from (folds).
        learned, aside = split_off_holdout(self.holdout, X, rng)
        holdout = None if aside is None else as_new[aside]
        if learned is not None:
            dissimilarity = restrict_dissimilarity(dissimilarity, learned, X.shape[0])
            is_encoded = as_new is not X
            X = X[learned]
            as_new = as_new[learned] if is_encoded else X
        config = self._config(X, dissimilarity, seed)  # checks every parameter
        folds = None
        if config.holds_out:
            folds = split(
                X.shape[0],
                config.layout.members,
                rng,
                members_differ=config.members_differ,
                has_context=config.context_columns is not None,
                records=Records.of(X),
            )

        # 2. Given context columns, replace each other column by its deviation from what the context predicts.
        context = None
        training_rows = X
        if config.context_columns is not None and config.context_features is not None:
            context, residuals = Context.fit(
                X,
                Scaling.fit(X, config.scaling, self._is_measurement),
                config.context_columns,
                config.context_features,
                seed,
                keep_column_weights=(
                    config.scaling == "none" or (config.scaling == "auto" and self._is_measurement is not None)
                ),
            )
            training_rows = context.mix_in_known_rows(X, residuals, seed)
            X = residuals
            as_new = residuals
            holdout = None if holdout is None else context.relative(holdout)
        column_summary = start_on_thread(partial(TrainingColumns.of, as_new))

        # 3. Scale the columns; hold the scaled rows in memory, followed by synthetic rows beyond their range.
        if context is not None:
            scaling = Scaling.fit(training_rows, "none")  # behaviours are scaled already
        else:
            scaling = Scaling.fit(X, config.scaling, self._is_measurement)
            if config.scaling == "auto":
                range_rows = X if folds is None else folds.rows_for_range(X)
                scaling = with_column_range(scaling, range_rows, column_range, self._is_measurement)
        data = TrainingData(
            training_rows,
            scaling,
            rng,
            max_values=config.max_values,
            max_rows=config.max_rows,
            folds=folds,
            synthetic=config.synthetic_rows,
            context=config.context_columns,
        )
        comparison = compare(data, config.metric, dissimilarity)

        # 4. Train the ensemble: the global head on comparisons, the local head on removing noise.
        config = config.with_noise_scales(choose_noise_scales(config.noise_scale, data, rng))
        network = initialize(data, config, rng)
        network, history = self._train(network, data, comparison, config, rng)

        # 5. Limit how far a network may depart from the background, by its departures on held-out rows.
        network = limit_departures(network, data, config.device)

        # 6. Calibrate on held-out rows: head scores, threshold, p-values, typical points, report.
        fitted = finish_fit(
            network,
            history,
            scaling,
            context,
            rows=FitRows(X=X, as_new=as_new, folds=folds, holdout=holdout),
            column_summary=column_summary,
            config=config,
            rng=rng,
            untrained_local_loss=self._untrained_local_loss(config),
        )
        reservoir = Reservoir.of(X, None if folds is None else folds.fold_of_row, rng)
        self.fitted_ = replace(fitted, remembered=reservoir)
        return self

    def _parameters(self) -> dict[str, Any]:
        """Return all parameters, also those that only `PaperFUSE` lets users change."""
        return {**EXPERT_DEFAULTS, **self.get_params(deep=False)}

    # PaperFUSE overrides these.

    def _config(
        self, X: CheckedRows, dissimilarity: Dissimilarity, seed: int, before: FittedModel | None = None
    ) -> FitConfig:
        """Check all parameters, and resolve every "auto" for these rows; `before` is the model that learns more."""
        parameters = self._parameters()
        if before is not None:
            parameters["device"] = before.device
        return FitConfig.for_rows(
            parameters,
            X,
            dissimilarity,
            seed=seed,
            names=vars(self).get("feature_names_in_"),
            feature_map=self._feature_map,
            members=None if before is None else before.network.members,
        )

    def _train(
        self,
        network: Network,
        data: TrainingData,
        comparison: Comparison,
        config: FitConfig,
        rng: np.random.Generator,
    ) -> tuple[Network, History]:
        """Train a copy of the network; return it, and the history of its losses."""
        return train(network, data, comparison, config, rng)

    def _untrained_local_loss(self, config: FitConfig) -> float:
        """Return the loss of a local head that has learned nothing: its output is constant, and has no slope."""
        return 0.5

    def partial_fit(self, X: ModelRows, y: object = None) -> Self:
        """Go on learning from new rows; the larger their share of all rows so far, the more steps. `y` is ignored.

        Scaling and noise scales stay as the first rows set them, but the range of a column widens where new values lie
        beyond it. A small uniform sample stands for earlier rows (it is not saved: a loaded model learns from the new
        rows alone, and forgets more). The rows of `calibrate` are dropped: the old weights scored them.
        """
        if not hasattr(self, "fitted_"):
            return self.fit(X)
        before = self.fitted_
        if before.refinement is not None:
            raise InputError(
                "This model has learned marks, which partial_fit would forget: "
                "go on learning with the model as it was fitted, and then learn the marks again."
            )
        X = self._reader().vectors(X)
        n = X.shape[0]
        seed = int(random_numbers(self.random_state).randint(2**31)) + before.remembered.seen
        rng = np.random.default_rng(seed)
        config = self._config(X, None, seed, before)

        # 1. Deal out the new rows to folds, and sample from new and remembered rows alike.
        folds = None
        if config.holds_out:
            members = before.network.members
            differ = before.members_differ
            has_context = before.context is not None
            folds = split(n, members, rng, members_differ=differ, has_context=has_context, records=Records.of(X))
            folds = folds or split_few(n, members, rng, members_differ=differ, has_context=has_context)
            folds = replace(folds, fold_of_row=before.remembered.folds_like_copies(X, folds.fold_of_row))
        reservoir = before.remembered.with_new(X, None if folds is None else folds.fold_of_row, rng)
        rows = reservoir.rows
        assert rows is not None  # it remembers some of X at least
        if rows.shape[0] < 3:
            raise InputError(f"partial_fit needs at least 3 rows to compare, got {n}.")
        folds = None if folds is None or reservoir.folds is None else Folds(reservoir.folds, folds.left_out)
        if folds is not None and not folds.can_train:
            folds = None  # all networks learn from all rows
            reservoir = replace(reservoir, folds=None)

        # 2. Train for a few small steps.
        config = config.for_update(before, n / reservoir.seen)
        scaling = before.scaling if before.scaling.seen is None else with_column_range(before.scaling, X)
        rng_of_batches = np.random.default_rng(seed + 1)
        data = TrainingData(
            rows,
            scaling,
            rng_of_batches,
            max_values=config.max_values,
            folds=folds,
            synthetic=config.synthetic_rows,
            context=config.context_columns,
        )
        comparison = compare(data, config.metric, None)
        network, history = train(before.network, data, comparison, config, rng_of_batches)
        network = limit_departures(network, data, config.device)

        # 3. Calibrate anew.
        fitted = finish_fit(
            network,
            continued(before.history, history),
            scaling,
            before.context,
            rows=FitRows(X=rows, as_new=rows, folds=folds if folds is not None and folds.can_calibrate else None),
            column_summary=partial(TrainingColumns.of, rows),
            config=config,
            rng=rng,
            untrained_local_loss=self._untrained_local_loss(config),
        )
        self.fitted_ = replace(fitted, remembered=reservoir)
        if before.inliers is not None and self.fitted_.inliers is None:
            warn_caller(
                "No row was left out of this training: p-values and detect need calibrate(C) with fresh rows now."
            )
        return self

    # Methods that `CentralityModel` requires.

    def _reader(self) -> NumberReader:
        if "fitted_" not in vars(self):  # quick; the check is slow, but raises the right error
            check_is_fitted(self)
        return NumberReader(self, self.fitted_)

    def _map_scored_rows(self, X: ModelRows, work: Callable[[CheckedRows], NDArray[np.float64]]) -> NDArray[np.float64]:
        fitted = vars(self).get("fitted_")
        rows: Any = None
        if fitted is None or fitted.context is not None:
            rows = self._reader().vectors(X)  # raises if there is no model yet
        elif hasattr(X, "is_cuda"):
            rows = fitted.tensor_on_gpu(X)
        if rows is None:
            rows = rows_to_score(self, X)
        return work(rows)  # every row is a vector already: none is left out

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
        from centrality.fuse.parts import parts_of  # parts imports this module

        model_file.write(path, *parts_of(self))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
