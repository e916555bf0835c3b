"""Few combinations instead of all: most faults show where two settings meet, so every two values meet once."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

Combination = tuple[Any, ...]


def pairwise(*choices: Sequence[Any]) -> list[Combination]:
    """Combinations of one value of each choice, in which any two values of two choices come together at least once."""
    every = list(product(*choices))
    missing, chosen = set().union(*map(pairs_of, every)), []
    while missing:  # greedy: the combination that brings the most new pairs
        chosen.append(max(every, key=lambda combination: len(missing & pairs_of(combination))))
        missing -= pairs_of(chosen[-1])
    return chosen


def pairs_of(combination: Combination) -> set[tuple[tuple[int, Any], ...]]:
    return set(combinations(enumerate(combination), 2))
