"""Say how doubtful each cell is: one in how many ordinary rows has a cell as odd, given the rest of its row.

A cell is judged by what the rest of its row says of it, as far as that says anything, and else by how it is written:

values    Of each pair of columns of which one nearly determines the other, how often a value occurs beside the other
          one. The share of exceptions that a pair has by itself is learned (`Tie.fit`), so that a tie which often
          breaks says little where it breaks again.
writing   How rare the cell is in its column: whole, with its digits masked, and with its letters masked, too. In a
          column of values that hardly repeat, a new value is no surprise; a new way to write one is.
numbers   What the other columns predict, by one linear model for all columns of numbers, and how far off the cell is
          in the tail of all residuals; else how far it lies from the column's other numbers.

On tables with known errors this ranks cells better than how rare a value is (benchmarks/findings.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import safe_divide
from centrality.findings.columns import DIGITS, LETTERS, Codes, Column, Floats
from centrality.findings.numbers import Prediction

LOOSENESS = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0])  # prior rows by which a tie is loose
SCREENED = 4000  # rows by which pairs of columns are chosen
TIED = 0.1  # the least share of a column's information that another one gives
MOST_COLUMNS = 60  # whose pairs are tried
SHARPNESS = 2  # the power of a tie's strength that is its weight


@dataclass(frozen=True)
class Tie:
    """How one column determines another: its strength, from 0 (not at all) to 1, and how loose it is."""

    strength: float
    looseness: float

    @classmethod
    def fit(cls, a: Codes, b: Codes) -> "Tie":
        """Learn how well column a tells column b, each row predicted from the others (Dirichlet, leave one out)."""
        pair, counts, _ = _pairs_of_rows(a, b)
        size = np.bincount(a)[pair[0]]
        shares = np.bincount(b)[pair[1]] / len(a)
        prior_counts = counts - 1 + LOOSENESS[:, None] * shares
        logs = (np.log(prior_counts / (size - 1 + LOOSENESS[:, None])) * counts).sum(1) / len(a)
        alone = float((np.log(shares) * counts).sum() / len(a))
        best = int(logs.argmax())
        return cls(max(0.0, 1 - float(logs[best]) / alone) if alone < 0 else 0.0, float(LOOSENESS[best]))

    def log_severity(self, a: Codes, b: Codes) -> tuple[Floats, Floats]:
        """Return the log of one in how many rows beside its value of a has a value of b as rare; and the weight of it.

        A value of a that no other row has says nothing.
        """
        pair, counts, inverse = _pairs_of_rows(a, b)
        order = np.lexsort([counts, pair[0]])
        key = pair[0][order] * (len(a) + 1) + counts[order]
        upto = np.cumsum(counts[order])
        first = np.searchsorted(pair[0][order], pair[0][order])
        before = np.where(first > 0, upto[first - 1], 0)
        as_rare = np.empty(len(counts))
        as_rare[order] = upto[np.searchsorted(key, key, side="right") - 1] - before
        size = np.bincount(a)[pair[0]]
        chance = (as_rare - 1 + self.looseness) / (size - 1 + self.looseness)
        weight = self.strength**SHARPNESS * (size - 1) / (size - 1 + self.looseness)
        return -np.log(np.minimum(chance, 1.0))[inverse], weight[inverse]


def _pairs_of_rows(a: Codes, b: Codes) -> tuple[tuple[Codes, Codes], Codes, Codes]:
    """Return the different pairs of codes, how many rows hold each, and the pair of each row."""
    levels = int(b.max()) + 1
    keys, inverse, counts = np.unique(a * levels + b, return_inverse=True, return_counts=True)
    return (keys // levels, keys % levels), counts, inverse


def log_rarity(codes: Codes) -> Floats:
    """Return the log of one in how many rows has a value as rare: in a column of ever new values, each of them is 0.

    >>> np.exp(log_rarity(np.array([0, 0, 0, 1]))).round(1).tolist()
    [1.0, 1.0, 1.0, 4.0]
    """
    common = np.bincount(codes)[codes]
    return -np.log(np.searchsorted(np.sort(common), common, side="right") / len(codes))


def ties_between(columns: Sequence[Column], random_state: int | None = 0) -> dict[tuple[int, int], Tie]:
    """Return the ties between columns whose values repeat, by their numbers: those that say something."""
    rows = len(columns[0].codes) if columns else 0
    rng = np.random.default_rng(random_state)
    few = np.sort(rng.choice(rows, SCREENED, replace=False)) if rows > SCREENED else np.arange(rows)
    candidates = [j for j, column in enumerate(columns) if column.repeats][:MOST_COLUMNS]
    samples = {j: np.unique(columns[j].codes[few], return_inverse=True)[1] for j in candidates}
    strong = [
        (a, b) for a in candidates for b in candidates if a != b and Tie.fit(samples[a], samples[b]).strength >= TIED
    ]
    return {(a, b): Tie.fit(columns[a].codes, columns[b].codes) for a, b in strong}


def by_rest(columns: Sequence[Column], ties: dict[tuple[int, int], Tie]) -> tuple[Floats, Floats]:
    """Return what the rest of the row says of each cell, as log severity, and how much it can say, from 0 to 1."""
    shape = (len(columns[0].codes), len(columns)) if columns else (0, 0)
    total = np.zeros(shape)
    weights = np.zeros(shape)
    strongest = np.zeros(shape)
    for (a, b), tie in ties.items():
        log, weight = tie.log_severity(columns[a].codes, columns[b].codes)
        total[:, b] += weight * log
        weights[:, b] += weight
        strongest[:, b] = np.maximum(strongest[:, b], weight)
    return safe_divide(total, weights), strongest


def by_writing(column: Column) -> Floats:
    """Return the log severity of each cell by how it is written, whole and in part."""
    whole = log_rarity(column.codes)
    if not column.is_text:
        return whole / 3  # numbers have no letters and digits of their own to mask
    shape = log_rarity(column.coded_by([(DIGITS, "0"), (LETTERS, "a")]))
    return (whole + log_rarity(column.coded_by(DIGITS)) + shape) / 3


def cell_doubts(
    columns: Sequence[Column], rest: tuple[Floats, Floats], predicted: Sequence[Prediction]
) -> NDArray[np.float64]:  # (n, columns)
    """Return how doubtful each cell is: one in how many ordinary rows has a cell as odd; at least 1."""
    log, trust = rest
    writing = np.stack([by_writing(column) for column in columns], axis=1)
    rows = len(writing)  # of so many ordinary rows, one is as odd as one in so many: only beyond that is it doubtful
    for prediction in predicted:
        place = prediction.measure.place
        writing[:, place] = np.where(prediction.severity >= rows, np.log(prediction.severity), writing[:, place])
    doubts = np.exp(trust * log + (1 - trust) * writing)
    for prediction in predicted:
        place = prediction.measure.place
        doubts[:, place] = np.where(
            prediction.alone >= rows, np.maximum(doubts[:, place], prediction.alone), doubts[:, place]
        )
    return doubts
