from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

from tests.pairwise import pairs_of, pairwise

CHOICES: list[Sequence[Any]] = [[True, False], [1, 3], "abc", [1, 2, 17, 100], [1, 5], [False, True]]


def test_every_two_values_meet_in_few_combinations():
    chosen = pairwise(*CHOICES)
    met = set().union(*map(pairs_of, chosen))
    for (i, these), (j, those) in combinations(enumerate(CHOICES), 2):
        assert {((i, one), (j, other)) for one, other in product(these, those)} <= met
    assert 12 <= len(chosen) <= 20  # the two longest choices alone need 3 * 4; all combinations are 192
