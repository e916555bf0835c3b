"""Make rows relative to their context: subtract from each behaviour the middle of its kind, divide by its spread.

A context model is fitted before the networks. What is usual given the context is a sum: a line through the numbers, an
effect for every level of a value that recurs (a country, a month), shrunk toward 0 where its rows are few, and what a
forest predicts of the rest. The spread is a product of the same three. Networks then learn the density of these
relative behaviours, given the context as a further, clean input. The rows it is fitted on are treated as new ones: each
row is left out of its own line, of its level's effect, and of the trees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows
from centrality._values import Value
from centrality.network.forest import Forest, medians
from centrality.network.scaling import Scaling, dense

CLEAN = 0.125  # the factor of scaled contexts before the network: small, so that outputs change little with them;
# a power of two, so that dividing by it restores the same bits
RIDGES = (0.1, 1.0, 10.0, 100.0)  # penalties of the line that are tried
RIDGE_OF_SPREAD, ROUNDS = 10.0, 3  # the penalty of the line of the spread, and how often its rows are reweighted
SHARES = np.linspace(0, 1, 5)  # of it that are tried
LEVEL = 15  # fewest rows per level, on average, for a column to have levels
TREES, LEAF = 40, 5  # of the forest that tells what is usual
TREES_OF_SPREAD, LEAF_OF_SPREAD = 24, 20
STRETCH = 1.25  # from a mean absolute deviation to a standard deviation
WIDEST = 3.0  # a row counts for the spread of its level with at most so many times the level's median
FARTHEST = 4.0  # deviations are cut at so many times the median deviation of their kind
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
class Levels(Value):
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
class Context(Value):
    """Turn rows into relative behaviours and clean contexts, and back; both have as many columns, in the same order."""

    given: Whole  # (q,) places of the context columns
    scaling: Scaling
    line: Matrix  # (1 + q, d) the constant, then a slope for each context column
    line_of_spread: Matrix  # (1 + q, d)
    levels: tuple[Levels, ...]  # that shift the middle
    widths: tuple[Levels, ...]  # that stretch the spread
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
        size = _without_lumps(_without_outliers(c, np.abs(rest), blocks, seed + 2), rest)
        size = size / _weights(x) if weighed else size
        narrowest = np.maximum(NARROWEST * size.mean(0), 1e-9)
        line_of_spread, widths, spread, factor = _spread(c, size, narrowest, blocks, seed + 1)
        relative = _bent(rest / (STRETCH * np.maximum(factor, narrowest)))
        made = np.empty_like(z)
        made[:, given], made[:, np.setdiff1d(np.arange(z.shape[1]), given)] = CLEAN * c, relative
        ends, seen = np.quantile(relative, [0.05, 0.95], axis=0), np.stack([c.min(0), c.max(0)])
        parts = (line, line_of_spread, levels, widths, usual, spread)
        return cls(given, scaling, *parts, narrowest, ends, seen, reach), made

    def shown(self, X: CheckedRows, made: Matrix, seed: int) -> Matrix:  # (n, p), (n, p) -> (n, p)
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
        middle, spread = self._kind(z[:, self.given])
        z[:, self.behaviour] = _bent((z[:, self.behaviour] - middle) / spread)
        z[:, self.given] *= CLEAN
        return z

    def absolute(self, made: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return relative rows in the user's units: the inverse of `relative`."""
        z = made.astype(np.float64)
        z[:, self.given] /= CLEAN
        middle, spread = self._kind(z[:, self.given])
        z[:, self.behaviour] = middle + spread * _unbent(z[:, self.behaviour])
        return self.scaling.unscaled(z)

    def usual_range(self, made: Matrix) -> Matrix:  # (n, p) -> (2, n, p)
        """Return two rows for each row: the 5th and the 95th percentile of every behaviour in the row's kind."""
        middle, spread = self._kind(made[:, self.given] / CLEAN)
        low, high = (_bent((end - middle) / spread) for end in self.reach)
        ends = np.stack([made, made]).astype(np.float64)
        ends[:, :, self.behaviour] = np.clip(self.range[:, None], low, high)
        return ends

    def _kind(self, c: Matrix) -> tuple[Matrix, Matrix]:  # (n, q) -> (n, d), (n, d)
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
) -> tuple[Matrix, tuple[Levels, ...], Forest, Matrix]:
    """Return the line, the levels' effects and the forest that tell what is usual, and how far each row is from it.

    For that, each row is left out of all three.
    """
    line, rest = _line(c, x)
    levels = []
    for columns in blocks:
        if (found := effects_of_levels(c, rest, columns)) is not None:
            levels.append(found[0])
            rest = rest - found[1]
    usual, unseen = Forest.fit(c, rest, trees=TREES, leaf=LEAF, seed=seed)
    share = share_explained(rest, unseen)
    return line, tuple(levels), usual.times(share), x - np.clip(x - rest + share * unseen, *reach)


def _spread(
    c: Matrix, size: Matrix, narrowest: Matrix, blocks: list[Whole], seed: int
) -> tuple[Matrix, tuple[Levels, ...], Forest, Matrix]:
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
    return np.asarray(np.minimum(size, FARTHEST * np.maximum(median, np.maximum(least, 1e-9))))


def _without_lumps(size: Matrix, rest: Matrix) -> Matrix:
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
) -> tuple[Levels, Matrix, Matrix] | None:
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
    return Levels(columns, c[first][:, columns], effects), without, counts[:, None] / (counts[:, None] + draw)


def _widths(c: Matrix, ratio: Matrix, columns: Whole) -> tuple[Levels, Matrix] | None:
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

    return Levels(columns, c[first][:, columns], widened(means, counts[:, None])), widened(without, others)


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
