"""Say what rows are like given their context: each behaviour less what is usual for its kind, in units of its spread.

A context model is fitted before the networks. What is usual given the context is a sum: a line through the numbers, an
effect for every level of what comes again and again (a country, a month), drawn in where rows of it are few, and what a
forest finds in the rest. The spread is a product of the same three. Networks then learn the density of these relative
behaviours, given the context as a further, clean input. Of the rows it is fitted on, a model says what it would had it
not seen them: each row is left out of its own line, of its level's effect, and of the trees.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._values import Value
from centrality.network.forest import Forest, medians
from centrality.network.scaling import Scaling, dense

CLEAN = 0.125  # how large contexts are before the network, in scaled units: small, so that it changes little with them;
# a power of two, so that they can be had back to the bit
RIDGES = (0.1, 1.0, 10.0, 100.0)  # penalties of the line that are tried
RIDGE_OF_SPREAD, ROUNDS = 10.0, 3  # of the line that tells the spread: its penalty, and how often rows are weighed
SHARES = np.linspace(0, 1, 5)  # of it that are tried
LEVEL = 15  # rows that a level has on average, at least, for a column to have levels
TREES, LEAF = 40, 5  # of the forest that tells what is usual
TREES_OF_SPREAD, LEAF_OF_SPREAD = 24, 20
STRETCH = 1.25  # from a mean absolute deviation to a standard deviation
WIDEST = 3.0  # times the median of a level, that a row counts for its spread at most
FARTHEST = 4.0  # times the median deviation of its kind, from where a row says nothing about the spread
LUMPY = 0.25  # of the mean deviation, below which the median one is as good as nothing
KNOWN = 3  # one row in so many is shown to the networks as the context model knows it
NARROWEST = 0.05  # of the overall spread, that of a kind
NEW_ROW = 1.5  # over n: by how much more a new row is spread than n rows tell about their middle, by Student's t
KNEE = 5.0  # relative behaviours beyond are bent like a logarithm
SAME_LEVEL = 1e-6  # in scaled units, how near a level is the same by other libraries, whose last digits may differ
OUTSIDE = 0.1  # of a column's range, how far beyond it a context may lie

Matrix = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Levels(Value):
    """Hold the effects of the levels of one context: of a column, or of the columns that stand for one."""

    columns: Whole  # (w,) places among the context columns
    keys: Matrix  # (levels, w) scaled, in order
    effects: Matrix  # (levels, d)

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, d)
        """Return the effects of these rows' levels; 0 for a level that was never seen."""
        at, known = self.find(c)
        return np.where(known[:, None], self.effects[at], 0.0)

    def find(self, c: Matrix) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the number of each row's level, and whether there is one."""
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
        """Return the places of the other columns."""
        return np.setdiff1d(np.arange(len(self.scaling.center)), self.given)

    @classmethod
    def fit(
        cls,
        X: Any,
        scaling: Scaling,
        given: Whole,
        owner: Whole,
        seed: int,
    ) -> "tuple[Context, Matrix]":
        """Return the context model of these rows, and what they become as if it had not seen them.

        `owner` (q,) says which context columns stand for one thing, such as a category.
        """
        z = scaling.scaled(dense(X).astype(np.float64))
        c, x = z[:, given], np.delete(z, given, axis=1)
        line, rest = _line(c, x)
        blocks = [np.flatnonzero(owner == name) for name in np.unique(owner)]
        levels, widths = [], []
        for columns in blocks:
            if (found := effects_of_levels(c, rest, columns)) is not None:
                levels.append(found[0])
                rest = rest - found[1]
        usual, unseen = Forest.fit(c, rest, trees=TREES, leaf=LEAF, seed=seed)
        share = share_explained(rest, unseen)
        usual, reach = usual.times(share), np.stack([x.min(0), x.max(0)])
        rest = x - np.clip(x - rest + share * unseen, *reach)
        size = _without_lumps(_without_outliers(c, np.abs(rest), blocks, seed + 2), rest) / _weights(x)
        narrowest = np.maximum(NARROWEST * size.mean(0), 1e-9)
        line_of_spread, on_line = _line_of_spread(c, size, narrowest)
        factor = np.maximum(on_line, narrowest)
        for columns in blocks:
            if (stretched := _widths(c, size / factor, columns)) is not None:
                widths.append(stretched[0])
                factor = factor * _factor(stretched[1])
        leaf = max(LEAF_OF_SPREAD, round(len(c) ** 0.5))
        spread, more = Forest.fit(c, size / factor - 1, trees=TREES_OF_SPREAD, leaf=leaf, seed=seed + 1, means=True)
        share = share_explained(size / factor - 1, more)
        spread, factor = spread.times(share), factor * _factor(share * more)
        relative = _bent(rest / (STRETCH * np.maximum(factor, narrowest)))
        made = np.empty_like(z)
        made[:, given], made[:, np.setdiff1d(np.arange(z.shape[1]), given)] = CLEAN * c, relative
        ends, seen = np.quantile(relative, [0.05, 0.95], axis=0), np.stack([c.min(0), c.max(0)])
        parts = (line, line_of_spread, tuple(levels), tuple(widths), usual, spread)
        return cls(given, scaling, *parts, narrowest, ends, seen, reach), made

    def shown(self, X: Any, made: Matrix, seed: int) -> Matrix:  # (n, p), (n, p) -> (n, p)
        """Return what networks are to learn from: the rows made of X as if new, and one in so many as it is known.

        So they meet such rows too: where the context tells nearly all, those lie closer to their kinds than new ones.
        """
        known = np.flatnonzero(np.random.default_rng(seed).random(len(made)) < 1 / KNOWN)
        shown = made.copy()
        shown[known] = self.relative(X[known])
        return shown

    def relative(self, X: Any) -> Matrix:  # (n, p) -> (n, p)
        """Return relative behaviours, and contexts made small, of rows in the user's units."""
        z = self.scaling.scaled(dense(X).astype(np.float64))
        middle, spread = self._kind(z[:, self.given])
        z[:, self.behaviour] = _bent((z[:, self.behaviour] - middle) / spread)
        z[:, self.given] *= CLEAN
        return z

    def absolute(self, made: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return what `relative` made these of, in the user's units."""
        z = made.astype(np.float64)
        z[:, self.given] /= CLEAN
        middle, spread = self._kind(z[:, self.given])
        z[:, self.behaviour] = middle + spread * _unbent(z[:, self.behaviour])
        return self.scaling.unscaled(z)

    def usual_range(self, made: Matrix) -> Matrix:  # (n, p) -> (2, n, p)
        """Return rows at both ends of where nine tenths of the behaviours lie in the kind of each row."""
        middle, spread = self._kind(made[:, self.given] / CLEAN)
        low, high = (_bent((end - middle) / spread) for end in self.reach)
        ends = np.stack([made, made]).astype(np.float64)
        ends[:, :, self.behaviour] = np.clip(self.range[:, None], low, high)
        return ends

    def _kind(self, c: Matrix) -> tuple[Matrix, Matrix]:  # (n, q) -> (n, d), (n, d)
        """Return the middle and the spread of the scaled behaviours given the scaled contexts."""
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        near = np.clip(c, self.seen[0] - width, self.seen[1] + width)  # far from all that was seen, no line holds
        middle = self.line[0] + near @ self.line[1:] + sum(level(c) for level in self.levels) + self.usual(c)
        spread = np.maximum(self.line_of_spread[0] + near @ self.line_of_spread[1:], self.narrowest)
        for said in (*(level(c) for level in self.widths), self.spread(c)):
            spread = spread * _factor(said)
        return np.clip(middle, *self.reach), STRETCH * np.maximum(spread, self.narrowest)

    def unseen(self, X: Any) -> NDArray[np.bool_]:  # (n,)
        """Say which rows are of no kind that was seen: of a new level, or far beyond the contexts there were."""
        rows = dense(X).astype(np.float64)
        c = self.scaling.scaled(rows)[:, self.given]
        width = OUTSIDE * (self.seen[1] - self.seen[0])
        new = ((c < self.seen[0] - width) | (c > self.seen[1] + width)).any(1)
        constant = self.given[~self.scaling.varying()[self.given]]  # what was one value, no scale tells apart
        new |= ~np.isclose(rows[:, constant], self.scaling.center[constant], rtol=1e-6, atol=1e-12).all(1)
        for level in self.levels:
            new |= ~level.find(c)[1]
        return np.asarray(new & ~np.isnan(c).any(1))  # a row that has no vector is of no kind at all


def _without_outliers(c: Matrix, size: Matrix, blocks: list[Whole], seed: int) -> Matrix:
    """Return sizes cut where they are some times as large as the median of their kind: means feel outliers."""
    _, median = Forest.fit(c, size, trees=TREES_OF_SPREAD // 2, leaf=LEAF_OF_SPREAD, seed=seed)
    for columns in blocks:
        if (found := _grouped(c, columns)) is not None:  # a level of few rows shares its leaves with others
            median = np.maximum(median, medians(size, found[1], len(found[2]))[0][found[1]])
    least = NARROWEST * np.minimum(size, np.maximum(8 * np.median(size, axis=0), 3 * size.mean(0))).mean(0)
    return np.asarray(np.minimum(size, FARTHEST * np.maximum(median, np.maximum(least, 1e-9))))


def _without_lumps(size: Matrix, rest: Matrix) -> Matrix:
    """Return sizes with one size for all rows of a column in which most rows deviate by nothing, as of a category.

    Medians call such a column's other rows outliers and its spread nothing, so that it would count for more than all
    others. It has one spread, whatever the kind; networks learn how kinds differ.
    """
    lumpy = np.median(np.abs(rest), axis=0) < LUMPY * np.abs(rest).mean(0)
    return np.where(lumpy, np.sqrt(np.square(rest).mean(0)) / STRETCH, size)


def _weights(x: Matrix) -> Matrix:  # (d,)
    """Return how much behaviours count: those that a representation made small stay as small beside the others.

    A text or a date is many columns, each made small, so that together they count as one thing.
    """
    return np.asarray(np.clip(x.std(0), 1e-9, 1.0))


def share_explained(rest: Matrix, said: Matrix) -> Matrix:  # (d,)
    """Return by how much the forest's word on rows it has not seen is to be multiplied to be nearest to the rest.

    Where the context says nothing of a behaviour, its middle is left alone: noise in it would blur the behaviour.
    """
    most = 8 * np.median(np.abs(rest), axis=0)
    pulled, square = (np.clip(rest, -most, most) * said).sum(0), np.square(said).sum(0)
    return np.asarray(np.clip(np.divide(pulled, square, out=np.zeros_like(square), where=square > 0), 0.0, 1.0))


def _factor(effect: Matrix) -> Matrix:
    """Return by how much a level stretches the spread, from by how much more it is than usual."""
    return np.asarray(np.maximum(1 + effect, NARROWEST))


def _line(c: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    """Return the ridge regression of x on c, (1 + q, d), and what each row is off the line of all others, (n, d)."""
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
    """Return the ridge regression of sizes on c, (1 + q, d), and what the line of all others says of each row, (n, d).

    Where sizes are large they are also less certain: rows weigh by the inverse square of what is said of them, so that
    the line holds for narrow kinds too. It is drawn toward the mean as far as that tells more of rows left out, by
    the likelihood of sizes that are exponential: a line that says next to nothing of wide rows is worse than none.
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
    """Return the levels' effects on the rest, and those that each row's level would have without it; None: no levels.

    An effect is a mean drawn toward 0, the more so the fewer rows it is the mean of: by the ratio of the variance
    within levels to that between them. The third, (levels, d), is how much of the mean is left. With `doubt`, no row is
    taken for an outlier, and levels must differ by more than chance.
    """
    if (grouped := _grouped(c, columns)) is None:
        return None
    first, level, counts = grouped
    kept = rest
    if not doubt:
        middle = medians(rest, level, len(counts))[0][level]
        most = 3 * np.median(np.abs(rest - middle), axis=0) + 1e-12  # farther off, an outlier counts as if there
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
    """Return by how much each level stretches the spread, and by how much it would without each row; None: no levels.

    Ratios are sizes in units of what was said of them. A level's is the mean of its rows', on a logarithmic scale, on
    which it is as certain for narrow levels as for wide ones, and is drawn toward 0 as an effect is.
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
    """Return the share of the variance within levels that their means have by chance: one standard error above it."""
    return float((len(counts) + np.sqrt(2 * len(counts))) / counts.sum())


def _grouped(c: Matrix, columns: Whole) -> tuple[Whole, Whole, Whole] | None:
    """Return the first row of each level, each row's level and the levels' counts; None where values hardly recur."""
    _, first, level, counts = np.unique(
        _keys(c[:, columns]), return_index=True, return_inverse=True, return_counts=True
    )
    return None if len(counts) < 3 or len(c) < LEVEL * len(counts) else (first, level, counts)


def _keys(values: Matrix) -> NDArray[Any]:
    """Return rows as values that can be ordered and compared, whatever their number of columns."""
    exact = np.ascontiguousarray(values + 0.0)  # which makes 0 of -0
    return exact[:, 0] if exact.shape[1] == 1 else exact.view(np.dtype((np.void, 8 * exact.shape[1]))).ravel()


def _bent(r: Matrix) -> Matrix:
    far = np.maximum(np.abs(r) - KNEE, 0.0)
    return np.asarray(np.sign(r) * (np.minimum(np.abs(r), KNEE) + np.log1p(far)))


def _unbent(r: Matrix) -> Matrix:
    far = np.minimum(np.maximum(np.abs(r) - KNEE, 0.0), 50.0)
    return np.asarray(np.sign(r) * (np.minimum(np.abs(r), KNEE) + np.expm1(far)))
