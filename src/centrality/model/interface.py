"""Define what every model offers, whatever its rows: FUSE on rows of numbers, Chain on tables, texts, images or series.

A subclass defines how to fit and how to turn its rows into vectors; everything else is the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError, generator, whole_number
from centrality._internal.input import CentralityEstimator, CheckedRows, Dissimilarity, ModelRows, read_once
from centrality.analysis import conformal
from centrality.analysis.drift import Drift, DriftReport, compare_windows
from centrality.analysis.reasons import Reasons
from centrality.analysis.report import Report
from centrality.model.certainty import Certainty
from centrality.model.display import frames_when_asked
from centrality.model.explain import Corrections, corrections, low_heads
from centrality.model.fitted import FittedModel, map_valid_rows
from centrality.model.reader import RowReader
from centrality.model.refine import Marks, Review, refine_with_marks, review
from centrality.network.calibration import checked_t, one_t
from centrality.network.scaling import dense

if TYPE_CHECKING:
    from centrality.torch.module import Centrality

LOW = 0.05  # a head is low below this quantile of typical rows
EXPLORER = "centrality.apps.explorer.widget"  # the module of the notebook widget and the page

Matrix = NDArray[np.float64]
Model = TypeVar("Model", bound="CentralityModel")


@frames_when_asked
class CentralityModel(Certainty, TransformerMixin, CentralityEstimator, ABC):
    """Scores rows of some kind: a reader turns them into vectors, and the fitted value scores these in one pass."""

    # Of vectors that a representation makes: the names of the features, and which of them each number belongs to.
    _feature_map: tuple[Sequence[str], NDArray[np.intp]] | None = None
    _is_measurement: NDArray[np.bool_] | None = None  # which numbers of such vectors are measurements
    __metadata_request__fit = {"dissimilarity": UNUSED}  # noqa: RUF012  (scikit-learn would cut a square matrix by rows)

    # These methods differ between kinds of models.

    @classmethod
    @abstractmethod
    def as_in_paper(cls, experiment: str, **changes: Any) -> "CentralityModel":
        """Return a model with the settings of one of the paper's experiments."""

    @abstractmethod
    def fit(self, X: ModelRows, y: object = None, *, dissimilarity: Dissimilarity = None) -> Self:
        """Learn which rows are typical from the rows of X."""

    @abstractmethod
    def partial_fit(self, X: ModelRows, y: object = None) -> Self:
        """Go on learning from new rows."""

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file."""

    @abstractmethod
    def _reader(self) -> RowReader:
        """Return the reader that turns rows into vectors; raise if the model is not fitted."""

    def _learn(self, fitted: FittedModel) -> None:
        """Replace the fitted value by this one."""
        self.fitted_ = fitted

    # Scores.

    def heads(self, X: ModelRows) -> Matrix:
        """Return global and local centrality, (n, 2), each in [0, 1]; `model.fitted_.mixing(heads, t)` mixes them."""
        return self._map_scored_rows(X, lambda rows: self.fitted_.heads(rows))

    def raw(self, X: ModelRows) -> Matrix:
        """Return both heads before calibration, (n, 2).

        With one network and one noise scale, as in `as_in_paper`, these are the paper's logit g and potential l.
        Otherwise each head's raw score is the lowest that any of the networks gives, after each network has been
        calibrated by itself: good for ranking, but no log-density.
        """
        return self._map_rows(X, lambda rows: self.fitted_.raw(rows))

    def centrality(self, X: ModelRows, t: float | Sequence[float] | None = None) -> Matrix:
        """Say how central each row is, in [0, 1], at `t` or else the model's own t: (n,), or (n, len(t)) for a list."""
        at = self.t if t is None else t
        checked_t(at)  # before the work, not after it
        return self._map_scored_rows(X, lambda rows: self.fitted_.centrality(rows, at))

    def score_samples(self, X: ModelRows) -> Matrix:
        """Return the centrality at the model's own t, not squeezed into [0, 1]: larger means more normal.

        It ranks rows as `centrality` does, and distinguishes far outliers to which `centrality` gives numbers near 0.
        """
        t = one_t(self.t)
        return self._map_scored_rows(X, lambda rows: self.fitted_.scores(rows, t))

    def transform(self, X: ModelRows) -> Matrix:
        """Return the heads as two columns, "global" and "local"."""
        return self.heads(X)

    def fit_transform(self, X: ModelRows, y: object = None) -> Matrix:
        """Fit, and return the heads; `y` is not used: in a pipeline it holds the labels for later steps."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` gives."""
        return np.array(["global", "local"], dtype=object)

    # Outliers at a stated error rate.

    def calibrate(
        self,
        X: ModelRows | None = None,
        *,
        contamination: float | str = 0.0,
        weights: Sequence[float] | Matrix | None = None,
        like: ModelRows | None = None,
        random_state: int | None = 0,
    ) -> Self:
        """Let `p_values` and `detect` compare with these rows: inliers that the model was not trained on.

        They replace the calibration rows that `fit` left out of training; without X, those stay. Of more than 20,000
        rows, 20,000 evenly spaced ones are used.
        Outliers among the calibration rows make p-values too large, so that fewer outliers are found. If you say that
        at most a share `contamination` of them are outliers, that share of them, the least central, is left out: for a
        new inlier, P(p <= a) is then at most a + `contamination`. With "auto", as right after `fit`, a group that lies
        apart from the other calibration rows is left out, if there is one.

        Where the world has shifted, so that some kinds of rows are more frequent now, `weights` say how much more, one
        for each row of X; or they are estimated from rows that are `like` those to come. Rows are drawn with chances in
        proportion, so that all promises hold for the rows that come now, as far as the weights are right.
        """
        vectors = None if X is None else self._reader().vectors(X)
        check_is_fitted(self)
        is_shifted = weights is not None or like is not None  # then many may be odd for the training rows
        if is_shifted:
            rng = generator(random_state)
            if vectors is None:
                raise InputError("weights and like are about calibration rows: give X, the rows to calibrate on.")
            if weights is not None and like is not None:
                raise InputError("One of weights and like was wanted, got both.")
            vectors = dense(vectors)
            if like is None:
                chances = conformal.checked_weights(weights, len(vectors))
            else:
                new = dense(self._reader().vectors(like))
                vectors = vectors[~np.isnan(vectors).any(1)]
                chances = conformal.estimate_weights(vectors, new[~np.isnan(new).any(1)], rng)
            vectors = vectors[conformal.draw_rows(chances, rng)]
        scores = None if vectors is None else map_valid_rows(vectors, self.fitted_.units)
        self.fitted_.remembered.warn_of_known(vectors)
        self._learn(self.fitted_.calibrated(scores, contamination))
        if scores is not None and not contamination and not is_shifted:
            self.fitted_.training_scores.warn_of_odd(self.fitted_.mixing.squeeze(scores))
        return self

    def p_values(
        self, X: ModelRows, t: float | Sequence[float] | None = None, *, random_state: int | None = None
    ) -> Matrix:
        """Say how surprising each row would be among the calibration rows: (n,), or (n, len(t)) for a list of t.

        A p-value is the chance that an ordinary row scores as low as this one: P(p <= a) <= a for every a.
        That is exact with `holdout` or after `calibrate`, whose rows no network has seen, and holds approximately right
        after `fit`, where each calibration row is scored by a network that was trained without it. With m calibration
        rows the smallest p-value is 1 / (m + 1).
        Rows of equal score count against the row. With a seed in `random_state` such ties are broken at random instead,
        and p-values are exactly uniform.
        """
        rng = None if random_state is None else generator(random_state)
        return self._against_calibration_rows(
            X, t, lambda rows, at, scores: rows.p_values(self.fitted_.mixing, at, scores, rng)
        )

    def threshold(
        self,
        X: ModelRows,
        *,
        fdr: float | None = None,
        false_positives: float | None = None,
        contamination: float | None = None,
        t: float | None = None,
    ) -> float:
        """Return the centrality at t below which rows of X are to be called outliers, by one of three rules.

        fdr : on average, at most this share of the rows called outliers are inliers (Benjamini and Hochberg).
        false_positives : at most so many inliers are called outliers, on average.
        contamination : this share of X is called outliers. It alone needs no calibration, and promises nothing.
        """
        rule = conformal.Rule.chosen(fdr=fdr, false_positives=false_positives, contamination=contamination)
        score = self.fitted_.threshold(self._units(X), rule, one_t(self.t if t is None else t))
        return float(self.fitted_.mixing.squeeze(np.array(score))) if np.isfinite(score) else score

    def detect(
        self,
        X: ModelRows,
        *,
        fdr: float | None = None,
        false_positives: float | None = None,
        contamination: float | None = None,
        t: float | None = None,
    ) -> NDArray[np.bool_]:
        """Say which rows are outliers: those less central than the `threshold` of a rule; without a rule, fdr=0.05."""
        rule = conformal.Rule.chosen_or_usual(fdr=fdr, false_positives=false_positives, contamination=contamination)
        scores = self._units(X)
        t = one_t(self.t if t is None else t)
        return np.asarray(self.fitted_.mixing.mixed(scores, t) < self.fitted_.threshold(scores, rule, t))

    # Marks that people put on rows.

    def learn_marks(self, X: ModelRows, marks: Marks) -> Self:
        """Return a model whose ranking has learned from rows that people marked; this one stays as it is.

        X : the rows that were marked and others, best all rows of `fit` in their order: error rates hold only then.
        marks : "outlier", "fine" or None for each row of X; "later" means None.

        Each column adds a correction to the scores. `predict` calls a row an outlier that is more likely one than not;
        `detect` and `p_values` leave rows marked as outliers out of the calibration rows. Without marks nothing
        changes.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = FUSE(random_state=0, max_steps=100).fit(X)
        >>> marks = [None] * 300
        >>> for row in model.review(X, marks).order[:20]:
        ...     marks[row] = "outlier" if X[row, 0] > 0 else "fine"  # say, only large values are wrong
        >>> wiser = model.learn_marks(X, marks)
        >>> asked = [[-2.5, 0.0], [2.5, 0.0]]
        >>> left, right = wiser.score_samples(asked) - model.score_samples(asked)
        >>> bool(left > right)
        True
        """
        vectors = self._reader().vectors(X)
        return with_fitted(self, refine_with_marks(self.fitted_, vectors, marks, one_t(self.t)))

    def review(self, X: ModelRows, marks: Marks) -> Review:
        """Say which rows of X to look at next, given the marks so far, and how many outliers are likely left.

        Call it on the model before it learned marks, with all marks. Print the result, or take its `order`, `chance`
        and `left`.
        """
        vectors = self._reader().vectors(X)
        return review(self.fitted_, vectors, marks, one_t(self.t))

    def _units(self, X: ModelRows) -> Matrix:
        return self._map_scored_rows(X, lambda rows: self.fitted_.units(rows))

    # Rows that come later.

    def drift(self, X: ModelRows) -> Drift:
        """Test whether these rows are like the training rows: by their scores, column by column, and pair by pair.

        The `p_value` is one for all of it; `changes()` names what changed, and in which direction.
        """
        return self.drift_report(X).whole

    def drift_report(self, X: ModelRows, *, window: int | None = None) -> DriftReport:
        """Compare all rows of X with the training rows, and every `window` rows of them: print it, or draw it."""
        check_is_fitted(self)
        window = None if window is None else whole_number("window", window)
        reader = self._reader()
        rows = reader.vectors(X)
        heads = map_valid_rows(rows, self.fitted_.heads)
        return compare_windows(
            self.fitted_.training_scores,
            heads,
            window,
            rows=rows,
            names=reader.names_of_vectors(),
            constants=reader.constants(X),
            threshold=reader.about_threshold(heads, one_t(self.t)),
        )

    # Why.

    def explain(self, X: ModelRows, t: float | None = None, *, baseline: ModelRows | None = None) -> Matrix:
        """Say what each feature contributes to a row's centrality, compared with a typical point: (n, features).

        Negative: the feature makes the row less typical. The contributions of a row sum to f(row, t) - f(point, t),
        within 0.001. The point is the deepest one of the typical region nearest to the row, so `center_` if there is
        only one region; or the row `baseline`, if you give one. Of a `Table` the features are its columns, of a
        `Series` its features; texts and images have the numbers of their vectors.
        """
        reader = self._reader()
        at = one_t(self.t if t is None else t)
        point = None if baseline is None else self._baseline(baseline)
        owner = reader.owner()
        vectors = reader.vectors(X)
        return reader.by_feature(map_valid_rows(vectors, lambda rows: self.fitted_.explain(rows, at, point, owner)))

    def reasons(
        self, X: ModelRows, t: float | None = None, *, top: int = 3, names: Sequence[str] | None = None
    ) -> Reasons:
        """Name the features that lower each row's centrality the most: print the result, or show it in a notebook.

        `names` are the names of the features, if the rows that the model was fitted on had none.
        """
        reader = self._reader()
        at = one_t(self.t if t is None else t)
        reader.features_with_names()  # raises before the work if there are none
        owner = reader.owner()
        X = read_once(X)
        vectors = reader.vectors(X)
        contributions = map_valid_rows(vectors, lambda rows: self.fitted_.explain(rows, at, owner=owner))
        scores = map_valid_rows(vectors, lambda rows: self.fitted_.centrality(rows, at))
        values = reader.values(X, vectors)
        return reader.reasons(at, scores, contributions, values, vectors, top=top, names=names)

    def kind(self, X: ModelRows, *, low: float = LOW) -> NDArray[np.str_]:
        """Say which head finds each row odd: "global", "local", "both", or "typical" if neither does.

        A head finds a row odd if it is below its `low` quantile on typical rows: those of `calibrate` or `holdout`, if
        there are any, else the training rows.
        """
        return low_heads(self.heads(X), self.fitted_.bounds(low))

    def toward_center(self, X: ModelRows, steps: int = 20, t: float | None = None) -> Matrix:
        """Return a path from each row toward the centre, on which centrality never falls: (n, steps + 1, p).

        The first point is the row itself; the first step says what to change. A row that no small change makes more
        more central stays where it is. The path of a `Chain` consists of vectors.
        """
        check_is_fitted(self)
        steps = whole_number("steps", steps)
        at = one_t(self.t if t is None else t)
        paths = self._map_rows(X, lambda rows: self.fitted_.toward_center(rows, steps, at))
        return self.fitted_.absolute(paths.reshape(-1, paths.shape[2])).reshape(paths.shape)

    def smallest_correction(self, X: ModelRows, t: float | None = None) -> Corrections:
        """Find the fewest features of each odd row that must change toward typical values, so that it is odd no more.

        A row is odd if `predict` says so: its score at t lies below the offset. One feature is tried, then two, and
        so on; numbers move only as far as they must. Print the result, or take it row by row.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = FUSE(random_state=0, max_steps=200).fit(X)
        >>> model.smallest_correction([[0.1, 9.0, -0.2]])[0].columns
        ('x1',)
        """
        return corrections(self._reader(), X, one_t(self.t if t is None else t))

    # Reports on the fit, and exports.

    def report(self) -> Report:
        """Say whether the fit went well: what was learned, whether scores tell rows apart, which columns matter.

        Print the result, or show it in a notebook; its `warnings` say what to do.
        """
        check_is_fitted(self)
        assert self.fitted_.report is not None  # a finished fit has one
        return self.fitted_.report

    def explore(self, X: ModelRows, items: Sequence[object] | None = None, **options: Any) -> Any:
        """Return the explorer for these rows: a notebook widget, whose `export` writes a page."""
        return explorer().explore(self, X, items=items, **options)

    def to_onnx(self, path: str | PathLike[str], *, rows: str = "float64") -> None:
        """Write the network and its calibration as an ONNX file, with which other languages can score rows.

        The file takes `rows` in "float64" or "float32"; that of a Chain takes `representation_.transform(X)`. A model
        with an encoder of your own cannot be written: see `to_torch`.
        """
        from centrality.onnx.export import write  # here: only an export needs it

        check_is_fitted(self)
        write(self.fitted_, path, t=self.t, rows=rows)

    def to_torch(self) -> "Centrality":
        """Return the model as a torch module: `units(x)`, `heads(x)` and f = `module(x, t)`, differentiable by x.

        Of a Chain, the module scores `representation_.transform(X)`, not X itself.

        >>> import numpy as np, pytest
        >>> from centrality import FUSE
        >>> torch = pytest.importorskip("torch")
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> module = FUSE(random_state=0, max_steps=50).fit(X).to_torch()
        >>> q = torch.tensor([[3.0, 0.0]], requires_grad=True)
        >>> module(q, t=0.5).sum().backward()
        >>> bool(q.grad[0, 0] < 0)  # farther out is less typical
        True
        """
        check_is_fitted(self)
        return self.fitted_.to_torch(float(checked_t(self.t)), context=self.fitted_.context)

    def _map_rows(self, X: ModelRows, work: Callable[[CheckedRows], Matrix]) -> Matrix:
        """Apply `work` to the vectors of X; the result is NaN for rows without a vector."""
        return map_valid_rows(self._reader().vectors(X), work)

    def _map_scored_rows(self, X: ModelRows, work: Callable[[CheckedRows], Matrix]) -> Matrix:
        """Do as `_map_rows`, for `work` that a GPU can do: FUSE overrides this to leave tensors on their GPU."""
        return self._map_rows(X, work)

    def _baseline(self, baseline: ModelRows) -> Matrix:  # (1, p)
        """Return the vector of the one row that others are compared with."""
        row = self._reader().vectors(baseline)
        if row.shape[0] != 1:
            raise InputError(f"baseline must be one row, got {row.shape[0]}.")
        return np.asarray(dense(row), dtype=np.float64)


def with_fitted(model: Model, fitted: FittedModel) -> Model:
    """Return a copy of the model with this fitted value."""
    other = copy(model)
    other._learn(fitted)  # noqa: SLF001  (the copy is ours)
    return other


def explorer() -> ModuleType:
    """Return the module of the explorer, imported by its name when a user asks for it.

    This is the one place where the package looks upward: rooms import downward only, and applications lie above all
    others. Nothing of them is loaded before `model.explore` is called.
    """
    return import_module(EXPLORER)
