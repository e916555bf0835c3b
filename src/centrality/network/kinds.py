"""Make scores mean the same in every kind: as many rows of a kind score below a value as do of all rows.

Rows relative to their kinds still differ by kind in the shape of their distribution, and networks smooth over that. So
at some values, the knots, it is learned which share of the rows of each kind scores below: that of all rows, and what
is added to it by each level of the context, drawn in where its rows are few, and by what a forest finds. Shares at all
knots are drawn in together, way by way in which they differ by chance: so a kind of 40 rows has a tail of its own where
kinds differ in theirs, though few of the rows lie in it. A score is then moved to where that share of all rows lies
below it. So a kind of many rows is measured by its own rows (Mondrian calibration), one of few by those of all; and
thresholds, p-values and regions that hold for all rows hold within kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._values import Value
from centrality.network.context import CLEAN, Levels, Matrix, Whole, effects_of_levels, share_explained
from centrality.network.forest import Forest

QUANTILES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.14, 0.2, 0.3, 0.5, 0.75)  # of the scores of all rows: the knots
TENTH = QUANTILES.index(0.1)
TREES, FEWEST = 12, 50  # of the forest: its trees, and the rows of a leaf at least
CLOSEST, LEAST = 0.02, 1e-3  # units between two knots at least; shares between them, and from 0 and 1
FARTHEST = 1.0  # units that a score is moved by: outliers among the rows of a kind are not to hide one another
FLATTEST = 0.05  # of the gap between two knots, that between what they are moved to


@dataclass(frozen=True, eq=False)
class Kinds(Value):
    """Hold which shares of the rows of a kind score below the knots, and move scores by them."""

    given: Whole  # (q,) places of the context columns
    knots: Matrix  # (2, k) of the global and of the local units, rising
    shares: Matrix  # (2, k) of all rows below them, rising
    levels: tuple[Levels, ...]  # what each level adds to the shares, (.., 2 k)
    own: tuple[Matrix, ...]  # (..) for each of these levels, how much its own rows count: 0 not at all, 1 alone
    forest: Forest

    @classmethod
    def fit(
        cls, rows: Matrix, units: Matrix, given: Whole, things: Sequence[Whole], seed: int
    ) -> "tuple[Kinds, Matrix]":
        """Return what rows relative to their kinds and their units, (n, 2), tell; and these moved as if rows were new.

        `things` are the context columns that have levels: those of a category are one thing.
        """
        c, knots = rows[:, given] / CLEAN, _rising(np.quantile(units, QUANTILES, axis=0).T, CLOSEST)
        below = np.concatenate([units[:, [head]] <= knots[head] for head in (0, 1)], axis=1).astype(np.float64)
        shares = np.clip(_rising(below.mean(0).reshape(2, -1), LEAST), LEAST, 1 - LEAST)
        rest, levels, own, said = below - below.mean(0), [], [], np.zeros_like(below)
        ways = np.linalg.eigh(np.cov(below.T))[1]  # (2 k, 2 k) that shares differ in by chance, one apart from another
        for columns in things:
            if (found := effects_of_levels(c, (rest - said) @ ways, columns, doubt=True)) is not None:
                levels.append(replace(found[0], effects=found[0].effects @ ways.T))
                own.append((found[2] @ np.square(ways).T)[:, TENTH :: len(QUANTILES)].mean(1))
                said = said + found[1] @ ways.T
        leaf = max(FEWEST, round(len(c) ** 0.5))
        forest, more = Forest.fit(c, rest - said, trees=TREES, leaf=leaf, seed=seed, means=True)
        share = share_explained(rest - said, more)
        model = cls(given, knots, shares, tuple(levels), tuple(own), forest.times(share))
        return model, model.moved(units, said + share * more)

    def __call__(self, units: Matrix, rows: Matrix) -> Matrix:  # (n, 2), (n, p) -> (n, 2)
        """Return the units, moved, of rows relative to their kinds."""
        c = rows[:, self.given] / CLEAN
        return self.moved(units, self.forest(c) + sum(level(c) for level in self.levels))

    def moved(self, units: Matrix, said: Matrix) -> Matrix:  # (n, 2), (n, 2 k) -> (n, 2)
        """Return the units where as many of all rows lie below as do of a kind, by what its shares are more."""
        found = np.empty_like(units)
        for head, (knots, more) in enumerate(zip(self.knots, np.split(said, 2, axis=1), strict=True)):
            gaps, targets, u = np.diff(knots), self.targets(head, more), units[:, head]
            passed = np.clip(u[:, None] - knots[:-1], 0.0, gaps)
            beyond = np.minimum(u - knots[0], 0.0) + np.maximum(u - knots[-1], 0.0)  # there all is moved alike
            found[:, head] = targets[:, 0] + (passed * (np.diff(targets) / gaps)).sum(1) + beyond
        return found

    def targets(self, head: int, more: Matrix) -> Matrix:  # (n, k) -> (n, k)
        """Return what the knots are moved to, given by how much a kind's shares are more; they stay in order.

        Between two knots, scores of all rows are taken to rise with the log-odds of the share below.
        """
        knots, usual, slopes = self.knots[head], log_odds(self.shares[head]), self.slopes()[head]
        odds = log_odds(np.clip(self.shares[head] + more, LEAST, 1 - LEAST))
        inside = np.clip(odds[:, :, None] - usual[:-1], 0.0, np.diff(usual)) @ slopes
        beyond = np.minimum(odds - usual[0], 0.0) * slopes[0] + np.maximum(odds - usual[-1], 0.0) * slopes[-1]
        at = np.clip(knots[0] + inside + beyond, knots - FARTHEST, knots + FARTHEST)
        return _rising(at, FLATTEST * np.diff(knots))

    def measured(self) -> dict[str, int]:
        """Count the levels that are measured by their own rows, more than not, and those by the rows of all."""
        own = [int((weights >= 0.5).sum()) for weights in self.own]
        return {"own": sum(own), "shared": sum(map(len, self.own)) - sum(own)}

    def slopes(self) -> Matrix:  # (2, k - 1)
        """Return how fast scores of all rows rise with the log-odds of the share below, between the knots."""
        return np.asarray(np.diff(self.knots) / np.diff(log_odds(self.shares)))


def log_odds(share: Matrix) -> Matrix:
    """Return log(share / (1 - share))."""
    return np.asarray(np.log(share / (1 - share)))


def _rising(values: Matrix, least: float | NDArray[np.float64]) -> Matrix:  # (n, k) -> (n, k)
    """Return rows of values raised as far as it takes for each to be so much larger than the one before."""
    steps = np.broadcast_to(least, values.shape[1] - 1)
    climb = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.maximum.accumulate(values - climb, axis=1) + climb)
