"""Define what every model offers, whatever its rows: FUSE on rows of numbers, Chain on tables, texts, images or series.

A subclass defines how to fit and how to turn its rows into vectors; everything else is the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError, fraction, generator, whole_number
from centrality._internal.input import CentralityEstimator, Dissimilarity, ModelRows, read_once
from centrality.analysis import conformal
from centrality.analysis.certificate import Certificate, most_ordinary
from centrality.analysis.drift import Drift, DriftReport, compare_windows
from centrality.analysis.monitor import Monitor
from centrality.analysis.reasons import Reasons
from centrality.analysis.report import Report
from centrality.analysis.severity import severity
from centrality.model.display import FittedAttributes, frames_when_asked
from centrality.model.explain import Corrections, corrections, low_heads
from centrality.model.fitted import FittedModel, map_valid_rows
from centrality.model.reader import RowReader
from centrality.model.refine import Marks, Review, refine_with_marks, review
from centrality.network.calibration import checked_t, one_t
from centrality.network.scaling import dense

if TYPE_CHECKING:
    from centrality.torch.module import Centrality

MOST_WATCHED = 50  # columns that a monitor watches by themselves: with more, only scores
LOW = 0.05  # a head is low below this quantile of typical rows

Matrix = NDArray[np.float64]
Model = TypeVar("Model", bound="CentralityModel")


@frames_when_asked
class CentralityModel(FittedAttributes, TransformerMixin, CentralityEstimator, ABC):
    """Score rows of some kind: a reader turns them into vectors, and the fitted value scores these in one pass."""

    _origins: tuple[Sequence[str], NDArray[np.intp]] | None = None  # what a vector's numbers stand for, if not columns
    _measurements: NDArray[np.bool_] | None = None  # of vectors that a representation has scaled
    __metadata_request__fit = {"dissimilarity": UNUSED}  # noqa: RUF012  (scikit-learn would cut a square matrix by rows)

    # What a kind of model defines.

    @classmethod
    @abstractmethod
    def as_in_paper(cls, experiment: str, **changes: Any) -> "CentralityModel":
        """Return a model with the settings of one of the paper's experiments."""

    @abstractmethod
    def fit(self, X: ModelRows, y: object = None, *, dissimilarity: Dissimilarity = None) -> Self:
        """Learn what is typical of the rows of X."""

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
        return self._scored(X, FittedModel.heads)

    def raw(self, X: ModelRows) -> Matrix:
        """Return both heads before calibration, (n, 2).

        With one network and one noise scale, as in `as_in_paper`, these are the paper's logit g and potential l.
        Otherwise they are, of each head, the lowest of the networks' scores, each in its own units: good for ranking,
        but no log-density.
        """
        return self._of(X, FittedModel.raw)

    def centrality(self, X: ModelRows, t: float | Sequence[float] | None = None) -> Matrix:
        """Say how central each row is, in [0, 1], at the model's own t or at this: (n,), or (n, len(t)) for a list."""
        t = self._own_or(t)
        checked_t(t)  # before the work, not after it
        return self._scored(X, FittedModel.centrality, t)

    def score_samples(self, X: ModelRows) -> Matrix:
        """Return the centrality at the model's own t on a scale without ends: larger means more normal.

        It ranks rows as `centrality` does, and distinguishes far outliers to which `centrality` gives numbers near 0.
        """
        return self._scored(X, FittedModel.scores, one_t(self.t))

    def standard_error(self, X: ModelRows, t: float | None = None) -> Matrix:
        """Say how much `centrality` would change with other random numbers: its standard error over the ensemble."""
        return self._of(X, FittedModel.standard_error, one_t(self._own_or(t)))

    def transform(self, X: ModelRows) -> Matrix:
        """Return the heads as two columns, "global" and "local"."""
        return self.heads(X)

    def fit_transform(self, X: ModelRows, y: object = None) -> Matrix:
        """Fit, and return the heads; in a pipeline, `y` are the labels of what follows, and none of this model's."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` gives."""
        return np.array(["global", "local"], dtype=object)

    # Outliers at a stated error rate.

    def calibrate(self, X: ModelRows | None = None, *, contamination: float | str = 0.0) -> Self:
        """Let `p_values` and `detect` compare with these rows: inliers that the model was not trained on.

        They replace those that `fit` left out; without X, these stay. Of over 20,000, evenly spaced ones are kept.
        Outliers among them make p-values too large: fewer are found. If you say that at most a share `contamination` of
        them are outliers, the least central ones are left out: for a new inlier, P(p <= a) is then at most a + that.
        With "auto", as right after `fit`, a group of them is left out that lies apart from the rest, if there is one.
        """
        vectors = None if X is None else self._reader().vectors(X)
        check_is_fitted(self)
        scores = None if vectors is None else map_valid_rows(vectors, self.fitted_.units)
        self.fitted_.remembered.warn_of_known(vectors)
        self._learn(self.fitted_.calibrated(scores, contamination))
        if scores is not None and not contamination:
            self.fitted_.training_scores.warn_of_odd(self.fitted_.mixing.squeeze(scores))
        return self

    def p_values(
        self, X: ModelRows, t: float | Sequence[float] | None = None, *, random_state: int | None = None
    ) -> Matrix:
        """Say how surprising each row would be among the calibration rows: (n,), or (n, len(t)) for a list.

        A p-value is the chance that an ordinary row scores as low as this one: P(p <= a) <= a for every a.
        That is exact with `holdout` or after `calibrate`, whose rows no network has seen, and holds approximately right
        after `fit`, where each calibration row is scored by a network that was trained without it. With m calibration
        rows the smallest p-value is 1 / (m + 1).
        Rows of equal score count against the row. With a seed in `random_state` such ties are broken at random instead,
        and p-values are exactly uniform.
        """
        rng = None if random_state is None else generator(random_state)
        return self._against_calibration_rows(
            X, t, lambda rows, at, scores: conformal.p_values(rows.scores(self.fitted_.mixing, at), scores, rng)
        )

    def severity(self, X: ModelRows, t: float | Sequence[float] | None = None) -> Matrix:
        """Say one in how many ordinary rows is as odd as each row: (n,), or (n, len(t)) for a list.

        40 means that about every fortieth ordinary row scores as low. Among the m calibration rows this is counted: it
        is 1 / p. Numbers above m + 1 are extrapolated from the scores of the lowest calibration rows, and end at
        10 (m + 1). `centrality.analysis.severity.in_words` writes a severity, and says where it is extrapolated.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> from centrality.analysis.severity import in_words
        >>> model = FUSE(random_state=0, max_steps=200).fit(np.random.default_rng(0).normal(size=(1000, 2)))
        >>> [in_words(number, calibration_rows=1000) for number in model.severity([[0.0, 0.0], [9.0, 9.0]])]
        ['1 in 1', 'less than 1 in 10,000 (extrapolated)']
        """

        def severities(rows: conformal.CalibrationRows, at: float, scores: Matrix) -> Matrix:
            return severity(rows.scores(self.fitted_.mixing, at), scores, rows.tail(self.fitted_.mixing, at))

        return self._against_calibration_rows(X, t, severities)

    def p_value_intervals(self, X: ModelRows, t: float | None = None, *, confidence: float = 0.95) -> Matrix:
        """Return between which shares of ordinary rows that score as low each p-value lies, (n, 2).

        A p-value is an estimate from m calibration rows. The interval is exact (Clopper and Pearson): it holds the true
        share with at least this confidence, for each row by itself.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> model = FUSE(random_state=0, max_steps=200).fit(np.random.default_rng(0).normal(size=(900, 2)))
        >>> model.p_values([[9.0, 9.0]]).round(4), model.p_value_intervals([[9.0, 9.0]]).round(4)
        (array([0.0011]), array([[0.    , 0.0041]]))
        """
        confidence = fraction("confidence", confidence)
        p = self.p_values(X, one_t(self._own_or(t)))
        return conformal.p_value_intervals(p, len(self.fitted_.inlier_scores(one_t(self._own_or(t)))), confidence)

    def certificate(
        self,
        rows: ModelRows,
        *,
        among: int | ModelRows | None = None,
        t: float | None = None,
        confidence: float = 0.95,
    ) -> Certificate:
        """Say how many of these rows are ordinary at most, in whatever way they were chosen: print it.

        `among` are all rows that they were chosen from, or how many; without it, as many as the model was fitted to.
        The more there were to choose from, the less is certain. It holds if calibration rows and ordinary rows are
        exchangeable: exactly after `calibrate` or with `holdout`, approximately right after `fit`.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(1000, 2)))
        >>> new = rng.normal(size=(500, 2))
        >>> new[:60] += 9
        >>> lowest = np.argsort(model.score_samples(new))[:62]
        >>> certificate = model.certificate(new[lowest], among=new)
        >>> certificate.at_least >= 50
        True
        """
        check_is_fitted(self)
        t = one_t(self._own_or(t))
        confidence = fraction("confidence", confidence)
        calibration = self.fitted_.inlier_scores(t)
        m = len(calibration)

        def ranks(X: ModelRows) -> NDArray[np.int64]:
            scores = self.fitted_.mixing.mixed(self._units(X), t)
            unscored = np.isnan(scores)  # such a row may be ordinary
            return np.where(unscored, m, np.searchsorted(calibration, scores, side="right"))

        chosen = ranks(rows)
        if among is None:
            among = max(len(chosen), self.fitted_.remembered.seen)
        if isinstance(among, int | np.integer):
            if among < len(chosen):
                raise InputError(f"among must be at least the {len(chosen):,} rows that were chosen, got {among}.")
            pool = np.concatenate([chosen, np.full(int(among) - len(chosen), m)])
        else:
            pool = ranks(among)
        return Certificate(len(chosen), most_ordinary(chosen, pool, m, confidence), len(pool), m, confidence)

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
        score = self.fitted_.threshold(self._units(X), rule, one_t(self._own_or(t)))
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
        """Say which rows are outliers: those less central than `threshold` says. Without a rule, fdr=0.05."""
        rule = conformal.Rule.chosen_or_usual(fdr=fdr, false_positives=false_positives, contamination=contamination)
        scores = self._units(X)
        t = one_t(self._own_or(t))
        return np.asarray(self.fitted_.mixing.mixed(scores, t) < self.fitted_.threshold(scores, rule, t))

    # Marks: what people said of rows.

    def learn_marks(self, X: ModelRows, marks: Marks) -> Self:
        """Return a model whose ranking has learned from rows that people marked; this one stays as it is.

        X : the rows among which marks stand, best those of `fit` in their order: error rates hold for no others.
        marks : "outlier", "fine" or None for each row of X; "later" is as None.

        Scores move by a sum over columns, `predict` calls what is more likely an outlier than not, and `detect` and
        `p_values` compare with calibration rows that nobody calls outliers. Without marks nothing changes.

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
        """Say which rows of X to look at next, by what the marks so far teach, and how many outliers are likely left.

        It takes the model as it was fitted, and all marks. Print it, or take its `order`, `chance` and `left`.
        """
        vectors = self._reader().vectors(X)
        return review(self.fitted_, vectors, marks, one_t(self.t))

    def _units(self, X: ModelRows) -> Matrix:
        return self._scored(X, FittedModel.units)

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

    def monitor(
        self,
        *,
        alpha: float = 0.05,
        every: float | None = None,
        state: str | PathLike[str] | None = None,
        t: float | None = None,
        random_state: int | None = None,
    ) -> Monitor:
        """Watch rows that come one after another: `update(rows)` gives a value with `alarm`.

        It watches the scores, among the calibration rows and the rows so far, and up to 50 columns, among the rows so
        far.

        While rows are exchangeable, an alarm is ever given with probability `alpha` at most, however long and however
        often one looks. With `every` the monitor starts again after each alarm instead: the chance of a false one within
        T rows is at most T / `every`. `state` is a file that `save` wrote, from which to go on.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(500, 2)))
        >>> monitor = model.monitor(random_state=0)
        >>> monitor.update(rng.normal(size=(300, 2))).alarm
        False
        >>> monitor.update(rng.normal(size=(300, 2)) + 1).alarm
        True
        """
        check_is_fitted(self)
        reader = self._reader()
        t = one_t(self._own_or(t))
        mixing = self.fitted_.mixing
        columns = self.fitted_.training_scores.columns
        watched = columns is not None and columns.values.shape[1] <= MOST_WATCHED

        def with_mixture(units: Matrix) -> Matrix:
            return np.column_stack([mixing.centrality(units, t), mixing.squeeze(units)])

        def read(rows: Any) -> tuple[Matrix, Matrix]:
            vectors = reader.vectors(rows)
            values = np.asarray(dense(vectors), dtype=np.float64) if watched else np.empty((vectors.shape[0], 0))
            return with_mixture(map_valid_rows(vectors, self.fitted_.units)), values

        inliers = self.fitted_.inliers
        monitor = Monitor(
            read,
            np.empty((0, 3)) if inliers is None else with_mixture(inliers.units),
            [np.unique(edges) for edges in columns.values.T] if columns is not None and watched else [],
            reader.names_of_vectors().of_columns if watched else [],
            alpha=alpha,
            every=every,
            random_state=random_state,
        )
        if state is not None:
            monitor.load(state)
        return monitor

    # Why.

    def explain(self, X: ModelRows, t: float | None = None, *, baseline: ModelRows | None = None) -> Matrix:
        """Say what each feature contributes to a row's centrality, compared with a typical point: (n, features).

        Negative: the feature makes the row less typical. The contributions of a row sum to f(row, t) - f(point, t),
        within 0.001. The point is the deepest one of the typical region next to the row, which is `center_` where
        there is one region only; or the row that `baseline` gives, such as `center_`. The numbers that stand for one
        column of a `Table` are taken together; a `Series` has its features, texts and images have the numbers of
        their vectors.
        """
        check_is_fitted(self)
        t = one_t(self._own_or(t))
        start = None if baseline is None else self._baseline(baseline)
        reader = self._reader()
        return reader.by_feature(self._of(X, FittedModel.explain, t, start, reader.owner()))

    def reasons(
        self, X: ModelRows, t: float | None = None, *, top: int = 3, names: Sequence[str] | None = None
    ) -> Reasons:
        """Name the features that lower each row's centrality the most: print it, or show it in a notebook.

        `names` are those of the features, where X does not bring them.
        """
        reader = self._reader()
        t = one_t(self._own_or(t))
        reader.features_with_names()  # before the work, not after it
        X = read_once(X)
        vectors = reader.vectors(X)
        contributions = map_valid_rows(vectors, lambda rows: self.fitted_.explain(rows, t, owner=reader.owner()))
        scores = map_valid_rows(vectors, lambda rows: self.fitted_.centrality(rows, t))
        values = reader.values(X, vectors)
        return reader.reasons(t, scores, contributions, values, vectors, top=top, names=names)

    def kind(self, X: ModelRows, *, low: float = LOW) -> NDArray[np.str_]:
        """Say which head finds each row odd: "global", "local", "both", or "typical" if neither does.

        A head finds a row odd if it is below its `low` quantile on typical rows: those of `calibrate` or `holdout`, if
        there are any, else the training rows.
        """
        return low_heads(self.heads(X), self.fitted_.bounds(low))

    def toward_center(self, X: ModelRows, steps: int = 20, t: float | None = None) -> Matrix:
        """Return a path from each row towards typical ones, on which centrality never falls: (n, steps + 1, p).

        The first point is the row itself; the first step says what to change. A row that no small change makes more
        central stays where it is. The path of a `Chain` is one of vectors.
        """
        check_is_fitted(self)
        steps = whole_number("steps", steps)
        paths = self._of(X, FittedModel.toward_center, steps, one_t(self._own_or(t)))
        return self.fitted_.absolute(paths.reshape(-1, paths.shape[2])).reshape(paths.shape)

    def smallest_correction(self, X: ModelRows, t: float | None = None) -> Corrections:
        """Say which fewest features of each odd row, changed toward the nearest typical point, make it odd no longer.

        A row is odd where `predict` says so: its score at t lies below the offset. One feature is tried, then two, and
        so on; numbers move only as far as they must. Print the result, or take it row by row.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = FUSE(random_state=0, max_steps=200).fit(X)
        >>> model.smallest_correction([[0.1, 9.0, -0.2]])[0].columns
        ('x1',)
        """
        return corrections(self._reader(), X, one_t(self._own_or(t)))

    # Reports on the fit, and exports.

    def report(self) -> Report:
        """Say whether the fit went well: what was learned, whether scores tell rows apart, which columns matter.

        Print it, or show it in a notebook; its `warnings` say what to do.
        """
        check_is_fitted(self)
        assert self.fitted_.report is not None  # every fit makes one
        return self.fitted_.report

    def explore(self, X: ModelRows, items: Sequence[object] | None = None, **options: Any) -> Any:
        """Return the explorer for these rows: a notebook widget, whose `export` writes a page."""
        from centrality.apps.explorer.widget import explore  # here: few who have a model open it, and it lies above

        return explore(self, X, items=items, **options)

    def to_onnx(self, path: str | PathLike[str], *, rows: str = "float64") -> None:
        """Write the network and its calibration as an ONNX file, which other languages can score.

        It takes `rows` in "float64" or "float32". Of a Chain it takes `representation_.transform(X)`. A model with an
        encoder of your own cannot be written so: see `to_torch`.
        """
        from centrality.onnx.export import write  # here: only an export needs it

        check_is_fitted(self)
        write(self.fitted_, path, t=self.t, rows=rows)

    def to_torch(self) -> "Centrality":
        """Return the model as a torch module: `units(x)`, `heads(x)` and f = `module(x, t)`, differentiable by rows.

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

    def _of(self, X: ModelRows, method: Callable[..., Matrix], *arguments: object) -> Matrix:
        """Return what a method of the fitted value says of the rows of X; NaN for rows without a vector."""
        vectors = self._reader().vectors(X)
        return map_valid_rows(vectors, lambda rows: method(self.fitted_, rows, *arguments))

    def _scored(self, X: ModelRows, method: Callable[..., Matrix], *arguments: object) -> Matrix:
        """Return what `_of` does; a model overrides this to score rows on the GPU where they lie."""
        return self._of(X, method, *arguments)

    def _against_calibration_rows(
        self,
        X: ModelRows,
        t: float | Sequence[float] | None,
        compare: Callable[[conformal.CalibrationRows, float, Matrix], Matrix],
    ) -> Matrix:
        """Return `compare` of the calibration rows, each t and the rows' scores at it: (n,), or (n, len(t))."""
        check_is_fitted(self)
        dial = checked_t(self._own_or(t))
        calibration_rows = self.fitted_.calibration_rows()  # before the work: raises if there are none
        heads = self._units(X)
        columns = [
            compare(calibration_rows, at, self.fitted_.mixing.mixed(heads, at))
            for at in map(float, np.atleast_1d(dial))
        ]
        return columns[0] if dial.ndim == 0 else np.column_stack(columns)

    def _baseline(self, baseline: ModelRows) -> Matrix:
        row = self._reader().vectors(baseline)
        if row.shape[0] != 1:
            raise InputError(f"baseline must be one row, got {row.shape[0]}.")
        return np.asarray(dense(row), dtype=np.float64)

    def _own_or(self, t: float | Sequence[float] | None) -> float | Sequence[float]:
        """Return t, or the model's own if none is given."""
        return self.t if t is None else t


def with_fitted(model: Model, fitted: FittedModel) -> Model:
    """Return a copy of the model, with the same settings, that has this fitted value."""
    other = copy(model)
    other._learn(fitted)  # noqa: SLF001  (the copy is ours)
    return other
