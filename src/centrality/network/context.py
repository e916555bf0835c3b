"""Model behaviours given a context, and compare scores among rows of a like context.

A context model is fitted before the networks. The middle of the behaviours given the context is a sum: a line through
the numbers, an effect for every category of a value that recurs (a country, a month), shrunk toward 0 where its rows
are few, and what a forest predicts of the rest. The spread is a product of the same three. Networks then learn the
density of these relative behaviours, given the context as a further, clean input. The rows it is fitted on are treated
as new ones: each row is left out of its own line, of its category's effect, and of the trees.

Relative rows still differ by context in the shape of their distribution, and networks smooth over that. So at some
values, the knots, it is learned which share of the rows of each context scores below: that of all rows, plus what each
category of the context adds, shrunk where its rows are few, and what a forest predicts. Shares at all knots are shrunk
together, along the principal axes of their variation by chance: so a category of 40 rows has its own tail where
categories differ in theirs, though few of the rows lie in it. A score is then moved to where that share of all rows
lies below it. So a category of many rows is measured by its own rows (Mondrian calibration), one of few by those of
all; and thresholds, p-values and regions that hold for all rows hold within contexts.
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
    0.125  # the factor of scaled contexts before the network: small, so that outputs change little with them;
)
# a power of two, so that dividing by it restores the same bits
RIDGES = (0.1, 1.0, 10.0, 100.0)  # penalties of the line that are tried
RIDGE_OF_SPREAD, ROUNDS = 10.0, 3  # the penalty of the line of the spread, and how often its rows are reweighted
SHARES = np.linspace(0, 1, 5)  # of it that are tried
ROWS_PER_CATEGORY = 15  # on average at least, for a column to have categories
TREES_OF_CENTER, LEAF = 40, 5  # of the forest that tells what is usual
TREES_OF_SPREAD, LEAF_OF_SPREAD = 24, 20
STRETCH = 1.25  # from a mean absolute deviation to a standard deviation
WIDEST = 3.0  # a row counts for the spread of its level with at most so many times the level's median
CUT_DEVIATION = 4.0  # deviations are cut at so many times the median deviation of their kind
LUMPY = 0.25  # a median deviation below this share of the mean one counts as zero
KNOWN = 3  # one row in so many is shown to the networks as one that the context model was fitted on
NARROWEST = 0.05  # the smallest spread of a kind, as a share of the overall spread
NEW_ROW = 1.5  # over n: by how much more a new row is spread than n rows tell about their middle, by Student's t
KNEE = 5.0  # relative behaviours beyond are bent like a logarithm
SAME_LEVEL = 1e-6  # in scaled units, how near a level is the same by other libraries, whose last digits may differ
OUTSIDE = 0.1  # of a column's range, how far beyond it a context may lie

Matrix = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CategoryEffects(FrozenArrays):
    """The effects of the categories of one context: of a column, or of the columns that encode one."""

    columns: Whole  # (w,) places among the context columns
    keys: Matrix  # (levels, w) scaled, in order
    effects: Matrix  # (levels, d)

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, d)
        """Return the effects of these rows' categories; 0 for a category that did not occur in fitting."""
        category, occurred = self.find(c)
        return np.where(occurred[:, None], self.effects[category], 0.0)

    def find(self, c: Matrix) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the number of each row's category, and whether the category occurred in fitting."""
        keys, rows = _keys(self.keys), _keys(c[:, self.columns])
        order = np.argsort(keys)
        category = order[np.minimum(np.searchsorted(keys, rows, sorter=order), len(keys) - 1)]
        return category, keys[category] == rows


@dataclass(frozen=True, eq=False)
class Context(FrozenArrays):
    """Turns rows into relative behaviours and clean contexts, and back; both have the same columns in one order."""

    given: Whole  # (q,) places of the context columns
    scaling: Scaling
    line: Matrix  # (1 + q, d) the constant, then a slope for each context column
    line_of_spread: Matrix  # (1 + q, d)
    levels: tuple[CategoryEffects, ...]  # that shift the middle
    widths: tuple[CategoryEffects, ...]  # that stretch the spread
    usual: Forest
    spread: Forest
    narrowest: Matrix  # (d,)
    range: Matrix  # (2, d) the 5th and 95th percentile of the relative behaviours
    seen: Matrix  # (2, q) the smallest and largest scaled contexts
    reach: Matrix  # (2, d) the smallest and largest scaled behaviours: no kind has its middle beyond

    @property
    def behaviour(self) -> Whole:
        """Return the numbers of the columns that are not the context."""
        return np.setdiff1d(np.arange(len(self.scaling.center)), self.given)

    @classmethod
    def fit(
        cls,
        X: CheckedRows,
        scaling: Scaling,
        given: Whole,
        owner: Whole,
        seed: int,
        *,
        weighed: bool = False,
    ) -> "tuple[Context, Matrix]":
        """Fit a context model; return it, and the relative rows of X computed as if each were new to it.

        `owner` (q,) says which context columns encode the same thing, such as a category. With
        `weighed`, the spread of a column says how much it counts, as a representation set it; else all count alike.
        """
        z = scaling.scaled(X)
        c, x = z[:, given], np.delete(z, given, axis=1)
        blocks = [np.flatnonzero(owner == name) for name in np.unique(owner)]
        reach = np.stack([x.min(0), x.max(0)])
        line, levels, center_forest, rest = _middle(c, x, blocks, reach, seed)
        size = pool_degenerate_columns(_without_outliers(c, np.abs(rest), blocks, seed + 2), rest)
        size = size / _weights(x) if weighed else size
        narrowest = np.maximum(NARROWEST * size.mean(0), 1e-9)
        line_of_spread, widths, spread_forest, factor = _spread(c, size, narrowest, blocks, seed + 1)
        relative = bend(rest / (STRETCH * np.maximum(factor, narrowest)), KNEE)
        residuals = np.empty_like(z)
        residuals[:, given] = CONTEXT_SCALE * c
        residuals[:, np.setdiff1d(np.arange(z.shape[1]), given)] = relative
        context = cls(
            given=given,
            scaling=scaling,
            line=line,
            line_of_spread=line_of_spread,
            levels=levels,
            widths=widths,
            usual=center_forest,
            spread=spread_forest,
            narrowest=narrowest,
            range=np.quantile(relative, [0.05, 0.95], axis=0),
            seen=np.stack([c.min(0), c.max(0)]),
            reach=reach,
        )
        return context, residuals

    def mix_in_known_rows(self, X: CheckedRows, residuals: Matrix, seed: int) -> Matrix:  # (n, p), (n, p) -> (n, p)
        """Return the rows to train networks on: the residuals, one in KNOWN replaced by `relative` of its row of X.

        Networks must learn such rows too: where the context predicts nearly all, training rows that are scored
        again lie closer to the middle of their context than new rows do.
        """
        replaced = np.flatnonzero(np.random.default_rng(seed).random(len(residuals)) < 1 / KNOWN)
        training_rows = residuals.copy()
        training_rows[replaced] = self.relative(X[replaced])
        return training_rows

    def relative(self, X: CheckedRows) -> Matrix:  # (n, p) -> (n, p)
        """Return rows in the user's units with behaviours relative to their context, and contexts scaled down."""
        z = self.scaling.scaled(X)
        middle, spread = self._conditional_center_and_scale(z[:, self.given])
        z[:, self.behaviour] = bend((z[:, self.behaviour] - middle) / spread, KNEE)
        z[:, self.given] *= CONTEXT_SCALE
        return z

    def absolute(self, residuals: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return relative rows in the user's units: the inverse of `relative`."""
        z = residuals.astype(np.float64)
        z[:, self.given] /= CONTEXT_SCALE
        middle, spread = self._conditional_center_and_scale(z[:, self.given])
        z[:, self.behaviour] = middle + spread * unbend(z[:, self.behaviour], KNEE, farthest=50.0)
        return self.scaling.unscaled(z)

    def usual_range(self, residuals: Matrix) -> Matrix:  # (n, p) -> (2, n, p)
        """Return two rows for each row: the 5th and the 95th percentile of every behaviour in the row's context."""
        middle, spread = self._conditional_center_and_scale(residuals[:, self.given] / CONTEXT_SCALE)
        low = bend((self.reach[0] - middle) / spread, KNEE)
        high = bend((self.reach[1] - middle) / spread, KNEE)
        ends = np.stack([residuals, residuals]).astype(np.float64)
        ends[:, :, self.behaviour] = np.clip(self.range[:, None], low, high)
        return ends

    def _conditional_center_and_scale(self, c: Matrix) -> tuple[Matrix, Matrix]:  # (n, q) -> (n, d), (n, d)
        """Return the middle and the spread of the scaled behaviours given the scaled contexts."""
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        near = np.clip(c, self.seen[0] - width, self.seen[1] + width)  # far outside the range seen, no line is exact
        middle = self.line[0] + near @ self.line[1:] + sum(effects(c) for effects in self.levels) + self.usual(c)
        spread = np.maximum(self.line_of_spread[0] + near @ self.line_of_spread[1:], self.narrowest)
        for effect in (*(categories(c) for categories in self.widths), self.spread(c)):
            spread = spread * _factor(effect)
        return np.clip(middle, *self.reach), STRETCH * np.maximum(spread, self.narrowest)

    def unseen(self, X: CheckedRows) -> NDArray[np.bool_]:  # (n,)
        """Say which rows have a new context: a category that did not occur in fitting, or a number far out of range."""
        rows = dense(X).astype(np.float64)
        c = self.scaling.scaled(rows)[:, self.given]
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        new = ((c < self.seen[0] - width) | (c > self.seen[1] + width)).any(1)
        constant = self.given[~self.scaling.varying()[self.given]]  # a column that was constant has no scale
        new |= ~np.isclose(rows[:, constant], self.scaling.center[constant], rtol=1e-6, atol=1e-12).all(1)
        for effects in self.levels:
            new |= ~effects.find(c)[1]
        return np.asarray(new & ~np.isnan(c).any(1))  # a row without a vector has no context


def _middle(
    c: Matrix, x: Matrix, blocks: list[Whole], reach: Matrix, seed: int
) -> tuple[Matrix, tuple[CategoryEffects, ...], Forest, Matrix]:
    """Return the line, the categories' effects and the forest whose sum is the middle, and each row's distance from it.

    For that, each row is left out of all three.
    """
    line, rest = _line(c, x)
    levels = []
    for columns in blocks:
        if (fit := effects_of_levels(c, rest, columns)) is not None:
            effects, without_row, _ = fit
            levels.append(effects)
            rest = rest - without_row
    forest, predictions = Forest.fit(c, rest, trees=TREES_OF_CENTER, leaf=LEAF, seed=seed)
    share = share_explained(rest, predictions)
    return line, tuple(levels), forest.times(share), x - np.clip(x - rest + share * predictions, *reach)


def _spread(
    c: Matrix, size: Matrix, narrowest: Matrix, blocks: list[Whole], seed: int
) -> tuple[Matrix, tuple[CategoryEffects, ...], Forest, Matrix]:
    """Return the line, the categories' effects and the forest whose product is the spread, and each row's spread.

    For that, each row is left out of all three.
    """
    line, on_line = _line_of_spread(c, size, narrowest)
    factor = np.maximum(on_line, narrowest)
    widths = []
    for columns in blocks:
        if (fit := spread_effects(c, size / factor, columns)) is not None:
            effects, without_row = fit
            widths.append(effects)
            factor = factor * _factor(without_row)
    leaf = max(LEAF_OF_SPREAD, round(len(c) ** 0.5))
    forest, predictions = Forest.fit(c, size / factor - 1, trees=TREES_OF_SPREAD, leaf=leaf, seed=seed, means=True)
    share = share_explained(size / factor - 1, predictions)
    return line, tuple(widths), forest.times(share), factor * _factor(share * predictions)


def _without_outliers(c: Matrix, size: Matrix, blocks: list[Whole], seed: int) -> Matrix:
    """Return sizes cut at CUT_DEVIATION times the median of their context, so that outliers do not move the means."""
    _, median = Forest.fit(c, size, trees=TREES_OF_SPREAD // 2, leaf=LEAF_OF_SPREAD, seed=seed)
    for columns in blocks:
        if (groups := _grouped(c, columns)) is not None:  # a category of few rows shares leaves with others
            _, category, counts = groups
            median = np.maximum(median, medians(size, category, len(counts))[0][category])
    least = NARROWEST * np.minimum(size, np.maximum(8 * np.median(size, axis=0), 3 * size.mean(0))).mean(0)
    return np.asarray(np.minimum(size, CUT_DEVIATION * np.maximum(median, np.maximum(least, 1e-9))))


def pool_degenerate_columns(size: Matrix, rest: Matrix) -> Matrix:
    """Give all rows of a column one size if most of its rows do not deviate at all, as in an encoded category.

    By medians, such a column's other rows are outliers and its spread is zero, so that it would count for more than all
    others. It has one spread, whatever the context; networks learn how contexts differ.
    """
    lumpy = np.median(np.abs(rest), axis=0) < LUMPY * np.abs(rest).mean(0)
    return np.where(lumpy, np.sqrt(np.square(rest).mean(0)) / STRETCH, size)


def _weights(x: Matrix) -> Matrix:  # (d,)
    """Return weights of the behaviours, so that those that a representation scaled down keep their small spread.

    A text or a date is many columns, each scaled down, so that together they count as one thing.
    """
    return np.asarray(np.clip(x.std(0), 1e-9, 1.0))


def share_explained(rest: Matrix, predictions: Matrix) -> Matrix:  # (d,)
    """Return the factor, from 0 to 1, that brings the forest's predictions of rows left out closest to the truth.

    Where the context does not predict a behaviour, the factor is near 0, so that no noise is added to its middle.
    """
    bound = 8 * np.median(np.abs(rest), axis=0)
    product = (np.clip(rest, -bound, bound) * predictions).sum(0)
    square = np.square(predictions).sum(0)
    return np.asarray(np.clip(safe_divide(product, square), 0.0, 1.0))


def _factor(effect: Matrix) -> Matrix:
    """Return the factor of the spread from its relative effect: 1 + effect, and at least NARROWEST."""
    return np.asarray(np.maximum(1 + effect, NARROWEST))


def _line(c: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of x on c, (1 + q, d), and each row's residual with itself left out, (n, d)."""
    mean, offset = c.mean(0), x.mean(0)
    u, size, v = np.linalg.svd(c - mean, full_matrices=False)
    product = u.T @ (x - offset)
    fits = []
    for ridge in RIDGES:
        shrinkage = np.square(size) / (np.square(size) + ridge)
        leverage = np.minimum(1 / len(c) + np.square(u) @ shrinkage, 0.99)  # of a row in its own prediction
        residuals = (x - offset - u @ (shrinkage[:, None] * product)) / (1 - leverage)[:, None]
        fits.append((np.square(residuals).sum(), ridge, residuals))
    _, ridge, residuals = min(fits, key=lambda fit: fit[0])
    slopes = v.T @ ((size / (np.square(size) + ridge))[:, None] * product)
    return np.concatenate([(offset - mean @ slopes)[None], slopes]), residuals


def _line_of_spread(c: Matrix, size: Matrix, least: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of sizes on c, (1 + q, d), and its prediction of each row left out, (n, d).

    Where sizes are large they are also less certain: rows weigh by the inverse square of their predicted size, so that
    the line holds for narrow contexts too. It is shrunk toward the mean as far as that predicts rows left out better,
    by the likelihood of exponential sizes: a line that predicts tiny sizes for wide rows is worse than none.
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


def effects_of_levels(
    c: Matrix, rest: Matrix, columns: Whole, *, beyond_chance: bool = False
) -> tuple[CategoryEffects, Matrix, Matrix] | None:
    """Return the effects of categories on the rest, and those of each row's category computed without the row.

    None: there are no categories. An effect is a mean shrunk toward 0, the more so the fewer rows it is the mean of: by
    the ratio of the variance within categories to that between them. The third result, (categories, d), is the factor
    of shrinkage. With `beyond_chance`, no row is taken for an outlier, and categories must differ by more than chance.
    """
    if (groups := _grouped(c, columns)) is None:
        return None
    first, category, counts = groups
    values = rest
    if not beyond_chance:
        middle = medians(rest, category, len(counts))[0][category]
        bound = 3 * np.median(np.abs(rest - middle), axis=0) + 1e-12  # an outlier counts as if it lay there
        values = middle + np.clip(rest - middle, -bound, bound)
    sums = np.stack([np.bincount(category, column, minlength=len(counts)) for column in values.T], axis=1)
    means = sums / counts[:, None]
    within = np.square(values - means[category]).sum(0) / max(len(c) - len(counts), 1)
    chance = _chance(counts) if beyond_chance else len(counts) / len(c)
    between = np.average(np.square(means), axis=0, weights=counts) - within * chance
    draw = within / np.maximum(between, 1e-3 * within + 1e-12)  # (d,)
    effects = CategoryEffects(columns, c[first][:, columns], sums / (counts[:, None] + draw))
    without_row = (sums[category] - values) / (counts[category][:, None] - 1 + draw)
    return effects, without_row, counts[:, None] / (counts[:, None] + draw)


def spread_effects(c: Matrix, ratio: Matrix, columns: Whole) -> tuple[CategoryEffects, Matrix] | None:
    """Return the effects of categories on the spread, and those of each row's category computed without the row.

    None: there are no categories. Ratios are sizes divided by their predictions. A category's is the mean of its rows',
    on a logarithmic scale, on which it is as certain for narrow categories as for wide ones, and is shrunk toward 0 as
    an effect is.
    """
    if (groups := _grouped(c, columns)) is None:
        return None
    first, category, counts = groups
    medians_of_rows = medians(ratio, category, len(counts))[0][category]
    ratio = np.minimum(ratio, WIDEST * medians_of_rows)  # few rows are soon all outliers
    sums = np.stack([np.bincount(category, column, minlength=len(counts)) for column in ratio.T], axis=1)
    least = NARROWEST * ratio.mean(0)
    means = np.maximum(sums / counts[:, None], least)
    within = np.square(ratio / means[category] - 1).sum(0) / max(len(c) - len(counts), 1)
    between = np.average(np.square(np.log(means)), axis=0, weights=counts) - within * _chance(counts)
    draw = np.maximum(within / np.maximum(between, 1e-3 * within + 1e-12), 1e-9)  # (d,)
    others = counts[category][:, None] - 1
    without_row = np.maximum((sums[category] - ratio) / np.maximum(others, 1), least)

    def shrunk(means: Matrix, n: Whole) -> Matrix:
        return np.asarray(np.exp(np.log(means) * (n / (n + draw))) * (1 + NEW_ROW / (n + 1 + draw)) - 1)

    effects = CategoryEffects(columns, c[first][:, columns], shrunk(means, counts[:, None]))
    return effects, shrunk(without_row, others)


def _chance(counts: Whole) -> float:
    """Return the variance of the categories' means by chance, plus a standard error, over that within categories."""
    return float((len(counts) + np.sqrt(2 * len(counts))) / counts.sum())


def _grouped(c: Matrix, columns: Whole) -> tuple[Whole, Whole, Whole] | None:
    """Return the first row of each category, each row's category, and their counts; None where values hardly recur."""
    _, first, category, counts = np.unique(
        _keys(c[:, columns]), return_index=True, return_inverse=True, return_counts=True
    )
    return None if len(counts) < 3 or len(c) < ROWS_PER_CATEGORY * len(counts) else (first, category, counts)


def _keys(values: Matrix) -> NDArray[np.generic]:
    """Return rows as values that can be ordered and compared, whatever their number of columns."""
    exact = np.ascontiguousarray(values + 0.0)  # which makes 0 of -0
    return exact[:, 0] if exact.shape[1] == 1 else exact.view(np.dtype((np.void, 8 * exact.shape[1]))).ravel()


QUANTILES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.14, 0.2, 0.3, 0.5, 0.75)  # of the scores of all rows: the knots
TENTH = QUANTILES.index(0.1)
TREES_OF_SHIFT, FEWEST = 12, 50  # of the forest: its trees, and the rows of a leaf at least
CLOSEST, LEAST = 0.02, 1e-3  # least distance of two knots, in units; and of two shares, and of a share from 0 and 1
LARGEST_SHIFT = 1.0  # largest shift of a score, in units, so that outliers in a kind do not hide one another
FLATTEST = 0.05  # least gap between two shifted knots, as a share of the gap between the knots


@dataclass(frozen=True, eq=False)
class ContextCalibration(FrozenArrays):
    """The share of rows of each context that scores below each knot; scores are shifted so that these shares agree."""

    given: Whole  # (q,) places of the context columns
    knots: Matrix  # (2, k) of the global and of the local units, rising
    shares: Matrix  # (2, k) of all rows below them, rising
    levels: tuple[CategoryEffects, ...]  # what each level adds to the shares, (.., 2 k)
    own: tuple[Matrix, ...]  # (..) for each of these levels, the weight of its own rows: 0, not at all, to 1, alone
    forest: Forest

    @classmethod
    def fit(
        cls, rows: Matrix, units: Matrix, given: Whole, categories: Sequence[Whole], seed: int
    ) -> "tuple[ContextCalibration, Matrix]":
        """Fit the shares to relative rows and their units, (n, 2); return them, and the units shifted as for new rows.

        `categories` are groups of context columns: those that encode one thing, such as a country, are a group.
        """
        c, knots = rows[:, given] / CONTEXT_SCALE, enforce_increasing(np.quantile(units, QUANTILES, axis=0).T, CLOSEST)
        below = np.concatenate([units[:, [head]] <= knots[head] for head in (0, 1)], axis=1).astype(np.float64)
        shares = np.clip(enforce_increasing(below.mean(0).reshape(2, -1), LEAST), LEAST, 1 - LEAST)
        rest = below - below.mean(0)
        axes = np.linalg.eigh(np.cov(below.T))[1]  # (2 k, 2 k) principal axes of the variation by chance
        levels, weights = [], []
        explained = np.zeros_like(below)
        for columns in categories:
            if (fit := effects_of_levels(c, (rest - explained) @ axes, columns, beyond_chance=True)) is not None:
                effects, without_row, shrinkage = fit
                levels.append(replace(effects, effects=effects.effects @ axes.T))
                weights.append((shrinkage @ np.square(axes).T)[:, TENTH :: len(QUANTILES)].mean(1))
                explained = explained + without_row @ axes.T
        leaf = max(FEWEST, round(len(c) ** 0.5))
        forest, more = Forest.fit(c, rest - explained, trees=TREES_OF_SHIFT, leaf=leaf, seed=seed, means=True)
        share = share_explained(rest - explained, more)
        model = cls(given, knots, shares, tuple(levels), tuple(weights), forest.times(share))
        return model, model.shift(units, explained + share * more)

    def __call__(self, units: Matrix, rows: Matrix) -> Matrix:  # (n, 2), (n, p) -> (n, 2)
        """Return the head scores of relative rows, shifted by context."""
        c = rows[:, self.given] / CONTEXT_SCALE
        return self.shift(units, self.forest(c) + sum(effects(c) for effects in self.levels))

    def shift(self, units: Matrix, excess: Matrix) -> Matrix:  # (n, 2), (n, 2 k) -> (n, 2)
        """Shift head scores to where the same share of all rows lies below as lay of those of the row's context.

        `excess` is by how much the context's share below each knot exceeds that of all rows.
        """
        shifted = np.empty_like(units)
        for head, (knots, of_head) in enumerate(zip(self.knots, np.split(excess, 2, axis=1), strict=True)):
            gaps, targets, u = np.diff(knots), self.targets(head, of_head), units[:, head]
            passed = np.clip(u[:, None] - knots[:-1], 0.0, gaps)
            beyond = np.minimum(u - knots[0], 0.0) + np.maximum(u - knots[-1], 0.0)  # where the shift is constant
            shifted[:, head] = targets[:, 0] + (passed * (np.diff(targets) / gaps)).sum(1) + beyond
        return shifted

    def targets(self, head: int, excess: Matrix) -> Matrix:  # (n, k) -> (n, k)
        """Return where the knots are shifted to, from the excess of a context's shares over those of all rows.

        They stay in order. Between two knots, scores of all rows are taken to rise with the log-odds of the share
        below.
        """
        knots, odds_of_all, slopes = self.knots[head], log_odds(self.shares[head]), self.slopes()[head]
        odds = log_odds(np.clip(self.shares[head] + excess, LEAST, 1 - LEAST))
        inside = np.clip(odds[:, :, None] - odds_of_all[:-1], 0.0, np.diff(odds_of_all)) @ slopes
        beyond = np.minimum(odds - odds_of_all[0], 0.0) * slopes[0]
        beyond = beyond + np.maximum(odds - odds_of_all[-1], 0.0) * slopes[-1]
        at = np.clip(knots[0] + inside + beyond, knots - LARGEST_SHIFT, knots + LARGEST_SHIFT)
        return enforce_increasing(at, FLATTEST * np.diff(knots))

    def count_categories(self) -> dict[str, int]:
        """Count the categories calibrated mostly by their own rows ("own"), and those mostly by all rows ("shared")."""
        by_own_rows = sum(int((weights >= 0.5).sum()) for weights in self.own)
        return {"own": by_own_rows, "shared": sum(map(len, self.own)) - by_own_rows}

    def slopes(self) -> Matrix:  # (2, k - 1)
        """Return how fast scores of all rows rise with the log-odds of the share below, between the knots.

        Where a head scores nearly all rows alike, as of a state that hardly changes, shares do not rise: none shifts.
        """
        knots, odds = np.diff(self.knots), np.diff(log_odds(self.shares))
        return np.divide(knots, odds, out=np.zeros_like(knots), where=odds > 0)


def log_odds(share: Matrix) -> Matrix:
    """Return log(share / (1 - share))."""
    return np.asarray(np.log(share / (1 - share)))


def enforce_increasing(values: Matrix, least: float | NDArray[np.float64]) -> Matrix:  # (n, k) -> (n, k)
    """Raise values where needed so that each is at least `least` larger than the one before it in its row."""
    steps = np.broadcast_to(least, values.shape[1] - 1)
    climb = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.maximum.accumulate(values - climb, axis=1) + climb)
