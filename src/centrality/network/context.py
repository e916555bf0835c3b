"""Model behaviours given a context, and compare scores among rows of a like context.

The columns that the user gives are the context, the others are behaviours. Two models make rows of all contexts
comparable.

`Context` is fitted before the networks. It predicts the middle and the spread of each behaviour from the context. The
middle is a sum of three: a line through numbers; an effect for each category, where values recur (a country, a month),
shrunk toward 0 where the category has few rows; and a forest's prediction of what is left. The spread is a product of
the same three. In a relative row each behaviour is (value - middle) / spread. Networks learn the density of relative
rows. The context is a further input of the networks, to which no noise is added. Each training row is made relative as
if it were new: line, effects and trees are then those without this row.

`ContextCalibration` is fitted to the networks' scores. Relative rows still differ by context in the shape of their
distribution, and networks smooth over that. So at a few scores, the knots, it predicts which share of the rows of a
context scores below: the share of all rows, plus an effect for each category, plus a forest's prediction. A score is
then shifted to where the same share of all rows lies below. So a category of many rows is measured by its own rows
(Mondrian calibration), one of few rows by those of all; and thresholds, p-values and regions that hold for all rows
hold within contexts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays, bend, safe_divide, unbend
from centrality._internal.input import CheckedRows
from centrality.network.forest import Forest, medians
from centrality.network.scaling import Scaling, dense

CONTEXT_SCALE = (
    0.125  # of contexts before the network, so that outputs change little with them; a power of two is exact
)
RIDGES = (0.1, 1.0, 10.0, 100.0)  # penalties that are tried for the line of the middle
RIDGE_OF_SPREAD = 10.0  # penalty of the line of the spread
ROUNDS = 3  # how often rows are weighed anew for the line of the spread
SHARES = np.linspace(0, 1, 5)  # fractions of the spread line's slope to try
ROWS_PER_CATEGORY = 15  # on average at least, for a column to have categories
TREES_OF_CENTER = 40
LEAF_OF_CENTER = 5  # rows at least
TREES_OF_SPREAD = 24
LEAF_OF_SPREAD = 20
STRETCH = 1.25  # from a mean absolute deviation to a standard deviation
WIDEST = 3.0  # a row's size is cut at so many times its category's median
CUT_DEVIATION = 4.0  # deviations are cut at so many times the median deviation in their context
LUMPY = 0.25  # a median deviation below this share of the mean deviation counts as zero
KNOWN = 3  # one training row in so many is made relative with itself included in the context fit
NARROWEST = 0.05  # the smallest spread in a context, as a share of the overall spread
NEW_ROW = 1.5  # over n: how much wider a new row's deviation is, since its middle was estimated from n rows
KNEE = 5.0  # relative behaviours beyond are bent like a logarithm
SAME_CATEGORY = (
    1e-6  # distance of equal categories in scaled units, where other libraries may round last digits otherwise
)
OUTSIDE = 0.1  # how far a context may lie outside a column's range, as a share of it

Matrix = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CategoryEffects(FrozenArrays):
    """The effects of the categories of one feature, which one or several context columns encode."""

    columns: Whole  # (w,) places among the context columns
    keys: Matrix  # (categories, w) the scaled values of these columns
    effects: Matrix  # (categories, d)

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, d)
        """Return the effects of these rows' categories; 0 for a category that did not occur in fitting."""
        category, occurred = self.find(c)
        return np.where(occurred[:, None], self.effects[category], 0.0)

    def find(self, c: Matrix) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the number of each row's category, and whether the category occurred in fitting."""
        keys = _sortable(self.keys)
        rows = _sortable(c[:, self.columns])
        order = np.argsort(keys)
        category = order[np.minimum(np.searchsorted(keys, rows, sorter=order), len(keys) - 1)]
        return category, keys[category] == rows


@dataclass(frozen=True, eq=False)
class Context(FrozenArrays):
    """Turns rows into relative rows, and back; both have the same columns in one order."""

    given: Whole  # (q,) places of the context columns
    scaling: Scaling
    line: Matrix  # (1 + q, d) of the middle: the constant, then a slope for each context column
    line_of_spread: Matrix  # (1 + q, d)
    center_effects: tuple[CategoryEffects, ...]  # added to the middle
    spread_effects: tuple[CategoryEffects, ...]  # 1 + effect is a factor of the spread
    center_forest: Forest
    spread_forest: Forest
    narrowest: Matrix  # (d,) the smallest spread
    usual_behaviour: Matrix  # (2, d) the 5th and 95th percentile of the relative behaviours
    context_range: Matrix  # (2, q) the smallest and largest scaled contexts
    behaviour_range: Matrix  # (2, d) the smallest and largest scaled behaviours: no middle lies beyond

    @property
    def behaviour(self) -> Whole:
        """Return the places of the columns that are not the context."""
        return np.setdiff1d(np.arange(len(self.scaling.center)), self.given)

    @classmethod
    def fit(
        cls,
        X: CheckedRows,
        scaling: Scaling,
        given: Whole,
        feature_of_column: Whole,
        seed: int,
        *,
        keep_column_weights: bool = False,
    ) -> "tuple[Context, Matrix]":
        """Fit a context model; return it, and the rows of X made relative as if each were new to it.

        `feature_of_column` (q,) says which context columns encode the same feature, such as a category. With
        `keep_column_weights`, columns scaled down by a representation keep their lower weight; otherwise all behaviours
        weigh alike.
        """
        z = scaling.scaled(X)
        c = z[:, given]
        x = np.delete(z, given, axis=1)
        features = [np.flatnonzero(feature_of_column == feature) for feature in np.unique(feature_of_column)]

        # The middle: a line, effects and a forest, each fitted to the `rest` that those before it leave of a behaviour.
        behaviour_range = np.stack([x.min(0), x.max(0)])
        line, rest = _line(c, x)
        center_effects = []
        for columns in features:
            if (fit := fit_effects(c, rest, columns)) is not None:
                effects, without_row, _ = fit
                center_effects.append(effects)
                rest = rest - without_row
        center_forest, predictions = Forest.fit(c, rest, trees=TREES_OF_CENTER, leaf=LEAF_OF_CENTER, seed=seed)
        share = share_explained(rest, predictions)
        center_forest = center_forest.times(share)
        # Leave-one-out middle, clipped to the behaviour's range (`rest` is already leave-one-out).
        rest = x - np.clip(x - rest + share * predictions, behaviour_range[0], behaviour_range[1])

        # The sizes of the deviations from the middle. The spread is their mean, given the context.
        size = _cut_outliers(c, np.abs(rest), features, seed + 2)
        size = pool_degenerate_columns(size, rest)
        if keep_column_weights:
            # Divide by a standard deviation below 1, so that relative values of scaled-down columns stay small.
            size = size / np.clip(x.std(0), 1e-9, 1.0)
        narrowest = np.maximum(NARROWEST * size.mean(0), 1e-9)

        # The spread.
        line_of_spread, on_line = _line_of_spread(c, size, narrowest)
        spread = np.maximum(on_line, narrowest)
        spread_effects = []
        for columns in features:
            if (spread_fit := fit_spread_effects(c, size / spread, columns)) is not None:
                effects, without_row = spread_fit
                spread_effects.append(effects)
                spread = spread * spread_factor(without_row)
        leaf = max(LEAF_OF_SPREAD, round(len(c) ** 0.5))
        excess = size / spread - 1
        spread_forest, predictions = Forest.fit(c, excess, trees=TREES_OF_SPREAD, leaf=leaf, seed=seed + 1, means=True)
        share = share_explained(excess, predictions)
        spread_forest = spread_forest.times(share)
        spread = spread * spread_factor(share * predictions)

        relative = bend(rest / (STRETCH * np.maximum(spread, narrowest)), KNEE)
        residuals = np.empty_like(z)
        residuals[:, given] = CONTEXT_SCALE * c
        residuals[:, np.setdiff1d(np.arange(z.shape[1]), given)] = relative
        context = cls(
            given=given,
            scaling=scaling,
            line=line,
            line_of_spread=line_of_spread,
            center_effects=tuple(center_effects),
            spread_effects=tuple(spread_effects),
            center_forest=center_forest,
            spread_forest=spread_forest,
            narrowest=narrowest,
            usual_behaviour=np.quantile(relative, [0.05, 0.95], axis=0),
            context_range=np.stack([c.min(0), c.max(0)]),
            behaviour_range=behaviour_range,
        )
        return context, residuals

    def mix_in_known_rows(self, X: CheckedRows, residuals: Matrix, seed: int) -> Matrix:  # (n, p), (n, p) -> (n, p)
        """Return the rows to train networks on: one in KNOWN is made relative as a row that the context model knows.

        When training rows are scored, the context model knows them too. Where it predicts nearly all, they then lie
        closer to the middle than new rows do, and networks must have learned such rows as well.
        """
        known_rows = np.flatnonzero(np.random.default_rng(seed).random(len(residuals)) < 1 / KNOWN)
        training_rows = residuals.copy()
        training_rows[known_rows] = self.relative(X[known_rows])
        return training_rows

    def relative(self, X: CheckedRows) -> Matrix:  # (n, p) -> (n, p)
        """Return rows that are in the user's units as relative rows; their contexts are scaled down."""
        z = self.scaling.scaled(X)
        middle, spread = self.middle_and_spread(z[:, self.given])
        z[:, self.behaviour] = bend((z[:, self.behaviour] - middle) / spread, KNEE)
        z[:, self.given] *= CONTEXT_SCALE
        return z

    def absolute(self, residuals: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return relative rows in the user's units: the inverse of `relative`."""
        z = residuals.astype(np.float64)
        z[:, self.given] /= CONTEXT_SCALE
        middle, spread = self.middle_and_spread(z[:, self.given])
        z[:, self.behaviour] = middle + spread * unbend(z[:, self.behaviour], KNEE, farthest=50.0)
        return self.scaling.unscaled(z)

    def usual_range(self, residuals: Matrix) -> Matrix:  # (n, p) -> (2, n, p)
        """Return two rows for each row: the 5th and the 95th percentile of every behaviour in the row's context."""
        middle, spread = self.middle_and_spread(residuals[:, self.given] / CONTEXT_SCALE)
        low = bend((self.behaviour_range[0] - middle) / spread, KNEE)
        high = bend((self.behaviour_range[1] - middle) / spread, KNEE)
        ends = np.stack([residuals, residuals]).astype(np.float64)
        ends[:, :, self.behaviour] = np.clip(self.usual_behaviour[:, None], low, high)
        return ends

    def middle_and_spread(self, c: Matrix) -> tuple[Matrix, Matrix]:  # (n, q) -> (n, d), (n, d)
        """Return the middle and the spread of the scaled behaviours given the scaled contexts."""
        near = np.clip(c, *self.wider_range())  # farther out, the line would predict anything
        effects = sum(of_feature(c) for of_feature in self.center_effects)
        middle = self.line[0] + near @ self.line[1:] + effects + self.center_forest(c)
        spread = np.maximum(self.line_of_spread[0] + near @ self.line_of_spread[1:], self.narrowest)
        for effect in (*(of_feature(c) for of_feature in self.spread_effects), self.spread_forest(c)):
            spread = spread * spread_factor(effect)
        return np.clip(middle, *self.behaviour_range), STRETCH * np.maximum(spread, self.narrowest)

    def wider_range(self) -> tuple[Matrix, Matrix]:  # (q,), (q,)
        """Return the smallest and the largest scaled context that is not far out of range."""
        margin = OUTSIDE * (self.context_range[1] - self.context_range[0])
        return self.context_range[0] - margin, self.context_range[1] + margin

    def unseen(self, X: CheckedRows) -> NDArray[np.bool_]:  # (n,)
        """Say which rows have a new context: a category that did not occur in fitting, or a number far out of range."""
        rows = dense(X).astype(np.float64)
        c = self.scaling.scaled(rows)[:, self.given]
        lowest, highest = self.wider_range()
        new = ((c < lowest) | (c > highest)).any(1)
        constant = self.given[~self.scaling.varying()[self.given]]  # a column that was constant has no scale
        new |= ~np.isclose(rows[:, constant], self.scaling.center[constant], rtol=1e-6, atol=1e-12).all(1)
        for effects in self.center_effects:
            new |= ~effects.find(c)[1]
        return np.asarray(new & ~np.isnan(c).any(1))  # a row without a vector has no context


def _cut_outliers(c: Matrix, size: Matrix, features: list[Whole], seed: int) -> Matrix:
    """Return sizes cut at CUT_DEVIATION times the median of their context, so that outliers do not move the means."""
    _, median = Forest.fit(c, size, trees=TREES_OF_SPREAD // 2, leaf=LEAF_OF_SPREAD, seed=seed)
    for columns in features:
        if (
            categories := find_categories(c, columns)
        ) is not None:  # in trees, small categories share leaves with others
            _, category, counts = categories
            median = np.maximum(median, medians(size, category, len(counts))[0][category])
    least = NARROWEST * np.minimum(size, np.maximum(8 * np.median(size, axis=0), 3 * size.mean(0))).mean(0)
    return np.asarray(np.minimum(size, CUT_DEVIATION * np.maximum(median, np.maximum(least, 1e-9))))


def pool_degenerate_columns(size: Matrix, rest: Matrix) -> Matrix:
    """Give all rows of a column one size if most of its rows do not deviate at all, as in an encoded category.

    By its median, such a column would have no spread, its other rows would all be outliers, and it would outweigh all
    other columns. So it has one spread in all contexts; the networks learn how contexts differ.
    """
    lumpy = np.median(np.abs(rest), axis=0) < LUMPY * np.abs(rest).mean(0)
    return np.where(lumpy, np.sqrt(np.square(rest).mean(0)) / STRETCH, size)


def share_explained(rest: Matrix, predictions: Matrix) -> Matrix:  # (d,)
    """Return the factor, from 0 to 1, by which the forest's predictions of rows left out come closest to the truth.

    It is near 0 for a behaviour that the context does not predict: a forest would only add noise.
    """
    bound = 8 * np.median(np.abs(rest), axis=0)
    product = (np.clip(rest, -bound, bound) * predictions).sum(0)
    square = np.square(predictions).sum(0)
    return np.asarray(np.clip(safe_divide(product, square), 0.0, 1.0))


def spread_factor(effect: Matrix) -> Matrix:
    """Return the factor of the spread that an effect stands for: 1 + effect, and at least NARROWEST."""
    return np.asarray(np.maximum(1 + effect, NARROWEST))


def _line(c: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of x on c, (1 + q, d), and the residual of each row without the row, (n, d)."""
    mean = c.mean(0)
    offset = x.mean(0)
    u, size, v = np.linalg.svd(c - mean, full_matrices=False)
    product = u.T @ (x - offset)
    candidates = []
    for ridge in RIDGES:
        shrinkage = np.square(size) / (np.square(size) + ridge)
        leverage = np.minimum(1 / len(c) + np.square(u) @ shrinkage, 0.99)  # of a row in its own prediction
        residuals = (x - offset - u @ (shrinkage[:, None] * product)) / (1 - leverage)[:, None]
        candidates.append((np.square(residuals).sum(), ridge, residuals))
    _, ridge, residuals = min(candidates, key=lambda fit: fit[0])
    slopes = v.T @ ((size / (np.square(size) + ridge))[:, None] * product)
    return np.concatenate([(offset - mean @ slopes)[None], slopes]), residuals


def _line_of_spread(c: Matrix, size: Matrix, least: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of sizes on c, (1 + q, d), and its prediction of each row without the row, (n, d).

    Large sizes are less certain: each row weighs the inverse square of its predicted size, so that the line holds for
    narrow contexts too. The slope is multiplied by the share in SHARES with the best leave-one-out likelihood, taking
    sizes as exponential: a line that predicts tiny sizes for wide rows is worse than none.
    """
    rows = np.column_stack([np.ones(len(c)), c])
    penalty = np.diag([1e-9] + [RIDGE_OF_SPREAD] * c.shape[1])
    line = np.zeros((rows.shape[1], size.shape[1]))
    without_row = np.empty_like(size)
    for column, target in enumerate(size.T):
        prediction = np.full(len(c), max(float(target.mean()), 1e-12))
        for _ in range(ROUNDS):
            weight = 1 / np.square(np.maximum(prediction, least[column]))
            weight /= weight.mean()
            inverse = np.linalg.inv((rows * weight[:, None]).T @ rows + penalty)
            line[:, column] = inverse @ (rows.T @ (weight * target))
            prediction = rows @ line[:, column]
        leverage = np.minimum(weight * np.einsum("ij,ij->i", rows @ inverse, rows), 0.99)
        without_row[:, column] = prediction - leverage / (1 - leverage) * (target - prediction)
    mean = np.maximum(size.mean(0), 1e-12)
    predictions = np.maximum(mean + np.multiply.outer(SHARES, without_row - mean), least)  # (shares, n, d)
    share = SHARES[(size / predictions + np.log(predictions)).mean(1).argmin(0)]
    line *= share
    line[0] += (1 - share) * mean
    return line, mean + share * (without_row - mean)


def fit_effects(
    c: Matrix, rest: Matrix, columns: Whole, *, beyond_chance: bool = False
) -> tuple[CategoryEffects, Matrix, Matrix] | None:
    """Return the effects of categories on the rest, and those of each row's category computed without the row.

    None: there are no categories. An effect is a mean, shrunk toward 0 by a factor, which is the third result,
    (categories, d). The factor is smaller for small categories, and where categories differ little compared with the
    variance within them. With `beyond_chance`, no row is taken for an outlier, and categories must differ by more than
    chance.
    """
    if (categories := find_categories(c, columns)) is None:
        return None
    first, category, counts = categories
    values = rest
    if not beyond_chance:
        middle = medians(rest, category, len(counts))[0][category]
        bound = 3 * np.median(np.abs(rest - middle), axis=0) + 1e-12  # an outlier counts as if it lay there
        values = middle + np.clip(rest - middle, -bound, bound)
    sums = np.stack([np.bincount(category, column, minlength=len(counts)) for column in values.T], axis=1)
    means = sums / counts[:, None]
    within = np.square(values - means[category]).sum(0) / max(len(c) - len(counts), 1)
    chance = _chance_variance_ratio(counts) if beyond_chance else len(counts) / len(c)
    between = np.average(np.square(means), axis=0, weights=counts) - within * chance
    prior_count = within / np.maximum(between, 1e-3 * within + 1e-12)  # (d,)
    effects = CategoryEffects(columns, c[first][:, columns], sums / (counts[:, None] + prior_count))
    without_row = (sums[category] - values) / (counts[category][:, None] - 1 + prior_count)
    return effects, without_row, counts[:, None] / (counts[:, None] + prior_count)


def fit_spread_effects(c: Matrix, ratio: Matrix, columns: Whole) -> tuple[CategoryEffects, Matrix] | None:
    """Return the effects of categories on the spread, and those of each row's category computed without the row.

    None: there are no categories. A row's ratio is its size divided by the size predicted so far. The logarithm of a
    category's mean ratio is as certain for narrow categories as for wide ones: it is shrunk toward 0 as in
    `fit_effects`.
    """
    if (categories := find_categories(c, columns)) is None:
        return None
    first, category, counts = categories
    ratio = np.where(ratio.any(0), ratio, 1.0)  # a column that never deviates has the same spread in all categories
    median_of_category = medians(ratio, category, len(counts))[0][category]
    ratio = np.minimum(ratio, WIDEST * median_of_category)  # one outlier soon outweighs a small category
    sums = np.stack([np.bincount(category, column, minlength=len(counts)) for column in ratio.T], axis=1)
    least = NARROWEST * ratio.mean(0)
    means = np.maximum(sums / counts[:, None], least)
    within = np.square(ratio / means[category] - 1).sum(0) / max(len(c) - len(counts), 1)
    between = np.average(np.square(np.log(means)), axis=0, weights=counts) - within * _chance_variance_ratio(counts)
    prior_count = np.maximum(within / np.maximum(between, 1e-3 * within + 1e-12), 1e-9)  # (d,)
    others = counts[category][:, None] - 1
    without_row = np.maximum((sums[category] - ratio) / np.maximum(others, 1), least)

    def shrunk(means: Matrix, n: Whole) -> Matrix:
        return np.asarray(np.exp(np.log(means) * (n / (n + prior_count))) * (1 + NEW_ROW / (n + 1 + prior_count)) - 1)

    effects = CategoryEffects(columns, c[first][:, columns], shrunk(means, counts[:, None]))
    return effects, shrunk(without_row, others)


def _chance_variance_ratio(counts: Whole) -> float:
    """Return an upper limit of the between-category variance by chance alone, as a share of the variance within.

    It is the mean of that variance plus one standard error.
    """
    return float((len(counts) + np.sqrt(2 * len(counts))) / counts.sum())


def find_categories(c: Matrix, columns: Whole) -> tuple[Whole, Whole, Whole] | None:
    """Return the first row of each category, each row's category, and their counts; None where values hardly recur."""
    _, first, category, counts = np.unique(
        _sortable(c[:, columns]), return_index=True, return_inverse=True, return_counts=True
    )
    return None if len(counts) < 3 or len(c) < ROWS_PER_CATEGORY * len(counts) else (first, category, counts)


def _sortable(values: Matrix) -> NDArray[np.generic]:
    """Return each row as one value that can be ordered and compared, whatever its number of columns."""
    exact = np.ascontiguousarray(values + 0.0)  # which makes 0 of -0
    return exact[:, 0] if exact.shape[1] == 1 else exact.view(np.dtype((np.void, 8 * exact.shape[1]))).ravel()


QUANTILES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.14, 0.2, 0.3, 0.5, 0.75)  # of the scores of all rows: the knots
TENTH = QUANTILES.index(0.1)  # the knot at which categories are said to be measured by their own rows, or not
TREES_OF_SHARES = 12
LEAF_OF_SHARES = 50  # rows at least
CLOSEST_KNOTS = 0.02  # least distance of two knots, in units of head scores
LEAST = 1e-3  # least distance of two shares, and of a share from 0 and 1
LARGEST_SHIFT = 1.0  # of a score, in units of head scores, so that outliers in a category do not hide one another
FLATTEST = 0.05  # least gap between two shifted knots, as a share of the gap between the knots


@dataclass(frozen=True, eq=False)
class ContextCalibration(FrozenArrays):
    """The share of rows of each context that scores below each knot; scores are shifted so that these shares agree."""

    given: Whole  # (q,) places of the context columns
    knots: Matrix  # (2, k) of the global and of the local units, rising
    shares: Matrix  # (2, k) of all rows that score below the knots, rising
    category_effects: tuple[CategoryEffects, ...]  # what each category adds to the 2 k shares
    own_weights: tuple[Matrix, ...]  # (categories,) of own rows (against all) in shares below the 10% knot
    forest: Forest  # adds to the shares too

    @classmethod
    def fit(
        cls, rows: Matrix, units: Matrix, given: Whole, features: Sequence[Whole], seed: int
    ) -> "tuple[ContextCalibration, Matrix]":
        """Fit to relative rows and their units, (n, 2); return also the units, shifted as if the rows were new.

        Each of `features` is a group of context columns that encode one feature, such as a country. Shares at all knots
        are correlated; they are shrunk along the principal axes of their covariance: so a category of 40 rows has its
        own tail, where categories differ in their tails, though few of its rows lie there.
        """
        c = rows[:, given] / CONTEXT_SCALE
        knots = enforce_increasing(np.quantile(units, QUANTILES, axis=0).T, CLOSEST_KNOTS)
        below = np.concatenate([units[:, [head]] <= knots[head] for head in (0, 1)], axis=1).astype(np.float64)
        shares = np.clip(enforce_increasing(below.mean(0).reshape(2, -1), LEAST), LEAST, 1 - LEAST)
        rest = below - below.mean(0)
        axes = np.linalg.eigh(np.cov(below.T))[1]  # (2 k, 2 k)
        category_effects = []
        own_weights = []
        explained = np.zeros_like(below)
        for columns in features:
            if (fit := fit_effects(c, (rest - explained) @ axes, columns, beyond_chance=True)) is not None:
                effects, without_row, shrinkage = fit
                category_effects.append(replace(effects, effects=effects.effects @ axes.T))
                own_weights.append((shrinkage @ np.square(axes).T)[:, TENTH :: len(QUANTILES)].mean(1))
                explained = explained + without_row @ axes.T
        leaf = max(LEAF_OF_SHARES, round(len(c) ** 0.5))
        forest, predictions = Forest.fit(c, rest - explained, trees=TREES_OF_SHARES, leaf=leaf, seed=seed, means=True)
        share = share_explained(rest - explained, predictions)
        calibration = cls(given, knots, shares, tuple(category_effects), tuple(own_weights), forest.times(share))
        return calibration, calibration.shift(units, explained + share * predictions)

    def __call__(self, units: Matrix, rows: Matrix) -> Matrix:  # (n, 2), (n, p) -> (n, 2)
        """Return the head scores of relative rows, shifted by context."""
        c = rows[:, self.given] / CONTEXT_SCALE
        return self.shift(units, self.forest(c) + sum(effects(c) for effects in self.category_effects))

    def shift(self, units: Matrix, excess: Matrix) -> Matrix:  # (n, 2), (n, 2 k) -> (n, 2)
        """Map each head score to the overall score of equal rank.

        The share of its context below it becomes the share of all rows below it. `excess` is by how much the share
        below each knot is larger in the row's context than among all rows.
        """
        shifted = np.empty_like(units)
        for head, (knots, of_head) in enumerate(zip(self.knots, np.split(excess, 2, axis=1), strict=True)):
            gaps = np.diff(knots)
            targets = self.targets(head, of_head)
            u = units[:, head]
            passed = np.clip(u[:, None] - knots[:-1], 0.0, gaps)
            beyond = np.minimum(u - knots[0], 0.0) + np.maximum(u - knots[-1], 0.0)  # where the shift is constant
            shifted[:, head] = targets[:, 0] + (passed * (np.diff(targets) / gaps)).sum(1) + beyond
        return shifted

    def targets(self, head: int, excess: Matrix) -> Matrix:  # (n, k) -> (n, k)
        """Return where the knots are shifted to, from the excess of a context's shares over those of all rows.

        Targets stay in order. Between two knots, scores of all rows are taken to rise in proportion to the log-odds of
        the share below.
        """
        knots = self.knots[head]
        logits_of_all = log_odds(self.shares[head])
        slopes = self.slopes()[head]
        logits = log_odds(np.clip(self.shares[head] + excess, LEAST, 1 - LEAST))
        inside = np.clip(logits[:, :, None] - logits_of_all[:-1], 0.0, np.diff(logits_of_all)) @ slopes
        beyond = np.minimum(logits - logits_of_all[0], 0.0) * slopes[0]
        beyond = beyond + np.maximum(logits - logits_of_all[-1], 0.0) * slopes[-1]
        at = np.clip(knots[0] + inside + beyond, knots - LARGEST_SHIFT, knots + LARGEST_SHIFT)
        return enforce_increasing(at, FLATTEST * np.diff(knots))

    def count_categories(self) -> dict[str, int]:
        """Count the categories calibrated mostly by their own rows ("own"), and those mostly by all rows ("shared")."""
        by_own_rows = sum(int((weights >= 0.5).sum()) for weights in self.own_weights)
        return {"own": by_own_rows, "shared": sum(map(len, self.own_weights)) - by_own_rows}

    def slopes(self) -> Matrix:  # (2, k - 1)
        """Return how fast scores of all rows rise with the log-odds of the share below, between the knots.

        It is 0 where the share does not rise, since a head scores nearly all rows alike: no score shifts there.
        """
        gaps = np.diff(self.knots)
        logits = np.diff(log_odds(self.shares))
        return np.divide(gaps, logits, out=np.zeros_like(gaps), where=logits > 0)


def log_odds(share: Matrix) -> Matrix:
    """Return log(share / (1 - share))."""
    return np.asarray(np.log(share / (1 - share)))


def enforce_increasing(values: Matrix, least: float | NDArray[np.float64]) -> Matrix:  # (n, k) -> (n, k)
    """Raise values so far that each is larger by at least `least` than the one before it in its row."""
    steps = np.broadcast_to(least, values.shape[1] - 1)
    climb = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.maximum.accumulate(values - climb, axis=1) + climb)
