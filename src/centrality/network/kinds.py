"""Make scores comparable between kinds of rows: the same share of each kind scores below any value.

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

from centrality._values import Value
from centrality.network.context import CLEAN, Levels, Matrix, Whole, effects_of_levels, share_explained
from centrality.network.forest import Forest

QUANTILES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.14, 0.2, 0.3, 0.5, 0.75)  # of the scores of all rows: the knots
TENTH = QUANTILES.index(0.1)
TREES, FEWEST = 12, 50  # of the forest: its trees, and the rows of a leaf at least
CLOSEST, LEAST = 0.02, 1e-3  # least distance of two knots, in units; and of two shares, and of a share from 0 and 1
FARTHEST = 1.0  # largest shift of a score, in units, so that outliers in a kind do not hide one another
FLATTEST = 0.05  # least gap between two shifted knots, as a share of the gap between the knots


@dataclass(frozen=True, eq=False)
class Kinds(Value):
    """Hold the share of each kind's rows that scores below each knot, and shift scores so that these shares agree."""

    given: Whole  # (q,) places of the context columns
    knots: Matrix  # (2, k) of the global and of the local units, rising
    shares: Matrix  # (2, k) of all rows below them, rising
    levels: tuple[Levels, ...]  # what each level adds to the shares, (.., 2 k)
    own: tuple[Matrix, ...]  # (..) for each of these levels, the weight of its own rows: 0, not at all, to 1, alone
    forest: Forest

    @classmethod
    def fit(
        cls, rows: Matrix, units: Matrix, given: Whole, things: Sequence[Whole], seed: int
    ) -> "tuple[Kinds, Matrix]":
        """Fit the shares to relative rows and their units, (n, 2); return them, and the units shifted as for new rows.

        `things` are groups of context columns that have levels: the columns that encode one category are a group.
        """
        c, knots = rows[:, given] / CLEAN, _rising(np.quantile(units, QUANTILES, axis=0).T, CLOSEST)
        below = np.concatenate([units[:, [head]] <= knots[head] for head in (0, 1)], axis=1).astype(np.float64)
        shares = np.clip(_rising(below.mean(0).reshape(2, -1), LEAST), LEAST, 1 - LEAST)
        rest, levels, own, said = below - below.mean(0), [], [], np.zeros_like(below)
        ways = np.linalg.eigh(np.cov(below.T))[1]  # (2 k, 2 k) principal axes of the variation by chance
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
        """Return the units of relative rows, shifted by kind."""
        c = rows[:, self.given] / CLEAN
        return self.moved(units, self.forest(c) + sum(level(c) for level in self.levels))

    def moved(self, units: Matrix, said: Matrix) -> Matrix:  # (n, 2), (n, 2 k) -> (n, 2)
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
        at = np.clip(knots[0] + inside + beyond, knots - FARTHEST, knots + FARTHEST)
        return _rising(at, FLATTEST * np.diff(knots))

    def measured(self) -> dict[str, int]:
        """Count the levels calibrated mostly by their own rows ("own"), and those mostly by all rows ("shared")."""
        own = [int((weights >= 0.5).sum()) for weights in self.own]
        return {"own": sum(own), "shared": sum(map(len, self.own)) - sum(own)}

    def slopes(self) -> Matrix:  # (2, k - 1)
        """Return how fast scores of all rows rise with the log-odds of the share below, between the knots."""
        return np.asarray(np.diff(self.knots) / np.diff(log_odds(self.shares)))


def log_odds(share: Matrix) -> Matrix:
    """Return log(share / (1 - share))."""
    return np.asarray(np.log(share / (1 - share)))


def _rising(values: Matrix, least: float | NDArray[np.float64]) -> Matrix:  # (n, k) -> (n, k)
    """Raise values where needed so that each is at least `least` larger than the one before it in its row."""
    steps = np.broadcast_to(least, values.shape[1] - 1)
    climb = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.maximum.accumulate(values - climb, axis=1) + climb)
