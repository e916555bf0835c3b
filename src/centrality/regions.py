"""Use a centrality: for a median, a trimmed mean, central regions, comparing samples and classifying.

Everything works with any estimator that has `score_samples`, larger meaning more central: a depth, FUSE, or one of
scikit-learn's. Functions of one sample take a fitted model; those that compare samples fit clones of it.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import (
    Tags,
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from centrality import plots
from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import (
    CheckedRows,
    RandomState,
    RowsLike,
    random_numbers,
    rows_to_fit,
    rows_to_score,
    unchanged_on_failure,
)
from centrality.depths import Mahalanobis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Labels = NDArray[Any]  # one for each row, of whatever type the user's are

STATISTICS = ("q", "wilcoxon")


class _Estimator(Protocol):
    """Describes any estimator whose `score_samples` is larger for more central rows."""

    def fit(self, X: RowsLike) -> Self:
        """Learn from the rows of X."""

    def score_samples(self, X: RowsLike) -> Array:
        """Return how central each row is."""


def median(model: _Estimator, X: RowsLike, *, steps: int = 50) -> Array:  # (d,)
    """Find the deepest point: the deepest row of X, improved by climbing from there.

    The steps lie along differences of deep rows, so that the search has the data's own shape. Where many points are
    equally deep, their average is taken, if it is as deep as they are.

    >>> from centrality import depths, regions
    >>> X = [[-1.0], [0.0], [1.0], [4.0]]
    >>> regions.median(depths.Mahalanobis().fit(X), X).round(6)  # the mean, where Mahalanobis depth is 1
    array([1.])
    """
    rows = _rows(X)
    scores = _scores(model, rows)
    deep = rows[np.argsort(-scores)[: max(2 * rows.shape[1], 20)]]
    directions = np.concatenate([deep - deep[0], deep[0] - deep])
    # The deepest points so far, and their depth.
    best = rows[[scores.argmax()]]
    height = scores.max()
    tries = np.concatenate([deep, deep.mean(0, keepdims=True)])
    step = 1.0
    for _ in range(whole_number("steps", steps)):
        heights = _scores(model, tries)
        if heights.max() > height:
            best = tries[heights == heights.max()]
            height = heights.max()
        else:
            best = np.concatenate([best, tries[heights == height]])
            step /= 2
        tries = best[0] + step * directions
    middle = best.mean(0)
    return np.asarray(middle if _scores(model, middle[None])[0] >= height else best[0])


def trimmed_mean(model: _Estimator, X: RowsLike, *, trim: float = 0.1) -> Array:  # (d,)
    """Return the mean of the rows without the share `trim` of them that is least deep.

    >>> from centrality import depths, regions
    >>> X = [[-1.0], [0.0], [1.0], [9.0]]
    >>> regions.trimmed_mean(depths.Mahalanobis().fit([[-1.0], [0.0], [1.0]]), X, trim=0.25)
    array([0.])
    """
    if not 0 <= trim < 1:
        raise InputError(f"trim must be a share of the rows in [0, 1), got {trim!r}.")
    rows = _rows(X)
    return np.asarray(rows[central_region(model, rows, mass=1 - trim).inside].mean(0))


@dataclass(frozen=True)
class CentralRegion:
    """All that is at least as central as `level`; `inside` says which of the rows it was made from are.

    >>> from centrality import depths, regions
    >>> depth = depths.Mahalanobis().fit([[-1.0], [0.0], [1.0]])
    >>> half = regions.central_region(depth, [[-2.0], [-1.0], [0.0], [1.0]], mass=0.75)
    >>> half.contains([[0.5], [1.5]])
    array([ True, False])
    """

    model: _Estimator
    level: float
    inside: NDArray[np.bool_]

    def contains(self, X: RowsLike) -> NDArray[np.bool_]:  # (n,)
        """Say which rows lie in the region."""
        return np.asarray(_scores(self.model, X) >= self.level)


def central_region(model: _Estimator, X: RowsLike, *, mass: float = 0.5) -> CentralRegion:
    """Return the smallest central region that holds the share `mass` of the rows of X; ties at its border all belong.

    >>> from centrality import depths, regions
    >>> depth = depths.Mahalanobis().fit([[-1.0], [0.0], [1.0]])
    >>> regions.central_region(depth, [[-3.0], [0.0], [0.5], [2.0]], mass=0.5).inside
    array([False,  True,  True, False])
    """
    if not 0 < mass <= 1:
        raise InputError(f"mass must be a share of the rows in (0, 1], got {mass!r}.")
    scores = _scores(model, X)
    count = int(np.ceil(mass * len(scores) - 1e-9))  # 0.7 of 10 rows is 7 of them, whatever 0.7 * 10 rounds to
    level = float(np.sort(scores)[len(scores) - max(count, 1)])
    return CentralRegion(model, level, scores >= level)


@dataclass(frozen=True)
class DDPlot:
    """The depth of each row in either sample: first the rows of the first sample, then those of the second.

    >>> from centrality import depths, regions
    >>> plot = regions.dd_plot(depths.Mahalanobis(), [[-1.0], [0.0], [1.0]], [[-9.0], [0.0], [9.0]])
    >>> (plot.in_second[plot.of_first] >= plot.in_first[plot.of_first]).tolist()  # the second is wider
    [True, True, True]
    """

    in_first: Array  # (n,)
    in_second: Array  # (n,)
    of_first: NDArray[np.bool_]  # (n,) True for rows of the first sample

    def figure(self, *, labels: tuple[str, str] = ("first", "second")) -> "Figure":
        """Draw the plot, as a matplotlib Figure."""
        figure: Figure = plots.dd_plot(self.in_first, self.in_second, self.of_first, labels=labels)
        return figure


def dd_plot(model: _Estimator, X: RowsLike, Y: RowsLike) -> DDPlot:
    """Compare the depth of all rows in the sample X with their depth in the sample Y, by clones of `model`.

    >>> from centrality import depths, regions
    >>> plot = regions.dd_plot(depths.Mahalanobis(), [[-1.0], [0.0], [1.0]], [[9.0], [10.0], [11.0]])
    >>> plot.of_first
    array([ True,  True,  True, False, False, False])
    >>> plot.in_first.round(6)  # 1 / (1 + x²)
    array([0.5     , 1.      , 0.5     , 0.012195, 0.009901, 0.008197])
    """
    first, second = _two_samples(X, Y)
    pooled = np.concatenate([first, second])
    of_first = np.arange(len(pooled)) < len(first)
    return DDPlot(
        in_first=_scores(clone(model).fit(first), pooled),
        in_second=_scores(clone(model).fit(second), pooled),
        of_first=of_first,
    )


class TwoSampleTest(NamedTuple):
    """The result of `two_sample_test`: the statistic, and its p-value under the permutations.

    >>> from centrality import depths, regions
    >>> X = [[-1.0], [0.0], [1.0]]
    >>> same = regions.two_sample_test(depths.Mahalanobis(), X, X, random_state=0)
    >>> same.p_value > 0.5
    True
    """

    statistic: float
    p_value: float


def two_sample_test(
    model: _Estimator,
    X: RowsLike,
    Y: RowsLike,
    *,
    statistic: str = "q",
    permutations: int = 199,
    random_state: RandomState = None,
) -> TwoSampleTest:
    """Test whether X and Y come from one distribution: two-sided, by permuting which row belongs to which.

    "q" is Liu and Singh's statistic: the mean, over the rows of Y, of the share of X that is no deeper in X. It is
    about 1/2 if the distributions agree, less if Y is shifted or wider, more if it is narrower. It fits a clone of
    `model` for each permutation. "wilcoxon" is the same with all depths taken in both samples together, so one fit is
    enough; it sees differences in scale best.

    >>> from centrality import depths, regions
    >>> X = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> Y = [[97.0], [98.0], [99.0]]
    >>> far = regions.two_sample_test(depths.Mahalanobis(), X, Y, permutations=99, random_state=0)
    >>> far.statistic  # no row of X is as far out as theirs are
    0.0
    >>> far.p_value < 0.1
    True
    """
    if statistic not in STATISTICS:
        raise InputError(f"statistic must be one of {', '.join(STATISTICS)}, got {statistic!r}.")
    first, second = _two_samples(X, Y)
    permutations = whole_number("permutations", permutations)
    rng = random_numbers(random_state)
    pooled = np.concatenate([first, second])
    n = len(first)
    orders = np.array([np.arange(len(pooled)), *(rng.permutation(len(pooled)) for _ in range(permutations))])
    if statistic == "q":
        samples = ((pooled[order[:n]], pooled[order[n:]]) for order in orders)
        values = np.array([_ranks_in(clone(model).fit(one), one, other).mean() for one, other in samples])
    else:
        ranks = (rankdata(_scores(clone(model).fit(pooled), pooled)) - 0.5) / len(pooled)
        values = ranks[orders[:, n:]].mean(1)
    distance = np.abs(values - values.mean())
    return TwoSampleTest(float(values[0]), float((distance >= distance[0] - 1e-12).mean()))


class RankInterval(NamedTuple):
    """The rank of each row, and the bounds it lies between.

    >>> from centrality import depths, regions
    >>> X = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> found = regions.rank_interval(depths.Mahalanobis(), X, [[1.0]], random_state=0)
    >>> bool(found.low[0] <= found.rank[0] <= found.high[0])
    True
    """

    rank: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)


def rank_interval(
    model: _Estimator,
    X: RowsLike,
    Q: RowsLike,
    *,
    level: float = 0.95,
    resamples: int = 200,
    random_state: RandomState = None,
) -> RankInterval:
    """Say how sure the rank of each row of Q is: the share of X that is no deeper, with a bootstrap interval.

    A clone of `model` is fitted to each resample of the rows of X.

    >>> from centrality import depths, regions
    >>> X = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> regions.rank_interval(depths.Mahalanobis(), X, [[0.0], [99.0]], random_state=0).rank
    array([1., 0.])
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}.")
    rows, queries = _two_samples(X, Q)
    resamples = whole_number("resamples", resamples)
    rng = random_numbers(random_state)
    samples = (rows[rng.randint(len(rows), size=len(rows))] for _ in range(resamples))
    ranks = np.array([_ranks_in(clone(model).fit(sample), sample, queries) for sample in samples])
    low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RankInterval(_ranks_in(clone(model).fit(rows), rows, queries), low, high)


def _if_classifier_has(method: str) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Decorate a method that is only there if the classifier of depths has one of this name."""
    decorate: Callable[[Callable[..., Array]], Callable[..., Array]] = available_if(
        lambda self: hasattr(getattr(self, "classifier_", None) or self._unfitted(), method)
    )
    return decorate


class DDClassifier(ClassifierMixin, BaseEstimator):
    """Classifies rows by their depth in each class.

    Parameters
    ----------
    depth : the estimator whose clones give the depth in each class; None means `Mahalanobis()`.
    classifier : what separates the classes in the space of depths; None means a logistic regression with
        quadratic terms.

    Attributes
    ----------
    classes_ : the labels.
    depths_ : one fitted depth per class.
    classifier_ : the fitted classifier of depths.

    Examples
    --------
    >>> from centrality.regions import DDClassifier
    >>> X = [[-2.0], [-1.0], [0.0], [8.0], [9.0], [10.0]]
    >>> DDClassifier().fit(X, ["low", "low", "low", "high", "high", "high"]).predict([[-1.5], [9.5]]).tolist()
    ['low', 'high']
    """

    def __init__(self, *, depth: _Estimator | None = None, classifier: ClassifierMixin | None = None) -> None:
        self.depth = depth
        self.classifier = classifier

    def fit(self, X: RowsLike, y: ArrayLike) -> Self:
        """Learn the depth in each class, then how depths tell the classes apart."""
        with unchanged_on_failure(self):
            rows = rows_to_fit(self, X, at_least=4, why="two in each of two classes")
            if y is None:
                raise InputError("DDClassifier requires y to be passed, but the target y is None.")
            labels = np.asarray(column_or_1d(y, warn=True))
            check_consistent_length(rows, labels)
            assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
            self.classes_, counts = np.unique(labels, return_counts=True)
            if len(self.classes_) < 2 or counts.min() < 2:
                sizes = ", ".join(f"{label}: {count}" for label, count in zip(self.classes_, counts, strict=True))
                raise InputError(f"At least two classes of two rows each were wanted, got these class sizes: {sizes}.")
            depth = Mahalanobis() if self.depth is None else self.depth
            self.depths_ = [clone(depth).fit(rows[labels == label]) for label in self.classes_]
            self.classifier_ = self._unfitted().fit(self._depths(rows), labels)
        return self

    def predict(self, X: RowsLike) -> Labels:  # (n,)
        """Return the class of each row."""
        depths = self._depths(rows_to_score(self, X))
        return np.asarray(self.classifier_.predict(depths))

    @_if_classifier_has("predict_proba")
    def predict_proba(self, X: RowsLike) -> Array:  # (n, classes)
        """Return the probability of each class, for each row."""
        depths = self._depths(rows_to_score(self, X))
        return np.asarray(self.classifier_.predict_proba(depths))

    @_if_classifier_has("decision_function")
    def decision_function(self, X: RowsLike) -> Array:
        """Return the classifier's confidence: (n,) for two classes, else (n, classes)."""
        depths = self._depths(rows_to_score(self, X))
        return np.asarray(self.classifier_.decision_function(depths))

    def _unfitted(self) -> ClassifierMixin:
        """Return a classifier of depths that is still to be fitted."""
        if self.classifier is not None:
            return clone(self.classifier)
        return make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), LogisticRegression())

    def _depths(self, rows: CheckedRows) -> Array:  # (n, classes)
        """Return the depth of each row in each class."""
        return np.column_stack([depth.score_samples(rows) for depth in self.depths_])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _ranks_in(fitted: _Estimator, rows: Array, queries: Array) -> Array:  # (queries,)
    """Return, for each query, the share of the rows that is no deeper."""
    ordered = np.sort(_scores(fitted, rows))
    return np.asarray(np.searchsorted(ordered, _scores(fitted, queries), side="right") / len(rows))


def _rows(X: RowsLike) -> Array:  # (n, d)
    """Return the rows as a checked array."""
    return np.asarray(check_array(X, dtype=np.float64))


def _two_samples(X: RowsLike, Y: RowsLike) -> tuple[Array, Array]:
    """Return both samples as arrays; raise if their columns differ in number."""
    first = _rows(X)
    second = _rows(Y)
    if first.shape[1] != second.shape[1]:
        raise InputError(f"Both sets of rows need the same columns, got {first.shape[1]} and {second.shape[1]}.")
    return first, second


def _scores(model: _Estimator, rows: RowsLike) -> Array:  # (n,)
    """Return how central each row is to a fitted model."""
    with warnings.catch_warnings():
        # The columns are in the model's order; only their names went when the rows became an array.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(model.score_samples(rows))
