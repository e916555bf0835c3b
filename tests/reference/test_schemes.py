"""The four sampling schemes are those of the Supplement; the package draws what the reference draws."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from centrality.fuse.paper import SCHEMES, Partition
from tests.reference import algorithm


def drawn(scheme: int, n: int) -> tuple[list[set[int]], list[tuple[int, int]]]:
    """S0, S1, S2 and S12 of one epoch."""
    sets = algorithm.split(scheme, n, np.random.default_rng(0))
    i, j = algorithm.candidate_pairs(scheme, *sets[1:])
    return [set(rows.tolist()) for rows in sets], list(zip(i.tolist(), j.tolist(), strict=True))


@given(st.integers(3, 60), st.sampled_from([1, 2, 3]))
def test_schemes_1_to_3_split_the_rows_into_disjoint_thirds(n, scheme):
    (s0, s1, s2), _ = drawn(scheme, n)
    assert s0 | s1 | s2 == set(range(n))
    assert (len(s0), len(s1), len(s2)) == (n - 2 * (n // 3), n // 3, n // 3)


def test_scheme_1_matches_each_candidate_once():
    (_, s1, s2), pairs = drawn(1, 31)
    assert len(pairs) == 31 // 3
    assert ({i for i, _ in pairs}, {j for _, j in pairs}) == (s1, s2)


@pytest.mark.parametrize("scheme", [2, 3])
def test_schemes_2_and_3_take_all_pairs_of_both_candidate_sets_once(scheme):
    (_, s1, s2), pairs = drawn(scheme, 31)
    assert len(pairs) == 10 * 10
    assert set(pairs) == {(i, j) for i in s1 for j in s2}


def test_scheme_4_compares_every_row_with_every_other_row_once():
    sets, pairs = drawn(4, 12)
    assert sets == [set(range(12))] * 3
    assert len(pairs) == 12 * 11
    assert set(pairs) == {(i, j) for i in range(12) for j in range(12) if i != j}


@pytest.mark.parametrize(("scheme", "m"), [(1, 8), (2, 8), (3, 20), (4, 20)])
def test_schemes_1_and_2_take_a_random_subset_of_the_anchors_and_3_and_4_all(scheme, m):
    s0 = torch.arange(100, 120)
    anchors = algorithm.anchors_of_pairs(scheme, s0, 50, 8, np.random.default_rng(0)).tolist()
    assert {len(subset) for subset in anchors} == {m}
    assert {len(set(subset)) for subset in anchors} == {m}  # none is drawn twice
    assert {anchor for subset in anchors for anchor in subset} == set(s0.tolist())


@given(st.integers(3, 40), st.sampled_from([1, 2, 3, 4]), st.integers(1, 20), st.integers(1, 30), st.integers(0, 5))
def test_the_package_draws_the_same_pairs_and_anchors_in_the_same_order(n, scheme, m, b, seed):
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    partition = Partition(n, SCHEMES[scheme], ours)
    s0, s1, s2 = algorithm.split(scheme, n, theirs)
    i, j = algorithm.candidate_pairs(scheme, s1, s2)
    assert SCHEMES[scheme].pairs(n) == len(i)
    for batch, (first, second) in zip(algorithm.batches(len(i), b), partition.pairs(b), strict=True):
        np.testing.assert_array_equal(first, i[batch])
        np.testing.assert_array_equal(second, j[batch])
        np.testing.assert_array_equal(
            partition.draw_anchors(m, (len(first),)), algorithm.anchors_of_pairs(scheme, s0, len(first), m, theirs)
        )
