"""Measure blocks of numbers, such as those of a picture or a text: how odd each is, and whether two go together.

A picture of a thousand numbers beside a price of one would drown it, or, drawn in, be lost. So a block gives a model
one number: as many deviations as a number would lie off that is as rare as the block. And each pair of blocks that say
something of each other gives one for how badly they go together: a toaster that is described as a lamp is ordinary as
a picture, and as a text.

How rare a row of fitting is, is judged as if it had not been among the rows that the block learned from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import subsample_evenly
from centrality._internal.model_file import Arrays
from centrality.representations.columns import Cells

MOST_COMPONENTS = 64
ROWS_PER_COMPONENT = 20
ROWS_FOR_AXES = 4000  # or four times as many as the block has numbers: more change its main components little
LEVELS = 200  # quantiles of oddness that are kept
TAIL = 0.1  # the share of the rows from which on oddness shows how its tail goes on
BEYOND = 0.025  # the share up to which it does: beyond are the rows looked for
FARTHEST = 12.0  # deviations: one in e^72
USUAL = float(np.sqrt(np.pi / 2))  # the mean number of deviations
FOLDS = 5
FEWEST_ROWS = 50  # with fewer, nothing is said of two blocks together
CLEAR = 3.0  # deviations by which a correlation of rows that were not learned from must exceed none
HIGHEST = 0.99  # a correlation
DRAWN_IN = 3.0  # deviations beyond which a component says no more about the other block
MOST_PAIRS = 10
WEIGHT = 3.0  # of a block's number, and of a pair's, against that of a column
MOST_SAID = 1_000_000
LEAST_SAID = 5.0  # one in so many rows has blocks that go together as badly
ODD_BY_ITSELF = float(np.sqrt(2 * np.log(20)))  # deviations of a block that explain why it goes together with nothing
REST = "the other columns"  # the block of all columns that are none by themselves
USUAL_RANGE = 3.0  # deviations beyond which a cell says no more about pictures and texts beside it
SAME = 1e-9  # squared distance, against squared lengths: rounding makes as much of nothing

Matrix = NDArray[np.float64]
Column = NDArray[np.float64]  # (n,)
Mask = NDArray[np.bool_]  # (n,)
State = dict[str, Any]


def part_of(arrays: Arrays, mark: str) -> Arrays:
    """Return the arrays whose names begin with this mark, by the rest of their names."""
    return {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}


@dataclass
class Rarity:
    """Says how rare an oddness is, as deviations: √(-2 log p) where the share p of the rows is as odd.

    A normal number so far off has a density as much lower. Far out, shares fall as in an exponential tail.
    """

    quantiles: Column  # of oddness, rising
    shares: Column  # of the rows that are as odd as these, falling
    scale: float  # of the tail

    @classmethod
    def of(cls, oddness: Column) -> Self:
        """Learn from the oddness of rows, few of which are odd: the last fortieth of them does not count."""
        ordered = np.sort(oddness)
        n = len(ordered)
        places = np.unique(np.linspace(0, (1 - BEYOND) * (n - 1), LEVELS).astype(np.intp))
        start, end = np.quantile(ordered, [1 - TAIL, 1 - BEYOND])
        scale = float(end - start) / np.log(TAIL / BEYOND)
        quantiles = np.unique(ordered[places])
        return cls(quantiles, 1 - np.searchsorted(ordered, quantiles) / n, scale or 1.0)

    def deviations(self, oddness: Column) -> Column:
        """Return how many deviations off a number would lie that is as rare."""
        log_share = np.interp(oddness, self.quantiles, np.log(self.shares))
        log_share -= np.maximum(oddness - self.quantiles[-1], 0.0) / self.scale
        deviations: Column = np.minimum(np.sqrt(-2 * np.minimum(log_share, 0.0)), FARTHEST)
        return deviations

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        return {"scale": self.scale}, {"quantiles": self.quantiles, "shares": self.shares}

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the value with this state."""
        return cls(arrays["quantiles"], arrays["shares"], float(state["scale"]))


def severity_of(deviations: Column) -> Column:
    """Return one in how many rows is as odd as one so many deviations off: the inverse of `Rarity.deviations`.

    >>> float(severity_of(np.array([np.sqrt(2 * np.log(400))]))[0])
    400.0
    """
    return np.asarray(np.round(np.exp(np.square(deviations) / 2), 9), dtype=np.float64)


@dataclass
class MainComponents:
    """The main components of a block's vectors, each of variance one, and how far a vector lies from them all."""

    center: Column  # (d,)
    axes: Matrix  # (k, d)
    spreads: Column  # (k,)
    rest: float  # the variance outside of the components
    rest_numbers: float  # how many numbers of equal variance this would be
    rows: int  # of fitting

    @classmethod
    def of(cls, vectors: Matrix) -> Self:
        """Learn from vectors without gaps."""
        n, d = vectors.shape
        sample = subsample_evenly(vectors, max(ROWS_FOR_AXES, 4 * d))
        center = vectors.mean(0)
        moved = sample - center
        rising, directions = np.linalg.eigh(moved.T @ moved / len(moved))
        variances = np.maximum(rising[::-1], 0.0)
        axes = directions[:, ::-1].T
        varying = int((variances > 1e-9 * variances[0]).sum()) if variances[0] > 0 else 0
        count = min(MOST_COMPONENTS, max(1, n // ROWS_PER_COMPONENT), varying)
        others = variances[count:varying]
        rest = float(others.sum())
        rest_numbers = rest**2 / float(np.square(others).sum()) if rest > 0 else 0.0
        return cls(center, np.ascontiguousarray(axes[:count]), np.sqrt(variances[:count]), rest, rest_numbers, n)

    def components(self, vectors: Matrix) -> Matrix:  # (n, k)
        """Return the main components of vectors, each divided by its spread."""
        return np.asarray((vectors - self.center) @ self.axes.T / self.spreads)

    def oddness(self, vectors: Matrix, *, as_new: bool = False) -> Column:
        """Return the squared distance from the mean, every direction in its own spread.

        With `as_new`, vectors of fitting are measured by spreads to which they did not contribute.
        """
        components = self.components(vectors)
        within = np.square(components).sum(1)
        squares = np.square(vectors - self.center).sum(1)
        outside = np.maximum(squares - np.square(components * self.spreads).sum(1), 0.0)
        if as_new:  # Sherman and Morrison
            within = within / np.maximum(1 - within / self.rows, 1 / self.rows)
        return np.asarray(within + (outside * (self.rest_numbers / self.rest) if self.rest > 0 else 0.0))

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        plain = {"rest": self.rest, "rest_numbers": self.rest_numbers, "rows": self.rows}
        return plain, {"center": self.center, "axes": self.axes, "spreads": self.spreads}

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the value with this state."""
        return cls(
            arrays["center"],
            arrays["axes"],
            arrays["spreads"],
            float(state["rest"]),
            float(state["rest_numbers"]),
            int(state["rows"]),
        )


@dataclass
class Agreement:
    """Says how badly two blocks of a row go together: by how much less likely they are as a pair than one by one.

    Their components, drawn in, are taken for normal, with the correlations that rows show from which these were not
    learned; pairs of directions that are correlated by chance alone say nothing.
    """

    first: Matrix  # (k, m) directions in the first block
    second: Matrix  # (l, m) those in the second that belong to them
    correlations: Column  # (m,)
    rarity: Rarity

    @classmethod
    def of(cls, first: Matrix, second: Matrix) -> "Agreement | None":
        """Learn from the components of rows that have both blocks; None if neither says anything about the other."""
        n = len(first)
        if n < FEWEST_ROWS or not first.shape[1] or not second.shape[1]:
            return None
        first = draw_in(first)
        second = draw_in(second)
        fold = np.arange(n) % FOLDS
        directions = [_directions(first[fold != k], second[fold != k]) for k in range(FOLDS)]
        left = np.concatenate([first[fold == k] @ directions[k][0] for k in range(FOLDS)])
        right = np.concatenate([second[fold == k] @ directions[k][1] for k in range(FOLDS)])
        scale = np.sqrt(np.square(left).mean(0) * np.square(right).mean(0))
        correlations = np.minimum((left * right).mean(0) / np.maximum(scale, 1e-12), HIGHEST)
        clear = correlations > CLEAR / np.sqrt(n)
        if not clear.any():
            return None
        count = int(np.flatnonzero(clear)[-1]) + 1
        correlations = np.where(clear, correlations, 0.0)[:count]
        rarity = Rarity.of(_misfit(left[:, :count], right[:, :count], correlations))
        left_of_all, right_of_all = _directions(first, second)
        return cls(left_of_all[:, :count], right_of_all[:, :count], correlations, rarity)

    def deviations(self, first: Matrix, second: Matrix) -> Column:
        """Return how rare it is that blocks go together as badly as these."""
        misfit = _misfit(draw_in(first) @ self.first, draw_in(second) @ self.second, self.correlations)
        return self.rarity.deviations(misfit)

    def as_new(self, first: Matrix, second: Matrix) -> Column:
        """Return the `deviations` of the rows of fitting, each by directions that were learned without it."""
        first = draw_in(first)
        second = draw_in(second)
        fold = np.arange(len(first)) % FOLDS
        result = np.empty(len(first))
        m = len(self.correlations)
        for k in range(FOLDS):
            left, right = _directions(first[fold != k], second[fold != k])
            misfit = _misfit(first[fold == k] @ left[:, :m], second[fold == k] @ right[:, :m], self.correlations)
            result[fold == k] = self.rarity.deviations(misfit)
        return result

    def information(self) -> float:
        """Return how much one block says about the other, in nats."""
        return float(-0.5 * np.log(1 - np.square(self.correlations)).sum())

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        plain, arrays = self.rarity.state()
        return plain, arrays | {"first": self.first, "second": self.second, "correlations": self.correlations}

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the value with this state."""
        return cls(arrays["first"], arrays["second"], arrays["correlations"], Rarity.restored(state, arrays))


def nearest_rows(places: Matrix, among: Matrix, top: int, *, with_same: bool = False) -> NDArray[np.intp]:  # (n, top)
    """Return which rows lie nearest to each place, the nearest first, but for those that are the same."""
    count = len(among) if with_same else max(len(among) - 1, 1)
    neighbours = np.empty((len(places), min(top, count)), dtype=np.intp)
    squares = np.square(among).sum(1)
    for row, place in enumerate(places):
        size = float(place @ place)
        distance = squares - 2 * among @ place + size
        if not with_same:
            distance[distance <= SAME * (squares + size)] = np.inf
        nearest = np.argpartition(distance, neighbours.shape[1] - 1)[: neighbours.shape[1]]
        neighbours[row] = nearest[np.argsort(distance[nearest], kind="stable")]
    return neighbours


def draw_in(components: Matrix) -> Matrix:
    """Return components drawn in to where they still say something about another block."""
    return np.clip(components, -DRAWN_IN, DRAWN_IN)


def _directions(first: Matrix, second: Matrix) -> tuple[Matrix, Matrix]:
    """Return the pairs of directions that are correlated most, the components having been brought to variance one."""
    left, _, right = np.linalg.svd(first.T @ second / len(first), full_matrices=False)
    return left, right.T


def _misfit(left: Matrix, right: Matrix, correlations: Column) -> Column:
    """Return minus the logarithm of how much likelier the two are as a pair than one by one."""
    left = draw_in(left)
    right = draw_in(right)
    square = np.square(correlations)
    distance = square * (np.square(left) + np.square(right)) - 2 * correlations * left * right
    return np.asarray((distance / (2 * (1 - square)) + 0.5 * np.log(1 - square)).sum(1))


def agreements(components: dict[str, Matrix], present: dict[str, Mask]) -> dict[tuple[str, str], Agreement]:
    """Return the pairs of blocks that say something about each other, at most so many: those that say most."""
    by_pair = {}
    for one, other in combinations(components, 2):
        in_both = present[one] & present[other]
        if (agreement := Agreement.of(components[one][in_both], components[other][in_both])) is not None:
            by_pair[one, other] = agreement
    strongest = sorted(by_pair, key=lambda pair: -by_pair[pair].information())[:MOST_PAIRS]
    return {pair: agreement for pair, agreement in by_pair.items() if pair in strongest}


# Rows made of blocks.


@dataclass
class BlockCells(Cells):
    """A block column's cells: their number and, for comparison with other blocks, their main components."""

    components: Matrix  # (n, k) zeros where there is nothing
    present: Mask
    deviations: Column


@dataclass
class MixedRows:
    """Rows as blocks: each picture, long text or vector is one, and all other columns together are one."""

    rest: MainComponents | None  # None: there are no other columns
    rest_rarity: Rarity | None
    pairs: dict[tuple[str, str], Agreement]

    @classmethod
    def of(cls, encoded: Mapping[str, Cells]) -> Self:
        """Learn from the encoded columns of fitting, each cell as if it had not been among the others."""
        mixed = cls(None, None, {})
        plain = _plain(encoded)
        if plain.shape[1] and len(plain) > 1:
            mixed.rest = MainComponents.of(plain)
            mixed.rest_rarity = Rarity.of(mixed.rest.oddness(_plain(encoded, drawn_in=False), as_new=True))
        components, present = mixed._components(encoded)
        mixed.pairs = agreements(components, present)
        return mixed

    def _components(self, encoded: Mapping[str, Cells]) -> tuple[dict[str, Matrix], dict[str, Mask]]:
        """Return the main components of each block, and in which rows it is there."""
        blocks = {name: cells for name, cells in encoded.items() if isinstance(cells, BlockCells)}
        components = {name: cells.components for name, cells in blocks.items()}
        present = {name: cells.present for name, cells in blocks.items()}
        if self.rest is not None:
            plain = _plain(encoded)
            components[REST] = self.rest.components(plain)
            present[REST] = np.ones(len(plain), dtype=bool)
        return components, present

    def deviations(self, encoded: Mapping[str, Cells], *, as_new: bool = False) -> dict[tuple[str, str], Column]:
        """Return how rare it is that two blocks go together so badly; the usual number where one is missing.

        With `as_new`, of the rows of fitting, as if they had not been there.
        """
        components, present = self._components(encoded)
        by_pair = {}
        for (one, other), agreement in self.pairs.items():
            in_both = present[one] & present[other]
            measure = agreement.as_new if as_new else agreement.deviations
            by_pair[one, other] = np.full(len(in_both), USUAL)
            by_pair[one, other][in_both] = measure(components[one][in_both], components[other][in_both])
        return by_pair

    def numbers(self, encoded: Mapping[str, Cells], *, as_new: bool = False) -> Matrix:  # (n, pairs)
        """Return the numbers of a vector that say how badly the pairs of blocks go together."""
        columns = self.deviations(encoded, as_new=as_new).values()
        length = len(next(iter(encoded.values())).gaps)
        return WEIGHT * (np.column_stack(list(columns)) - USUAL) if columns else np.empty((length, 0))

    def names(self) -> list[str]:
        """Return the names of the pairs."""
        return [pair_name(pair) for pair in self.pairs]

    def by_block(self, encoded: Mapping[str, Cells]) -> dict[str, Column]:
        """Return how many deviations off each block and each pair is; NaN where a block is missing."""
        by_block = {
            name: np.where(cells.present, cells.deviations, np.nan)
            for name, cells in encoded.items()
            if isinstance(cells, BlockCells)
        }
        if self.rest is not None and self.rest_rarity is not None:
            by_block[REST] = self.rest_rarity.deviations(self.rest.oddness(_plain(encoded, drawn_in=False)))
        for pair, deviations in self.deviations(encoded).items():
            missing = np.isnan(by_block[pair[0]]) | np.isnan(by_block[pair[1]])
            by_block[pair_name(pair)] = np.where(missing, np.nan, deviations)
        return by_block

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        plain: State = {"pairs": []}
        arrays: Arrays = {}
        for number, (pair, agreement) in enumerate(self.pairs.items()):
            state, learned = agreement.state()
            plain["pairs"].append({"blocks": list(pair), **state})
            arrays |= {f"pair{number}.{name}": array for name, array in learned.items()}
        if self.rest is not None and self.rest_rarity is not None:
            plain["rest"], learned = self.rest.state()
            arrays |= {f"rest.{name}": array for name, array in learned.items()}
            plain["rest_rarity"], learned = self.rest_rarity.state()
            arrays |= {f"rest_rarity.{name}": array for name, array in learned.items()}
        return plain, arrays

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the value with this state."""
        mixed = cls(None, None, {})
        if "rest" in state:
            mixed.rest = MainComponents.restored(state["rest"], part_of(arrays, "rest."))
            mixed.rest_rarity = Rarity.restored(state["rest_rarity"], part_of(arrays, "rest_rarity."))
        for number, pair in enumerate(state["pairs"]):
            one, other = pair["blocks"]
            mixed.pairs[one, other] = Agreement.restored(pair, part_of(arrays, f"pair{number}."))
        return mixed


def pair_name(pair: tuple[str, str]) -> str:
    """Return what two blocks together are called."""
    return f"{pair[0]} and {pair[1]}"


def blame(
    of_blocks: dict[str, Column], of_pairs: dict[tuple[str, str], Column]
) -> dict[str, NDArray[np.object_]]:  # by the pair's name, (n,)
    """Return, for each pair, which of its blocks is odd by itself and explains it in each row; else None.

    Both are deviations. A block that is at fault is a part of all pairs that are odd in its row.
    """
    to_blame = {}
    for pair, of_pair in of_pairs.items():
        blamed = np.full(len(of_pair), None, dtype=object)
        largest = np.full(len(of_pair), ODD_BY_ITSELF)
        for name in [name for name in pair if name in of_blocks]:
            of_others = [deviations for other, deviations in of_pairs.items() if name not in other]
            at_fault = np.max(of_others, axis=0, initial=0.0) <= ODD_BY_ITSELF if of_others else True
            here = at_fault & (of_blocks[name] > largest)
            blamed[here] = name
            largest[here] = of_blocks[name][here]
        to_blame[pair_name(pair)] = blamed
    return to_blame


def rounded(severity: float) -> str:
    """Write a severity with two digits at most."""
    unit = 10 ** max(0, int(np.log10(severity)) - 1)
    return f"{min(round(severity / unit) * unit, MOST_SAID):,}"


def in_words(severity: float) -> str:
    """Say how badly two blocks go together.

    >>> in_words(900.0), in_words(1.4)
    ('go together as badly as 1 in 900', 'go together')
    """
    if not severity >= LEAST_SAID:
        return "go together"
    return f"go together as badly as 1 in {rounded(severity)}"


def _plain(encoded: Mapping[str, Cells], *, drawn_in: bool = True) -> Matrix:
    """Return the numbers of all columns that are no blocks.

    Drawn in, no cell says more than a usual one, and one that cannot be read, or is new, says nothing.
    """
    parts = [np.empty((len(next(iter(encoded.values())).gaps), 0))]
    for cells in encoded.values():
        if isinstance(cells, BlockCells):
            continue
        block = cells.block
        if drawn_in:
            block = np.clip(block, -USUAL_RANGE, USUAL_RANGE)
            for where in cells.faults.values():
                block[where] = 0.0
        parts.append(block)
    return np.concatenate(parts, axis=1)
