"""Model behaviours given a context, and compare scores within kinds of rows.

A context model is fitted before the networks. What is usual given the context is a sum: a line through the numbers, an
effect for every level of a value that recurs (a country, a month), shrunk toward 0 where its rows are few, and what a
forest predicts of the rest. The spread is a product of the same three. Networks then learn the density of these
relative behaviours, given the context as a further, clean input. The rows it is fitted on are treated as new ones: each
row is left out of its own line, of its level's effect, and of the trees.

Rows relative to their kinds still differ by kind in the shape of their distribution, and networks smooth over that. So
at some values, the knots, it is learned which share of the rows of each kind scores below: that of all rows, plus what
each level of the context adds, shrunk where its rows are few, and what a forest predicts. Shares at all knots are
shrunk together, along the principal axes of their variation by chance: so a kind of 40 rows has its own tail where
kinds differ in theirs, though few of the rows lie in it. A score is then moved to where that share of all rows lies
below it. So a kind of many rows is measured by its own rows (Mondrian calibration), one of few by those of all; and
thresholds, p-values and regions that hold for all rows hold within kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays
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
LEVEL = 15  # fewest rows per level, on average, for a column to have levels
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
    """Hold the effects of the levels of one context: of a column, or of the columns that encode one."""

    columns: Whole  # (w,) places among the context columns
    keys: Matrix  # (levels, w) scaled, in order
    effects: Matrix  # (levels, d)

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, d)
        """Return the effects of these rows' levels; 0 for a level that was never seen."""
        at, known = self.find(c)
        return np.where(known[:, None], self.effects[at], 0.0)

    def find(self, c: Matrix) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the number of each row's level, and whether the level was seen in fitting."""
        keys, rows = _keys(self.keys), _keys(c[:, self.columns])
        order = np.argsort(keys)
        at = order[np.minimum(np.searchsorted(keys, rows, sorter=order), len(keys) - 1)]
        return at, keys[at] == rows


@dataclass(frozen=True, eq=False)
class Context(FrozenArrays):
    """Turn rows into relative behaviours and clean contexts, and back; both have as many columns, in the same order."""

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
        line, levels, usual, rest = _middle(c, x, blocks, reach, seed)
        size = pool_degenerate_columns(_without_outliers(c, np.abs(rest), blocks, seed + 2), rest)
        size = size / _weights(x) if weighed else size
        narrowest = np.maximum(NARROWEST * size.mean(0), 1e-9)
        line_of_spread, widths, spread, factor = _spread(c, size, narrowest, blocks, seed + 1)
        relative = _bent(rest / (STRETCH * np.maximum(factor, narrowest)))
        made = np.empty_like(z)
        made[:, given], made[:, np.setdiff1d(np.arange(z.shape[1]), given)] = CONTEXT_SCALE * c, relative
        ends, seen = np.quantile(relative, [0.05, 0.95], axis=0), np.stack([c.min(0), c.max(0)])
        parts = (line, line_of_spread, levels, widths, usual, spread)
        return cls(given, scaling, *parts, narrowest, ends, seen, reach), made

    def mix_in_known_rows(self, X: CheckedRows, made: Matrix, seed: int) -> Matrix:  # (n, p), (n, p) -> (n, p)
        """Return the rows to train networks on: `made`, with one row in KNOWN replaced by `relative` of its row of X.

        Networks must know such rows too: where the context predicts nearly all, training rows that are scored
        again lie closer to the middle of their kind than new rows do.
        """
        known = np.flatnonzero(np.random.default_rng(seed).random(len(made)) < 1 / KNOWN)
        shown = made.copy()
        shown[known] = self.relative(X[known])
        return shown

    def relative(self, X: CheckedRows) -> Matrix:  # (n, p) -> (n, p)
        """Return rows in the user's units with behaviours relative to their kinds, and contexts scaled down."""
        z = self.scaling.scaled(X)
        middle, spread = self._conditional_center_and_scale(z[:, self.given])
        z[:, self.behaviour] = _bent((z[:, self.behaviour] - middle) / spread)
        z[:, self.given] *= CONTEXT_SCALE
        return z

    def absolute(self, made: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return relative rows in the user's units: the inverse of `relative`."""
        z = made.astype(np.float64)
        z[:, self.given] /= CONTEXT_SCALE
        middle, spread = self._conditional_center_and_scale(z[:, self.given])
        z[:, self.behaviour] = middle + spread * _unbent(z[:, self.behaviour])
        return self.scaling.unscaled(z)

    def usual_range(self, made: Matrix) -> Matrix:  # (n, p) -> (2, n, p)
        """Return two rows for each row: the 5th and the 95th percentile of every behaviour in the row's kind."""
        middle, spread = self._conditional_center_and_scale(made[:, self.given] / CONTEXT_SCALE)
        low, high = (_bent((end - middle) / spread) for end in self.reach)
        ends = np.stack([made, made]).astype(np.float64)
        ends[:, :, self.behaviour] = np.clip(self.range[:, None], low, high)
        return ends

    def _conditional_center_and_scale(self, c: Matrix) -> tuple[Matrix, Matrix]:  # (n, q) -> (n, d), (n, d)
        """Return the middle and the spread of the scaled behaviours given the scaled contexts."""
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        near = np.clip(c, self.seen[0] - width, self.seen[1] + width)  # far outside the range seen, no line is exact
        middle = self.line[0] + near @ self.line[1:] + sum(level(c) for level in self.levels) + self.usual(c)
        spread = np.maximum(self.line_of_spread[0] + near @ self.line_of_spread[1:], self.narrowest)
        for said in (*(level(c) for level in self.widths), self.spread(c)):
            spread = spread * _factor(said)
        return np.clip(middle, *self.reach), STRETCH * np.maximum(spread, self.narrowest)

    def unseen(self, X: CheckedRows) -> NDArray[np.bool_]:  # (n,)
        """Say which rows have a new context: a level not seen in fitting, or a number far outside the range seen."""
        rows = dense(X).astype(np.float64)
        c = self.scaling.scaled(rows)[:, self.given]
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        new = ((c < self.seen[0] - width) | (c > self.seen[1] + width)).any(1)
        constant = self.given[~self.scaling.varying()[self.given]]  # a column that was constant has no scale
        new |= ~np.isclose(rows[:, constant], self.scaling.center[constant], rtol=1e-6, atol=1e-12).all(1)
        for level in self.levels:
            new |= ~level.find(c)[1]
        return np.asarray(new & ~np.isnan(c).any(1))  # a row without a vector has no kind


def _middle(
    c: Matrix, x: Matrix, blocks: list[Whole], reach: Matrix, seed: int
) -> tuple[Matrix, tuple[CategoryEffects, ...], Forest, Matrix]:
    """Return the line, the levels' effects and the forest that tell what is usual, and how far each row is from it.

    For that, each row is left out of all three.
    """
    line, rest = _line(c, x)
    levels = []
    for columns in blocks:
        if (found := effects_of_levels(c, rest, columns)) is not None:
            levels.append(found[0])
            rest = rest - found[1]
    usual, unseen = Forest.fit(c, rest, trees=TREES_OF_CENTER, leaf=LEAF, seed=seed)
    share = share_explained(rest, unseen)
    return line, tuple(levels), usual.times(share), x - np.clip(x - rest + share * unseen, *reach)


def _spread(
    c: Matrix, size: Matrix, narrowest: Matrix, blocks: list[Whole], seed: int
) -> tuple[Matrix, tuple[CategoryEffects, ...], Forest, Matrix]:
    """Return the line, the levels' effects and the forest whose product is the spread, and each row's own spread.

    For that, each row is left out of all three.
    """
    line, on_line = _line_of_spread(c, size, narrowest)
    factor, widths = np.maximum(on_line, narrowest), []
    for columns in blocks:
        if (stretched := _widths(c, size / factor, columns)) is not None:
            widths.append(stretched[0])
            factor = factor * _factor(stretched[1])
    leaf = max(LEAF_OF_SPREAD, round(len(c) ** 0.5))
    forest, more = Forest.fit(c, size / factor - 1, trees=TREES_OF_SPREAD, leaf=leaf, seed=seed, means=True)
    share = share_explained(size / factor - 1, more)
    return line, tuple(widths), forest.times(share), factor * _factor(share * more)


def _without_outliers(c: Matrix, size: Matrix, blocks: list[Whole], seed: int) -> Matrix:
    """Return sizes cut at FARTHEST times the median of their kind, so that outliers do not move the means."""
    _, median = Forest.fit(c, size, trees=TREES_OF_SPREAD // 2, leaf=LEAF_OF_SPREAD, seed=seed)
    for columns in blocks:
        if (found := _grouped(c, columns)) is not None:  # a level of few rows shares leaves with others
            median = np.maximum(median, medians(size, found[1], len(found[2]))[0][found[1]])
    least = NARROWEST * np.minimum(size, np.maximum(8 * np.median(size, axis=0), 3 * size.mean(0))).mean(0)
    return np.asarray(np.minimum(size, CUT_DEVIATION * np.maximum(median, np.maximum(least, 1e-9))))


def pool_degenerate_columns(size: Matrix, rest: Matrix) -> Matrix:
    """Give all rows of a column one size if most of its rows do not deviate at all, as in an encoded category.

    By medians, such a column's other rows are outliers and its spread is zero, so that it would count for more than all
    others. It has one spread, whatever the kind; networks learn how kinds differ.
    """
    lumpy = np.median(np.abs(rest), axis=0) < LUMPY * np.abs(rest).mean(0)
    return np.where(lumpy, np.sqrt(np.square(rest).mean(0)) / STRETCH, size)


def _weights(x: Matrix) -> Matrix:  # (d,)
    """Return weights of the behaviours, so that those that a representation scaled down keep their small spread.

    A text or a date is many columns, each scaled down, so that together they count as one thing.
    """
    return np.asarray(np.clip(x.std(0), 1e-9, 1.0))


def share_explained(rest: Matrix, said: Matrix) -> Matrix:  # (d,)
    """Return the factor, from 0 to 1, that brings the forest's predictions of rows left out closest to the truth.

    Where the context does not predict a behaviour, the factor is near 0, so that no noise is added to its middle.
    """
    most = 8 * np.median(np.abs(rest), axis=0)
    pulled, square = (np.clip(rest, -most, most) * said).sum(0), np.square(said).sum(0)
    return np.asarray(np.clip(np.divide(pulled, square, out=np.zeros_like(square), where=square > 0), 0.0, 1.0))


def _factor(effect: Matrix) -> Matrix:
    """Return the factor of the spread from its relative effect: 1 + effect, and at least NARROWEST."""
    return np.asarray(np.maximum(1 + effect, NARROWEST))


def _line(c: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of x on c, (1 + q, d), and each row's residual with itself left out, (n, d)."""
    mean, offset = c.mean(0), x.mean(0)
    u, size, v = np.linalg.svd(c - mean, full_matrices=False)
    pulled, found = u.T @ (x - offset), []
    for ridge in RIDGES:
        kept = np.square(size) / (np.square(size) + ridge)
        own = np.minimum(1 / len(c) + np.square(u) @ kept, 0.99)  # how much a row counts in its own prediction
        off = (x - offset - u @ (kept[:, None] * pulled)) / (1 - own)[:, None]
        found.append((np.square(off).sum(), ridge, off))
    _, ridge, off = min(found, key=lambda each: each[0])
    slopes = v.T @ ((size / (np.square(size) + ridge))[:, None] * pulled)
    return np.concatenate([(offset - mean @ slopes)[None], slopes]), off


def _line_of_spread(c: Matrix, size: Matrix, least: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of sizes on c, (1 + q, d), and its prediction of each row left out, (n, d).

    Where sizes are large they are also less certain: rows weigh by the inverse square of their predicted size, so that
    the line holds for narrow kinds too. It is shrunk toward the mean as far as that predicts rows left out better, by
    the likelihood of exponential sizes: a line that predicts tiny sizes for wide rows is worse than none.
    """
    rows, penalty = np.column_stack([np.ones(len(c)), c]), np.diag([1e-9] + [RIDGE_OF_SPREAD] * c.shape[1])
    line, without = np.zeros((rows.shape[1], size.shape[1])), np.empty_like(size)
    for column, wanted in enumerate(size.T):
        said = np.full(len(c), max(float(wanted.mean()), 1e-12))
        for _ in range(ROUNDS):
            weight = 1 / np.square(np.maximum(said, least[column]))
            weight /= weight.mean()
            inverse = np.linalg.inv((rows * weight[:, None]).T @ rows + penalty)
            line[:, column] = inverse @ (rows.T @ (weight * wanted))
            said = rows @ line[:, column]
        own = np.minimum(weight * np.einsum("ij,ij->i", rows @ inverse, rows), 0.99)
        without[:, column] = said - own / (1 - own) * (wanted - said)
    mean = np.maximum(size.mean(0), 1e-12)
    said = np.maximum(mean + np.multiply.outer(SHARES, without - mean), least)  # (shares, n, d)
    share = SHARES[(size / said + np.log(said)).mean(1).argmin(0)]
    line *= share
    line[0] += (1 - share) * mean
    return line, mean + share * (without - mean)


def effects_of_levels(
    c: Matrix, rest: Matrix, columns: Whole, *, doubt: bool = False
) -> tuple[CategoryEffects, Matrix, Matrix] | None:
    """Return the levels' effects on the rest, and those of each row's level with the row left out; None: no levels.

    An effect is a mean shrunk toward 0, the more so the fewer rows it is the mean of: by the ratio of the variance
    within levels to that between them. The third result, (levels, d), is the share of the mean that is kept. With
    `doubt`, no row is taken for an outlier, and levels must differ by more than chance.
    """
    if (grouped := _grouped(c, columns)) is None:
        return None
    first, level, counts = grouped
    kept = rest
    if not doubt:
        middle = medians(rest, level, len(counts))[0][level]
        most = 3 * np.median(np.abs(rest - middle), axis=0) + 1e-12  # an outlier counts as if it lay at this bound
        kept = middle + np.clip(rest - middle, -most, most)
    sums = np.stack([np.bincount(level, column, minlength=len(counts)) for column in kept.T], axis=1)
    means = sums / counts[:, None]
    within = np.square(kept - means[level]).sum(0) / max(len(c) - len(counts), 1)
    chance = _chance(counts) if doubt else len(counts) / len(c)
    between = np.average(np.square(means), axis=0, weights=counts) - within * chance
    draw = within / np.maximum(between, 1e-3 * within + 1e-12)  # (d,)
    effects = sums / (counts[:, None] + draw)
    without = (sums[level] - kept) / (counts[level][:, None] - 1 + draw)
    return CategoryEffects(columns, c[first][:, columns], effects), without, counts[:, None] / (counts[:, None] + draw)


def _widths(c: Matrix, ratio: Matrix, columns: Whole) -> tuple[CategoryEffects, Matrix] | None:
    """Return each level's effect on the spread, and that of each row's level with the row left out; None: no levels.

    Ratios are sizes divided by their predictions. A level's is the mean of its rows', on a logarithmic scale, on
    which it is as certain for narrow levels as for wide ones, and is shrunk toward 0 as an effect is.
    """
    if (grouped := _grouped(c, columns)) is None:
        return None
    first, level, counts = grouped
    ratio = np.minimum(ratio, WIDEST * medians(ratio, level, len(counts))[0][level])  # few rows are soon all outliers
    sums = np.stack([np.bincount(level, column, minlength=len(counts)) for column in ratio.T], axis=1)
    least = NARROWEST * ratio.mean(0)
    means = np.maximum(sums / counts[:, None], least)
    within = np.square(ratio / means[level] - 1).sum(0) / max(len(c) - len(counts), 1)
    between = np.average(np.square(np.log(means)), axis=0, weights=counts) - within * _chance(counts)
    draw = np.maximum(within / np.maximum(between, 1e-3 * within + 1e-12), 1e-9)  # (d,)
    others = counts[level][:, None] - 1
    without = np.maximum((sums[level] - ratio) / np.maximum(others, 1), least)

    def widened(means: Matrix, n: Whole) -> Matrix:
        return np.asarray(np.exp(np.log(means) * (n / (n + draw))) * (1 + NEW_ROW / (n + 1 + draw)) - 1)

    return CategoryEffects(columns, c[first][:, columns], widened(means, counts[:, None])), widened(without, others)


def _chance(counts: Whole) -> float:
    """Return the variance of the levels' means by chance, plus a standard error, as a share of that within levels."""
    return float((len(counts) + np.sqrt(2 * len(counts))) / counts.sum())


def _grouped(c: Matrix, columns: Whole) -> tuple[Whole, Whole, Whole] | None:
    """Return the first row of each level, each row's level and the levels' counts; None where values hardly recur."""
    _, first, level, counts = np.unique(
        _keys(c[:, columns]), return_index=True, return_inverse=True, return_counts=True
    )
    return None if len(counts) < 3 or len(c) < LEVEL * len(counts) else (first, level, counts)


def _keys(values: Matrix) -> NDArray[np.generic]:
    """Return rows as values that can be ordered and compared, whatever their number of columns."""
    exact = np.ascontiguousarray(values + 0.0)  # which makes 0 of -0
    return exact[:, 0] if exact.shape[1] == 1 else exact.view(np.dtype((np.void, 8 * exact.shape[1]))).ravel()


def _bent(r: Matrix) -> Matrix:
    far = np.maximum(np.abs(r) - KNEE, 0.0)
    return np.asarray(np.sign(r) * (np.minimum(np.abs(r), KNEE) + np.log1p(far)))


def _unbent(r: Matrix) -> Matrix:
    far = np.minimum(np.maximum(np.abs(r) - KNEE, 0.0), 50.0)
    return np.asarray(np.sign(r) * (np.minimum(np.abs(r), KNEE) + np.expm1(far)))


QUANTILES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.14, 0.2, 0.3, 0.5, 0.75)  # of the scores of all rows: the knots
TENTH = QUANTILES.index(0.1)
TREES_OF_SHIFT, FEWEST = 12, 50  # of the forest: its trees, and the rows of a leaf at least
CLOSEST, LEAST = 0.02, 1e-3  # least distance of two knots, in units; and of two shares, and of a share from 0 and 1
LARGEST_SHIFT = 1.0  # largest shift of a score, in units, so that outliers in a kind do not hide one another
FLATTEST = 0.05  # least gap between two shifted knots, as a share of the gap between the knots


@dataclass(frozen=True, eq=False)
class ContextCalibration(FrozenArrays):
    """Hold the share of each kind's rows that scores below each knot, and shift scores so that these shares agree."""

    given: Whole  # (q,) places of the context columns
    knots: Matrix  # (2, k) of the global and of the local units, rising
    shares: Matrix  # (2, k) of all rows below them, rising
    levels: tuple[CategoryEffects, ...]  # what each level adds to the shares, (.., 2 k)
    own: tuple[Matrix, ...]  # (..) for each of these levels, the weight of its own rows: 0, not at all, to 1, alone
    forest: Forest

    @classmethod
    def fit(
        cls, rows: Matrix, units: Matrix, given: Whole, things: Sequence[Whole], seed: int
    ) -> "tuple[ContextCalibration, Matrix]":
        """Fit the shares to relative rows and their units, (n, 2); return them, and the units shifted as for new rows.

        `things` are groups of context columns that have levels: the columns that encode one category are a group.
        """
        c, knots = rows[:, given] / CONTEXT_SCALE, enforce_increasing(np.quantile(units, QUANTILES, axis=0).T, CLOSEST)
        below = np.concatenate([units[:, [head]] <= knots[head] for head in (0, 1)], axis=1).astype(np.float64)
        shares = np.clip(enforce_increasing(below.mean(0).reshape(2, -1), LEAST), LEAST, 1 - LEAST)
        rest, levels, own, said = below - below.mean(0), [], [], np.zeros_like(below)
        ways = np.linalg.eigh(np.cov(below.T))[1]  # (2 k, 2 k) principal axes of the variation by chance
        for columns in things:
            if (found := effects_of_levels(c, (rest - said) @ ways, columns, doubt=True)) is not None:
                levels.append(replace(found[0], effects=found[0].effects @ ways.T))
                own.append((found[2] @ np.square(ways).T)[:, TENTH :: len(QUANTILES)].mean(1))
                said = said + found[1] @ ways.T
        leaf = max(FEWEST, round(len(c) ** 0.5))
        forest, more = Forest.fit(c, rest - said, trees=TREES_OF_SHIFT, leaf=leaf, seed=seed, means=True)
        share = share_explained(rest - said, more)
        model = cls(given, knots, shares, tuple(levels), tuple(own), forest.times(share))
        return model, model.shift(units, said + share * more)

    def __call__(self, units: Matrix, rows: Matrix) -> Matrix:  # (n, 2), (n, p) -> (n, 2)
        """Return the units of relative rows, shifted by kind."""
        c = rows[:, self.given] / CONTEXT_SCALE
        return self.shift(units, self.forest(c) + sum(level(c) for level in self.levels))

    def shift(self, units: Matrix, said: Matrix) -> Matrix:  # (n, 2), (n, 2 k) -> (n, 2)
        """Shift units to where the same share of all rows lies below as lay of the row's kind.

        `said` is by how much the kind's share below each knot exceeds that of all rows.
        """
        found = np.empty_like(units)
        for head, (knots, more) in enumerate(zip(self.knots, np.split(said, 2, axis=1), strict=True)):
            gaps, targets, u = np.diff(knots), self.targets(head, more), units[:, head]
            passed = np.clip(u[:, None] - knots[:-1], 0.0, gaps)
            beyond = np.minimum(u - knots[0], 0.0) + np.maximum(u - knots[-1], 0.0)  # where the shift is constant
            found[:, head] = targets[:, 0] + (passed * (np.diff(targets) / gaps)).sum(1) + beyond
        return found

    def targets(self, head: int, more: Matrix) -> Matrix:  # (n, k) -> (n, k)
        """Return where the knots are shifted to, from `more`, by how much a kind's shares exceed those of all rows.

        They stay in order. Between two knots, scores of all rows are taken to rise with the log-odds of the share
        below.
        """
        knots, usual, slopes = self.knots[head], log_odds(self.shares[head]), self.slopes()[head]
        odds = log_odds(np.clip(self.shares[head] + more, LEAST, 1 - LEAST))
        inside = np.clip(odds[:, :, None] - usual[:-1], 0.0, np.diff(usual)) @ slopes
        beyond = np.minimum(odds - usual[0], 0.0) * slopes[0] + np.maximum(odds - usual[-1], 0.0) * slopes[-1]
        at = np.clip(knots[0] + inside + beyond, knots - LARGEST_SHIFT, knots + LARGEST_SHIFT)
        return enforce_increasing(at, FLATTEST * np.diff(knots))

    def count_categories(self) -> dict[str, int]:
        """Count the levels calibrated mostly by their own rows ("own"), and those mostly by all rows ("shared")."""
        own = [int((weights >= 0.5).sum()) for weights in self.own]
        return {"own": sum(own), "shared": sum(map(len, self.own)) - sum(own)}

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
